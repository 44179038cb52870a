"""Scalar bodies of named linalg operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpucodegen.dialects import arith, linalg
from gpucodegen.ir.attributes import OpaqueAttr, StringAttr
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    I1,
    ComplexType,
    FloatType,
    IndexType,
    IntegerType,
    Type,
    element_type,
)

SELECTORS = {
    "sum": "add_up",
    "max": "max_signed",
    "max_unsigned": "max_unsigned",
    "min": "min_signed",
    "min_unsigned": "min_unsigned",
}
"""Pooling operation -> body."""

_UNARY = {
    "exp": "math.exp",
    "log": "math.log",
    "abs": "math.absf",
    "ceil": "math.ceil",
    "floor": "math.floor",
    "negf": "arith.negf",
    "round": "math.round",
    "sqrt": "math.sqrt",
    "rsqrt": "math.rsqrt",
    "tanh": "math.tanh",
    "erf": "math.erf",
}
_BINARY = {
    "add": ("arith.addf", "arith.addi"),
    "sub": ("arith.subf", "arith.subi"),
    "mul": ("arith.mulf", "arith.muli"),
    "div": ("arith.divf", "arith.divsi"),
    "div_unsigned": ("arith.divf", "arith.divui"),
    "max": ("arith.maximumf", "arith.maxsi"),
    "min": ("arith.minimumf", "arith.minsi"),
    "max_unsigned": ("arith.maximumf", "arith.maxui"),
    "min_unsigned": ("arith.minimumf", "arith.minui"),
    "powf": ("math.powf", "math.ipowi"),
}
_SPECIAL = ("square", "reciprocal", "select")
ELEMENTWISE = (*_UNARY, *_BINARY, *_SPECIAL)

_REDUCE = {
    "add_up": "add",
    "max_signed": "max",
    "max_unsigned": "max_unsigned",
    "min_signed": "min",
    "min_unsigned": "min_unsigned",
}


@dataclass(slots=True)
class Scalar:
    """One argument per operand, and the operations up to the yield."""

    location: Location
    arguments: list[Value] = field(default_factory=list[Value])
    operations: list[Operation] = field(default_factory=list[Operation])

    def add(self, op: Operation) -> Value:
        """Append an operation and return its result."""
        self.operations.append(op)
        return op.result

    def binary(self, name: str, lhs: Value, rhs: Value) -> Value:
        """``lhs op rhs`` by a key of ``_BINARY``."""
        floating, integral = _BINARY[name]
        op = floating if arith.is_float(lhs.type) else integral
        op = _BOOLEAN.get(op, op) if lhs.type == I1 else op
        if isinstance(lhs.type, ComplexType):
            op = f"complex.{name}"
        return self.add(arith.binary(op, lhs, rhs, location=self.location))

    def converted(self, value: Value, ty: Type, *, signed: bool) -> Value:
        """The value in another scalar type."""
        name = _conversion(value.type, ty, signed=signed)
        if name is None:
            return value
        return self.add(arith.cast(name, value, ty, location=self.location))


_BOOLEAN = {"arith.addi": "arith.ori", "arith.muli": "arith.andi"}


def _conversion(source: Type, target: Type, *, signed: bool) -> str | None:
    """The cast from one scalar type to another; None when there is nothing to do."""
    if source == target:
        return None
    match source, target:
        case FloatType(), FloatType():
            return "arith.extf" if _width(source) < _width(target) else "arith.truncf"
        case FloatType(), _:
            return "arith.fptosi" if signed else "arith.fptoui"
        case _, FloatType():
            return "arith.sitofp" if signed else "arith.uitofp"
        case (IndexType(), _) | (_, IndexType()):
            return "arith.index_cast" if signed else "arith.index_castui"
        case IntegerType(narrow), IntegerType(wide):
            if narrow > wide:
                return "arith.trunci"
            return "arith.extsi" if signed else "arith.extui"
        case _:
            return None


_WIDTHS = {"bf16": 16, "tf32": 19}


def _width(ty: FloatType) -> int:
    digits = ty.name[1:].split("E")[0]
    return _WIDTHS.get(ty.name) or int(digits)


def scalar_body(
    kind: str, op: Operation, inputs: Sequence[Value], outputs: Sequence[Value]
) -> Scalar:
    """The body of the given kind for these operands."""
    names = ["in"] * len(inputs) + ["out"] * len(outputs)
    arguments = [
        Value(element_type(v.type), name, op.location)
        for v, name in zip((*inputs, *outputs), names, strict=True)
    ]
    body = Scalar(op.location, arguments)
    build = _BUILD.get(kind)
    result = build(body, _is_signed(op)) if build else _elementwise(body, kind)
    body.operations.append(linalg.yield_([result], location=op.location))
    return body


def _is_signed(op: Operation) -> bool:
    cast = op.attributes.get("cast")
    text = cast.text if isinstance(cast, OpaqueAttr) else ""
    text = cast.value if isinstance(cast, StringAttr) else text
    return "unsigned" not in text and "unsigned" not in op.name


def _multiply_add(body: Scalar, signed: bool) -> Value:
    lhs, rhs, out = body.arguments
    left = body.converted(lhs, out.type, signed=signed)
    right = body.converted(rhs, out.type, signed=signed)
    return body.binary("add", out, body.binary("mul", left, right))


def _first(body: Scalar, signed: bool) -> Value:
    source, *_, out = body.arguments
    return body.converted(source, out.type, signed=signed)


def _reduction(name: str) -> Callable[[Scalar, bool], Value]:
    def build(body: Scalar, signed: bool) -> Value:
        source, _, out = body.arguments
        return body.binary(name, out, body.converted(source, out.type, signed=signed))

    return build


_BUILD: dict[str, Callable[[Scalar, bool], Value]] = {
    "multiply_add": _multiply_add,
    "fill": _first,
    "copy": _first,
    **{kind: _reduction(name) for kind, name in _REDUCE.items()},
}


def _elementwise(body: Scalar, kind: str) -> Value:
    *inputs, out = body.arguments
    location = body.location
    if kind == "select":
        condition, true, false = inputs
        return body.add(arith.select(condition, true, false, location=location))
    values = [body.converted(v, out.type, signed=True) for v in inputs]
    if kind in _UNARY:
        return body.add(arith.unary(_UNARY[kind], values[0], location=location))
    if kind == "square":
        return body.binary("mul", values[0], values[0])
    if kind == "reciprocal":
        one = body.add(arith.constant(1, out.type, location=location))
        return body.binary("div", one, values[0])
    return body.binary(kind, values[0], values[1])
