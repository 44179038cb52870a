"""builtin: modules and unrealized casts."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.syntax import Reader, State, Writer
from gpucodegen.ir.attributes import StringAttr, print_symbol
from gpucodegen.ir.operation import Block, Operation, Region


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
        raise errors.WrongResultCount(
            o.location, operation=o.name, expected="at least 1", actual=0
        )


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
    op(
        "builtin.unrealized_conversion_cast",
        "inputs* -> outputs*",
        "($inputs^ `:` type($inputs))? `to` type($outputs) attr-dict",
        traits=Trait.PURE,
        checks=[_check_cast],
    ),
)
