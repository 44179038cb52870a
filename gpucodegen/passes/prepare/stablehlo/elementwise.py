"""Arithmetic, comparisons and conversions, as operations of arith and math on tensors.

``TABLE`` names the operation of floats, of integers with and without a sign, of truth
values and of complex numbers; what takes several operations is a function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.stablehlo.words import word
from gpucodegen.ir.affine.expressions import Dim
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    I1,
    I64,
    ComplexType,
    FloatType,
    IntegerType,
    TensorType,
    Type,
    element_type,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.forms import (
    Rule,
    extract,
    mapped,
    refusal,
    shape,
    splat,
)

_FLOAT, _SIGNED, UNSIGNED, _TRUTH, _COMPLEX = range(5)

_ROWS = """
add        | arith.addf      | arith.addi  | arith.addi  | arith.ori  | complex.add
subtract   | arith.subf      | arith.subi  | arith.subi  | arith.xori | complex.sub
multiply   | arith.mulf      | arith.muli  | arith.muli  | arith.andi | complex.mul
divide     | arith.divf      | arith.divsi | arith.divui | -          | complex.div
remainder  | arith.remf      | arith.remsi | arith.remui | -          | -
maximum    | arith.maximumf  | arith.maxsi | arith.maxui | arith.ori  | -
minimum    | arith.minimumf  | arith.minsi | arith.minui | arith.andi | -
power      | math.powf       | math.ipowi  | math.ipowi  | -          | complex.pow
atan2      | math.atan2      | -           | -           | -          | complex.atan2
and        | -               | arith.andi  | arith.andi  | arith.andi | -
or         | -               | arith.ori   | arith.ori   | arith.ori  | -
xor        | -               | arith.xori  | arith.xori  | arith.xori | -
abs        | math.absf       | math.absi   | =           | =          | complex.abs
ceil       | math.ceil       | -           | -           | -          | -
floor      | math.floor      | -           | -           | -          | -
cbrt       | math.cbrt       | -           | -           | -          | -
cosine     | math.cos        | -           | -           | -          | complex.cos
sine       | math.sin        | -           | -           | -          | complex.sin
tan        | math.tan        | -           | -           | -          | complex.tan
tanh       | math.tanh       | -           | -           | -          | complex.tanh
exponential | math.exp       | -           | -           | -          | complex.exp
exponential_minus_one | math.expm1 | -     | -           | -          | complex.expm1
log        | math.log        | -           | -           | -          | complex.log
log_plus_one | math.log1p    | -           | -           | -          | complex.log1p
sqrt       | math.sqrt       | -           | -           | -          | complex.sqrt
rsqrt      | math.rsqrt      | -           | -           | -          | complex.rsqrt
round_nearest_afz  | math.round     | -    | -           | -          | -
round_nearest_even | math.roundeven | -    | -           | -          | -
is_finite  | math.isfinite   | -           | -           | -          | -
popcnt     | -               | math.ctpop  | math.ctpop  | -          | -
count_leading_zeros | -      | math.ctlz   | math.ctlz   | -          | -
complex    | complex.create  | -           | -           | -          | -
real       | =               | -           | -           | -          | complex.re
imag       | -               | -           | -           | -          | complex.im
optimization_barrier | =     | =           | =           | =          | =
"""
TABLE = {
    name: cells
    for name, *cells in (
        [cell.strip() for cell in row.split("|")] for row in _ROWS.strip().splitlines()
    )
}
"""By name: the operation for each kind of number; ``=`` changes nothing."""

CHLO = {
    **{name: f"math.{name}" for name in ("acos", "acosh", "asin", "asinh", "atan")},
    **{
        name: f"math.{name}" for name in ("atanh", "cosh", "erf", "erfc", "sinh", "tan")
    },
    "is_inf": "math.isinf",
}


def kind_of(ty: Type) -> int:
    """Which column of the table a type belongs to."""
    element = element_type(ty)
    if isinstance(element, ComplexType):
        return _COMPLEX
    if isinstance(element, FloatType):
        return _FLOAT
    if element == I1:
        return _TRUTH
    unsigned = isinstance(element, IntegerType) and str(element).startswith("u")
    return UNSIGNED if unsigned else _SIGNED


def table_rule(b: Builder, op: Operation) -> Sequence[Value]:
    """An operation of the table."""
    name = op.name.partition(".")[2]
    made = TABLE[name][kind_of(op.operands[0].type)]
    if made == "=":
        return op.operands
    if made == "-":
        element = element_type(op.operands[0].type)
        raise refusal(op, "Convert the operands to another type first", str(element))
    return [_applied(b, made, op.operands, op.result.type)]


def _applied(b: Builder, name: str, operands: Sequence[Value], ty: Type) -> Value:
    """An operation on all elements; those of complex take numbers only."""
    if not name.startswith("complex.") or not isinstance(ty, TensorType):
        return b.add(name, operands, [ty])[0]

    def body(inner: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        return inner.add(name, elements[:-1], [ty.element])

    whole = [Dim(d) for d in range(len(ty.shape))]
    return mapped(b, operands, [whole] * len(operands), ty, body)


def chlo_rule(b: Builder, op: Operation) -> Sequence[Value]:
    """A function of CHLO that math has."""
    made = CHLO[op.name.partition(".")[2]]
    return b.add(made, op.operands, [op.result.type])


# -- several operations ----------------------------------------------------------------


def _binary(b: Builder, name: str, x: Value, y: Value) -> Value:
    return b.add(name, (x, y), [x.type])[0]


def _compared(b: Builder, predicate: str, x: Value, y: Value) -> Value:
    from gpucodegen.dialects.arith import CMPF_PREDICATES, CMPI_PREDICATES

    is_float = kind_of(x.type) == _FLOAT
    names = CMPF_PREDICATES if is_float else CMPI_PREDICATES
    attributes = {"predicate": IntegerAttr(names.index(predicate), I64)}
    result = with_element(x.type, I1)
    return b.add(f"arith.cmp{'f' if is_float else 'i'}", (x, y), [result], attributes)[
        0
    ]


def chosen(b: Builder, condition: Value, x: Value, y: Value) -> Value:
    """``arith.select``; a condition of rank 0 counts for all elements."""
    if shape(condition) != shape(x):
        condition = extract(b, condition)
    return b.add("arith.select", (condition, x, y), [x.type])[0]


def _negate(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    kind = kind_of(x.type)
    if kind in (_FLOAT, _COMPLEX):
        name = "arith.negf" if kind == _FLOAT else "complex.neg"
        return [_applied(b, name, (x,), x.type)]
    return [_binary(b, "arith.subi", splat(b, 0, x.type), x)]


def _not(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    ones = 1 if kind_of(x.type) == _TRUTH else -1
    return [_binary(b, "arith.xori", x, splat(b, ones, x.type))]


def _logistic(b: Builder, op: Operation) -> Sequence[Value]:
    """``1 / (1 + exp(-x))``."""
    (x,) = op.operands
    one = splat(b, 1, x.type)
    (negative,) = b.add("arith.negf", (x,), [x.type])
    (power,) = b.add("math.exp", (negative,), [x.type])
    return [_binary(b, "arith.divf", one, _binary(b, "arith.addf", one, power))]


def _sign(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    zero, one = splat(b, 0, x.type), splat(b, 1, x.type)
    kind = kind_of(x.type)
    if kind == _FLOAT:
        signed = _binary(b, "math.copysign", one, x)
        # Zeros keep their sign, and what is no number stays so.
        return [chosen(b, _compared(b, "one", x, zero), signed, x)]
    if kind == UNSIGNED:
        return [_binary(b, "arith.minui", x, one)]
    above = _binary(b, "arith.minsi", x, one)
    return [_binary(b, "arith.maxsi", above, splat(b, -1, x.type))]


def _square(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    return [_binary(b, TABLE["multiply"][kind_of(x.type)], x, x)]


def _infinite(sign: float) -> Rule:
    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        (x,) = op.operands
        return [_compared(b, "oeq", x, splat(b, sign * float("inf"), x.type))]

    return rule


def _shift(name: str) -> Rule:
    """Shifts by all bits or more give what is shifted in."""

    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        x, by = op.operands
        width = bit_width(element_type(x.type))
        if name == "arith.shrsi":
            by = _binary(b, "arith.minui", by, splat(b, width - 1, x.type))
            return [_binary(b, name, x, by)]
        inside = _compared(b, "ult", by, splat(b, width, x.type))
        kept = _binary(b, "arith.minui", by, splat(b, width - 1, x.type))
        shifted = _binary(b, name, x, kept)
        return [chosen(b, inside, shifted, splat(b, 0, x.type))]

    return rule


def _compare(b: Builder, op: Operation) -> Sequence[Value]:
    x, y = op.operands
    if word(op.attributes.get("compare_type")) == "TOTALORDER":
        raise refusal(op, "Compare with FLOAT", "TOTALORDER")
    direction = word(op.attributes.get("comparison_direction")).lower()
    kind = kind_of(x.type)
    if kind == _COMPLEX:
        name = {"eq": "complex.eq", "ne": "complex.neq"}[direction]
        return [_applied(b, name, (x, y), op.result.type)]
    if kind == _FLOAT:
        predicate = "une" if direction == "ne" else f"o{direction}"
    elif direction in ("eq", "ne"):
        predicate = direction
    else:
        predicate = f"{'s' if kind == _SIGNED else 'u'}{direction}"
    return [_compared(b, predicate, x, y)]


def _select(b: Builder, op: Operation) -> Sequence[Value]:
    return [chosen(b, *op.operands)]


def _clamp(b: Builder, op: Operation) -> Sequence[Value]:
    low, x, high = op.operands
    kind = kind_of(x.type)
    low, high = (spread(b, v, x.type) for v in (low, high))
    raised = _binary(b, TABLE["maximum"][kind], low, x)
    return [_binary(b, TABLE["minimum"][kind], raised, high)]


def spread(b: Builder, value: Value, ty: Type) -> Value:
    """A tensor of rank 0 as one of a shape."""
    return value if value.type == ty else mapped(b, [value], [()], ty)


# -- conversions -----------------------------------------------------------------------


def _convert(b: Builder, op: Operation) -> Sequence[Value]:
    return [converted(b, op.operands[0], op.result.type)]


def converted(b: Builder, value: Value, ty: Type) -> Value:
    """A number, or all of a tensor, in another element type."""
    source, target = element_type(value.type), element_type(ty)
    if source == target:
        return value
    if target == I1:
        other = splat(b, 0, value.type)
        is_float = kind_of(value.type) == _FLOAT
        return _compared(b, "une" if is_float else "ne", value, other)
    name = _cast(value.type, ty)
    if name is None:  # a sign is all that differs, or two formats of one width
        if isinstance(source, FloatType):
            wide = with_element(value.type, FloatType("f32"))
            (value,) = b.add("arith.extf", (value,), [wide])
            name = "arith.truncf"
        else:
            return b.add("builtin.unrealized_conversion_cast", (value,), [ty])[0]
    return b.add(name, (value,), [ty])[0]


def _cast(source: Type, target: Type) -> str | None:
    has_sign = kind_of(source) == _SIGNED
    match element_type(source), element_type(target):
        case FloatType() as old, FloatType() as new:
            widths = bit_width(old), bit_width(new)
            same = widths[0] == widths[1]
            shorter = "arith.extf" if widths[0] < widths[1] else "arith.truncf"
            return None if same else shorter
        case FloatType(), IntegerType():
            return "arith.fptoui" if kind_of(target) == UNSIGNED else "arith.fptosi"
        case IntegerType(), FloatType():
            return "arith.sitofp" if has_sign else "arith.uitofp"
        case IntegerType() as old, IntegerType() as new:
            if old.width == new.width:
                return None
            wider = "arith.extsi" if has_sign else "arith.extui"
            return wider if old.width < new.width else "arith.trunci"
        case _:
            return None


def _bitcast(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    if shape(x) != shape(op.result):
        raise refusal(op, "Keep the width of the elements", "another width")
    return b.add("arith.bitcast", (x,), [op.result.type])


SEVERAL: dict[str, Callable[[Builder, Operation], Sequence[Value]]] = {
    "stablehlo.negate": _negate,
    "stablehlo.not": _not,
    "stablehlo.logistic": _logistic,
    "stablehlo.sign": _sign,
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
    "stablehlo.clamp": _clamp,
    "stablehlo.convert": _convert,
    "stablehlo.bitcast_convert": _bitcast,
    "stablehlo.shift_left": _shift("arith.shli"),
    "stablehlo.shift_right_logical": _shift("arith.shrui"),
    "stablehlo.shift_right_arithmetic": _shift("arith.shrsi"),
    "chlo.square": _square,
    "chlo.is_pos_inf": _infinite(1),
    "chlo.is_neg_inf": _infinite(-1),
}

RULES: dict[str, Rule] = {
    **{f"stablehlo.{name}": table_rule for name in TABLE},
    **{f"chlo.{name}": chlo_rule for name in CHLO},
    **SEVERAL,
}
