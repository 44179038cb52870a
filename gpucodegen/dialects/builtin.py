"""The builtin dialect: modules and unrealized casts between type systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpucodegen import errors
from gpucodegen.debugging.display import folded
from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.declare import op, pure
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.ir.attributes import StringAttr, print_symbol
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Block, Operation, Region, single_block
from gpucodegen.records import dataclass


def parse_module(r: Reader, state: State) -> None:
    """``@name? attributes {..}? { ... }``."""
    if r.token[:1] == "@":
        state.attributes["sym_name"] = StringAttr(r.symbol_name())
    state.attributes |= r.attr_dict_with_keyword()
    region = r.region(isolated=True, dialect="builtin")
    state.regions = [region if region.blocks else Region((Block(),))]


def print_module(w: Writer, o: Operation) -> None:
    """``@name attributes {..} { ... }``."""
    name = o.attributes.get("sym_name")
    if isinstance(name, StringAttr):
        w.write(f" {print_symbol(name.value)}")
    w.attr_dict(o, ("sym_name",), keyword=True)
    w.write(" ")
    w.region(o.regions[0])


def _check_cast(o: Operation) -> None:
    if not o.results:
        raise errors.WrongResultCount.at(o, expected="at least 1", actual=0)


_MODULE = (
    Trait.ISOLATED
    | Trait.SYMBOL_TABLE
    | Trait.GRAPH
    | Trait.NO_TERMINATOR
    | Trait.AFFINE_SCOPE
)

OPERATIONS = (
    op(
        "builtin.module",
        "",
        (parse_module, print_module),
        attributes={"sym_name": kinds.optional(kinds.SYMBOL_NAME)},
        traits=_MODULE,
        regions=1,
    ),
    pure(
        "builtin.unrealized_conversion_cast",
        "inputs* -> outputs*",
        "($inputs^ `:` type($inputs))? `to` type($outputs) attr-dict",
        checks=[_check_cast],
    ),
)


def symbol_name(op: Operation) -> str:
    """``sym_name`` of a symbol operation, or the empty string."""
    return op.string("sym_name")


@dataclass(frozen=True, slots=True)
class Module:
    """A top-level ``builtin.module``; prints as today's MLIR.

    >>> print(Module.of([]))
    module {
    }
    """

    operation: Operation

    @staticmethod
    def of(operations: Sequence[Operation], location: Location = UNKNOWN) -> Module:
        """A module around top-level operations."""
        body = single_block(operations)
        return Module(Operation("builtin.module", regions=(body,), location=location))

    def __repr__(self) -> str:
        names = ", ".join(f"@{name}" for name in self.functions)
        return f"<Module of {names or 'no functions'}; str() is its text>"

    def _repr_html_(self) -> str:
        """The text as preformatted HTML for notebooks."""
        return folded(f"MLIR of {', '.join(self.functions)}", str(self))

    @property
    def operations(self) -> tuple[Operation, ...]:
        return self.operation.body.operations

    @property
    def functions(self) -> dict[str, Operation]:
        return {symbol_name(o): o for o in self.operations if o.name == "func.func"}

    def with_operations(self, operations: Iterable[Operation]) -> Module:
        """A module with other operations, or this one if they are its own."""
        changed = self.operation.with_body(operations)
        return self if changed is self.operation else Module(changed)

    def walk(self) -> Iterator[Operation]:
        """Every operation, the module itself first, in textual order."""
        return self.operation.walk()

    def generic(self) -> str:
        """The text in generic operation form."""
        from gpucodegen.dialects.framework.printing import print_module

        return print_module(self.operation, generic=True)

    def __str__(self) -> str:
        from gpucodegen.dialects.framework.printing import print_module

        return print_module(self.operation)
