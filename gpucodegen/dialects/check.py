"""The check dialect of IREE and StableHLO: assertions about values.

Values are compared with each other or with constants. IREE writes ``check.expect_eq(%a,
%b) : tensor<4xf32>``, StableHLO omits the parentheses.
"""

from __future__ import annotations

from functools import partial

from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.constraints import types_differ
from gpucodegen.dialects.framework.declare import op
from gpucodegen.dialects.framework.definition import Op
from gpucodegen.dialects.framework.syntax import Reader, State, Use, Writer
from gpucodegen.ir.attributes import Attribute, ElementsAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type

_TOLERANCES = ("atol", "rtol")


def _parse(r: Reader, state: State, *, count: int, constant: bool) -> None:
    """``(%a, %b, atol 1.0e-4) : type``; the parentheses may be left out."""
    bracketed = r.accept("(")
    uses: list[Use] = [r.use()]
    for _ in range(1, count):
        r.expect(",")
        uses.append(r.use())
    if constant:
        r.expect(",")
        state.attributes["value"] = r.attribute()
    while r.accept(","):
        name = r.one_of(_TOLERANCES, "atol or rtol")
        state.attributes[name] = r.attribute()
    if bracketed:
        r.expect(")")
    state.attributes |= r.attr_dict()
    ty = _type(r, state)
    state.operands = [r.resolve(use, ty) for use in uses]


def _type(r: Reader, state: State) -> Type:
    """The common type of the operands, which may be written after a constant only."""
    value = state.attributes.get("value")
    if isinstance(value, ElementsAttr) and not r.at(":"):
        return value.type
    r.expect(":")
    return r.type()


def _print(w: Writer, o: Operation) -> None:
    w.write(f"({w.names(o.operands)}")
    value = o.attributes.get("value")
    if value is not None:
        w.write(f", {value}")
    for name in _TOLERANCES:
        if name in o.attributes:
            w.write(f", {name} {o.attributes[name]}")
    w.write(")")
    w.attr_dict(o, ("value", *_TOLERANCES))
    w.write(f" : {o.operands[0].type}")


def _check_value(o: Operation) -> None:
    """The constant has the type of the value that it is compared with."""
    value: Attribute | None = o.attributes.get("value")
    if isinstance(value, ElementsAttr) and value.type != o.operands[0].type:
        raise types_differ(
            o, "the value", o.operands[0].type, "the constant", value.type
        )


def _expect(name: str, operands: str, *, constant: bool = False) -> Op:
    count = len(operands.split())
    attributes = {"atol": kinds.OPTIONAL, "rtol": kinds.OPTIONAL}
    if constant:
        attributes["value"] = kinds.ANY
    return op(
        f"check.{name}",
        operands,
        (partial(_parse, count=count, constant=constant), _print),
        attributes=attributes,
        same=operands if count > 1 else "",
        checks=[_check_value],
    )


OPERATIONS = (
    _expect("expect_true", "operand"),
    _expect("expect_false", "operand"),
    _expect("expect_all_true", "operand"),
    _expect("expect_eq", "lhs rhs"),
    _expect("expect_almost_eq", "lhs rhs"),
    _expect("expect_close", "lhs rhs"),
    _expect("expect_eq_const", "lhs", constant=True),
    _expect("expect_almost_eq_const", "lhs", constant=True),
)
