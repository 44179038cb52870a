"""Builds the scalar bodies of named linalg operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from gpucodegen import errors
from gpucodegen.dialects import arith, linalg
from gpucodegen.dialects import complex as complex_
from gpucodegen.ir.attributes import IntegerAttr, OpaqueAttr, StringAttr
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    I1,
    I32,
    I64,
    INDEX,
    ComplexType,
    FloatType,
    IndexType,
    IntegerType,
    Type,
)
from gpucodegen.records import dataclass

UNARY = {
    "exp": "math.exp",
    "log": "math.log",
    "abs": "math.absf",
    "ceil": "math.ceil",
    "floor": "math.floor",
    "negf": "arith.negf",
    "reciprocal": "",
    "round": "math.round",
    "sqrt": "math.sqrt",
    "rsqrt": "math.rsqrt",
    "square": "",
    "tanh": "math.tanh",
    "erf": "math.erf",
    "sin": "math.sin",
    "cos": "math.cos",
    "tan": "math.tan",
    "acos": "math.acos",
    "acosh": "math.acosh",
    "asin": "math.asin",
    "asinh": "math.asinh",
    "atan": "math.atan",
    "atanh": "math.atanh",
}
"""Function of one number -> operation; empty where several operations are needed."""

BINARY = {
    "add": ("arith.addf", "arith.addi"),
    "sub": ("arith.subf", "arith.subi"),
    "mul": ("arith.mulf", "arith.muli"),
    "div": ("arith.divf", "arith.divsi"),
    "div_unsigned": ("arith.divf", "arith.divui"),
    "max_signed": ("arith.maximumf", "arith.maxsi"),
    "min_signed": ("arith.minimumf", "arith.minsi"),
    "max_unsigned": ("arith.maximumf", "arith.maxui"),
    "min_unsigned": ("arith.minimumf", "arith.minui"),
    "powf": ("math.powf", "math.ipowi"),
}
"""Function of two numbers -> operation on floats, on integers."""

FUNCTIONS = (*UNARY, *BINARY, "select")
"""Functions that ``linalg.elementwise`` accepts."""

_SYNONYMS = {"max": "max_signed", "min": "min_signed", "sum": "add"}
_COMPLEX = {
    name: name for name in "add sub mul div exp log sqrt rsqrt tanh sin cos tan".split()
} | {"negf": "neg", "sum": "add", "powf": "pow"}
"""Functions of complex numbers, by their names in the complex dialect."""
_BOOLEAN = {
    "arith.addi": "arith.ori",
    "arith.muli": "arith.andi",
    "arith.maxsi": "arith.ori",
    "arith.minsi": "arith.andi",
    "arith.maxui": "arith.ori",
    "arith.minui": "arith.andi",
}


@dataclass(slots=True)
class Scalar:
    """A scalar body under construction: one argument per operand, then operations."""

    location: Location
    arguments: list[Value] = field(default_factory=list[Value])
    operations: list[Operation] = field(default_factory=list[Operation])

    def add(self, op: Operation) -> Value:
        """Append an operation and return its result."""
        self.operations.append(op)
        return op.result

    def unary(self, name: str, value: Value) -> Value:
        """Append a function of one number, given by a key of ``UNARY``."""
        if name == "square":
            return self.binary("mul", value, value)
        if name == "reciprocal":
            return self.binary("div", self.constant(1, value.type), value)
        if isinstance(value.type, ComplexType):
            return self._complex(name, value)
        if not arith.is_float(value.type):
            raise errors.UnsupportedOperation(
                self.location,
                operation=f"linalg {name}",
                target="integers",
                advice="Pass floats",
            )
        return self.add(arith.unary(UNARY[name], value, location=self.location))

    def binary(self, name: str, lhs: Value, rhs: Value) -> Value:
        """Append ``lhs op rhs``, given by a key of ``BINARY``."""
        floating, integral = BINARY[_SYNONYMS.get(name, name)]
        op = floating if arith.is_float(lhs.type) else integral
        op = _BOOLEAN.get(op, op) if lhs.type == I1 else op
        if isinstance(lhs.type, ComplexType):
            return self._complex(name, lhs, rhs)
        return self.add(arith.binary(op, lhs, rhs, location=self.location))

    def _complex(self, name: str, *values: Value) -> Value:
        """Name of the complex-valued variant; comparisons and magnitudes have none."""
        if name not in _COMPLEX:
            raise errors.UnsupportedOperation(
                self.location, operation=f"linalg {name}", target="complex numbers"
            )
        result = Value(values[0].type, "", self.location)
        op = f"complex.{_COMPLEX[name]}"
        return self.add(Operation(op, values, (result,), location=self.location))

    def constant(self, value: float, ty: Type) -> Value:
        if isinstance(ty, ComplexType):
            return self.add(complex_.constant(value, ty, location=self.location))
        return self.add(arith.constant(value, ty, location=self.location))

    def index(self, loop: int) -> Value:
        """Append ``linalg.index``, the position in a loop."""
        result = Value(INDEX, "", self.location)
        dim = {"dim": IntegerAttr(loop, I64)}
        return self.add(
            Operation("linalg.index", (), (result,), dim, location=self.location)
        )

    def converted(self, value: Value, ty: Type, *, signed: bool) -> Value:
        """Append the conversion of a value to another scalar type."""
        name = _conversion(value.type, ty, signed=signed)
        if name is None:
            return value
        return self.add(arith.cast(name, value, ty, location=self.location))


def _conversion(source: Type, target: Type, *, signed: bool) -> str | None:
    """The cast from one scalar type to another; None if the types are equal."""
    if source == target:
        return None
    match source, target:
        case FloatType(), FloatType():
            wide, narrow = arith.bit_width(target), arith.bit_width(source)
            return None if wide == narrow else _FLOAT_CASTS[narrow < wide]
        case FloatType(), IntegerType():
            return "arith.fptosi" if signed else "arith.fptoui"
        case IntegerType(), FloatType():
            return "arith.sitofp" if signed else "arith.uitofp"
        case (IndexType(), IntegerType()) | (IntegerType(), IndexType()):
            return "arith.index_cast" if signed else "arith.index_castui"
        case IntegerType(narrow), IntegerType(wide):
            if narrow > wide:
                return "arith.trunci"
            return "arith.extsi" if signed else "arith.extui"
        case _:
            return None


_FLOAT_CASTS = {True: "arith.extf", False: "arith.truncf"}


def scalar_body(
    kind: str, op: Operation, inputs: Sequence[Value], outputs: Sequence[Value]
) -> Scalar:
    """The scalar body of the given kind for an operation's operands."""
    names = ["in"] * len(inputs) + ["out"] * len(outputs)
    arguments = [
        Value(linalg.scalar_of(v.type), name, op.location)
        for v, name in zip((*inputs, *outputs), names, strict=True)
    ]
    body = Scalar(op.location, arguments)
    kind, _, reduction = kind.partition("pool_")
    signed = _is_signed(op)
    if reduction:
        result = _pool(body, reduction, signed=signed)
    elif kind in _BUILD:
        result = _BUILD[kind](body, signed)
    else:
        result = _elementwise(body, kind, signed=signed)
    body.operations.append(linalg.yield_([result], location=op.location))
    return body


def _is_signed(op: Operation) -> bool:
    cast = op.attributes.get("cast")
    text = cast.text if isinstance(cast, OpaqueAttr) else ""
    text = cast.value if isinstance(cast, StringAttr) else text
    is_pooling = op.name.startswith("linalg.pooling")
    return "unsigned" not in (f"{text}{op.name}" if is_pooling else text)


def _multiply_add(body: Scalar, signed: bool) -> Value:
    *factors, out = body.arguments
    left, *rest = [body.converted(v, out.type, signed=signed) for v in factors]
    for right in rest:
        left = body.binary("mul", left, right)
    return body.binary("add", out, left)


def _scaled_multiply_add(body: Scalar, signed: bool) -> Value:
    *factors, out = body.arguments
    a, p, b, q = [body.converted(v, out.type, signed=signed) for v in factors]
    left, right = body.binary("mul", a, p), body.binary("mul", b, q)
    return body.binary("add", out, body.binary("mul", left, right))


def _multiply_add_shifted(body: Scalar, signed: bool) -> Value:
    lhs, rhs, lhs_zero, rhs_zero, out = body.arguments

    def shifted(value: Value, zero: Value) -> Value:
        wide = body.converted(value, out.type, signed=signed)
        shift = body.converted(zero, out.type, signed=signed)
        return body.binary("sub", wide, shift)

    left = shifted(lhs, lhs_zero)
    product = body.binary("mul", left, shifted(rhs, rhs_zero))
    return body.binary("add", out, product)


def _first(body: Scalar, signed: bool) -> Value:
    source, *_, out = body.arguments
    return body.converted(source, out.type, signed=signed)


def _soft_plus(body: Scalar, signed: bool) -> Value:
    """``log(1 + exp(x))``."""
    value = _first(body, signed)
    one = body.constant(1, value.type)
    return body.unary("log", body.binary("add", one, body.unary("exp", value)))


_RANDOM_FACTOR, _RANDOM_STEP, _RANDOM_SCALE = 1103515245, 12345, 2.3283064e-10


def _random(body: Scalar, signed: bool) -> Value:
    """``min + (2^31 - 1 + r) * (max - min) * 2^-32`` with a congruential ``r``."""
    low, high, seed, out = body.arguments
    offset = body.converted(body.constant(2147483647, I64), low.type, signed=True)
    column = body.converted(body.index(1), I32, signed=True)
    row = body.converted(body.index(0), I32, signed=True)
    state = _next_random(body, body.binary("add", row, seed))
    state = _next_random(body, body.binary("add", column, state))
    number = body.converted(state, low.type, signed=True)
    number = body.binary("add", offset, number)
    span = body.binary("sub", high, low)
    span = body.binary("mul", span, body.constant(_RANDOM_SCALE, low.type))
    result = body.binary("add", body.binary("mul", number, span), low)
    return body.converted(result, out.type, signed=signed)


def _next_random(body: Scalar, value: Value) -> Value:
    factor = body.converted(body.constant(_RANDOM_FACTOR, I64), I32, signed=True)
    product = body.binary("mul", value, factor)
    step = body.converted(body.constant(_RANDOM_STEP, I64), I32, signed=True)
    return body.binary("add", product, step)


def _pool(body: Scalar, reduction: str, *, signed: bool) -> Value:
    source, _, out = body.arguments
    value = body.converted(source, out.type, signed=signed)
    return body.binary(reduction, out, value)


_BUILD: dict[str, Callable[[Scalar, bool], Value]] = {
    "multiply_add": _multiply_add,
    "multiply_add_scaled": _scaled_multiply_add,
    "multiply_add_shifted": _multiply_add_shifted,
    "fill": _first,
    "copy": _first,
    "random": _random,
    "soft_plus": _soft_plus,
}


def _elementwise(body: Scalar, kind: str, *, signed: bool) -> Value:
    *inputs, out = body.arguments
    if kind == "select":
        condition, true, false = inputs
        return body.add(arith.select(condition, true, false, location=body.location))
    values = [body.converted(v, out.type, signed=signed) for v in inputs]
    if kind in UNARY:
        return body.unary(kind, values[0])
    return body.binary(kind, values[0], values[1])
