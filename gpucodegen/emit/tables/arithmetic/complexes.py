"""complex: arithmetic by Python's operators, functions by intrinsics with C's names."""

from __future__ import annotations

from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.text.fragments import Precedence, Text, binary, call
from gpucodegen.errors import UnsupportedType
from gpucodegen.ir.attributes import FloatAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import ComplexType, Type

OPERATORS = {
    "complex.add": ("+", Precedence.SUM),
    "complex.sub": ("-", Precedence.SUM),
    "complex.mul": ("*", Precedence.PRODUCT),
    "complex.eq": ("==", Precedence.COMPARE),
    "complex.neq": ("!=", Precedence.COMPARE),
}
INTRINSICS = {
    "complex.create": "cmplx",
    "complex.re": "creal",
    "complex.im": "cimag",
    "complex.abs": "cabs",
    "complex.angle": "carg",
    "complex.conj": "conj",
    "complex.sign": "csign",
    "complex.div": "cdiv",
    "complex.pow": "cpow",
    "complex.powi": "cpowi",
    "complex.atan2": "catan2",
    "complex.exp": "cexp",
    "complex.expm1": "cexpm1",
    "complex.log": "clog",
    "complex.log1p": "clog1p",
    "complex.sqrt": "csqrt",
    "complex.rsqrt": "crsqrt",
    "complex.sin": "csin",
    "complex.cos": "ccos",
    "complex.tan": "ctan",
    "complex.tanh": "ctanh",
}


def _check(e: Emitter, op: Operation) -> None:
    """Refuse parts that NumPy's complex numbers do not have."""
    for value in (*op.operands, *op.results):
        e.dtype(op, value)


def operator(e: Emitter, op: Operation) -> None:
    """Sums, differences, products, comparisons."""
    _check(e, op)
    symbol, level = OPERATORS[op.name]
    lhs, rhs = (e.text(value) for value in op.operands)
    e.define(op.result, binary(lhs, symbol, rhs, level))


def negation(e: Emitter, op: Operation) -> None:
    """``complex.neg``."""
    _check(e, op)
    operand = e.text(op.operands[0]).within(Precedence.UNARY)
    e.define(op.result, Text(f"-{operand}", Precedence.UNARY))


def intrinsic(e: Emitter, op: Operation) -> None:
    """A function."""
    _check(e, op)
    name = e.use(INTRINSICS[op.name])
    e.define(op.result, call(name, *(e.typed(value) for value in op.operands)))


def constant(e: Emitter, op: Operation) -> None:
    """``complex.constant`` is printed where it is used."""
    _check(e, op)
    parts = op.entries("value")
    kind = str(_part(op.result.type))
    numbers = [e.constant(p.value, kind) for p in parts if isinstance(p, FloatAttr)]
    e.texts[op.result] = call(e.use("cmplx"), *numbers)


def _part(ty: Type) -> Type:
    return ty.element if isinstance(ty, ComplexType) else ty


def cast(e: Emitter, op: Operation) -> None:
    """``complex.bitcast`` to the same type; other types have other registers."""
    (operand,) = op.operands
    if operand.type != op.result.type:
        raise UnsupportedType(op.location, type=op.result.type, target=e.spelling.name)
    e.alias(op.result, operand)


HANDLERS: dict[str, Handler] = (
    dict.fromkeys(OPERATORS, operator)
    | dict.fromkeys(INTRINSICS, intrinsic)
    | {
        "complex.neg": negation,
        "complex.constant": constant,
        "complex.bitcast": cast,
    }
)
