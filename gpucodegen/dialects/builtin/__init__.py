"""The builtin dialect: modules and casts between type systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gpucodegen.debugging.notebook import folded
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, single_block


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
        """The text, for notebooks."""
        return folded(f"MLIR of {', '.join(self.functions)}", str(self))

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The top-level operations."""
        return self.operation.body.operations

    @property
    def functions(self) -> dict[str, Operation]:
        """The top-level ``func.func`` operations by name, in order."""
        return {symbol_name(o): o for o in self.operations if o.name == "func.func"}

    def with_operations(self, operations: Iterable[Operation]) -> Module:
        """The module around other operations; itself, if they are its own."""
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
