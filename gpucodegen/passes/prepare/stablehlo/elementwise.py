"""StableHLO elementwise arithmetic, comparisons and conversions, by arith and math.

A table names the operation for each kind of number; some work on the bits of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.stablehlo.syntax import word
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.number_formats import FORMATS
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    INDEX,
    IntegerType,
    Type,
    element_type,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.expressions import (
    CHLO,
    COMPLEX,
    FLOAT,
    SIGNED,
    TABLE,
    TRUTH,
    UNSIGNED,
    Expression,
    applied,
    compared,
    convert,
    converted,
    kind_of,
)
from gpucodegen.passes.prepare.stablehlo.forms import (
    Rule,
    chosen,
    extract,
    mapped,
    position,
    refusal,
    scalar,
    shape,
    splat,
)
from gpucodegen.passes.prepare.stablehlo.special_functions import (
    COMPLEX_FUNCTIONS,
    FUNCTION_RULES,
    complex_sign,
)


def bits_of(b: Builder, x: Value) -> Expression:
    """The bits of numbers as integers of their width."""
    return Expression(b, cast(b, x, IntegerType(bit_width(element_type(x.type)))))


def cast(b: Builder, x: Value, element: Type) -> Value:
    """The bits of numbers as another type of their width."""
    ty = with_element(x.type, element)
    if ty == x.type:
        return x
    signs = all(isinstance(element_type(t), IntegerType) for t in (x.type, ty))
    name = "builtin.unrealized_conversion_cast" if signs else "arith.bitcast"
    return b.value(name, (x,), ty)


def ordered(b: Builder, x: Value) -> Value:
    """Floats as integers in their total order: -NaN, -inf .. -0, 0 .. inf, NaN."""
    bits = bits_of(b, x)
    width = bit_width(element_type(x.type))
    is_negative = bits < 0
    turned = bits ^ ((1 << (width - 1)) - 1)
    return turned.where(is_negative, bits).value


def bitcast(b: Builder, op: Operation) -> Sequence[Value]:
    """The bits as another type; one number may be several, the lowest bits first."""
    (x,) = op.operands
    old, new = (element_type(v.type) for v in (x, op.result))
    widths = bit_width(old), bit_width(new)
    if widths[0] == widths[1]:
        return [cast(b, x, new)]
    split = widths[0] > widths[1]
    rank = len(shape(op.result))
    outer = [Dim(d) for d in range(rank - 1 if split else rank)]
    wide, narrow = IntegerType(max(widths)), IntegerType(min(widths))

    def part(inner: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        place = inner.value("arith.index_cast", (position(inner, rank - 1),), wide)
        by = inner.value("arith.muli", (place, scalar(inner, widths[1], wide)), wide)
        bits = bits_of(inner, elements[0]).value
        shifted = inner.value("arith.shrui", (bits, by), wide)
        return [cast(inner, converted(inner, shifted, narrow), new)]

    def whole(inner: Builder, _: Sequence[Value]) -> Sequence[Value]:
        at = [position(inner, d) for d in range(rank)]
        total = Expression(inner, scalar(inner, 0, wide))
        for n in range(widths[1] // widths[0]):
            one = extract(inner, x, [*at, scalar(inner, n, INDEX)])
            bits = bits_of(inner, one).value
            bits = inner.value("arith.extui", (bits,), wide)
            total = total | (Expression(inner, bits) << n * widths[0])
        return [cast(inner, total.value, new)]

    if split:
        return [mapped(b, [x], [outer], op.result.type, part)]
    return [mapped(b, [], [], op.result.type, whole)]


def next_after(b: Builder, op: Operation) -> Sequence[Value]:
    """The next number from one towards another."""
    x, y = (Expression(b, v) for v in op.operands)
    bits, goal = bits_of(b, x.value), bits_of(b, y.value)
    sign = -1 << (bit_width(element_type(x.type)) - 1)
    magnitude, wanted = bits & ~sign, goal & ~sign
    inwards = (magnitude > wanted) | ((bits ^ goal) < 0)
    moved = (bits - 1).where(inwards, bits + 1)
    moved = ((goal & sign) | 1).where(magnitude.equals(0), moved)
    made = Expression(b, cast(b, moved.value, element_type(x.type)))
    made = y.where(x.equals(y), made)
    ordered = x.equals(x) & y.equals(y)
    return [made.where(ordered, x + y).value]


def reduce_precision(b: Builder, op: Operation) -> Sequence[Value]:
    """The nearest number of a format with fewer bits; ties to even, no subnormals."""
    x = Expression(b, op.operands[0])
    element = element_type(x.type)
    form = FORMATS[str(element)]
    exponent, fraction = op.integer("exponent_bits"), op.integer("mantissa_bits")
    bits, lost = bits_of(b, x.value), form.fraction - fraction
    if lost > 0:
        last = (bits >> lost) & 1
        bits = (bits + last + ((1 << (lost - 1)) - 1)) & -(1 << lost)
    if exponent < form.exponent:
        sign = -1 << (form.width - 1)
        every = ((1 << form.exponent) - 1) << form.fraction
        own, reach = bits & every, (1 << (exponent - 1)) - 1
        zero = bits & sign
        most, least = form.offset + reach, form.offset - reach
        bits = (zero | every).where(own > most << form.fraction, bits)
        bits = bits.where(own > least << form.fraction, zero)
    made = Expression(b, cast(b, bits.value, element))
    return [made.where(x.equals(x), x).value]


BIT_RULES: dict[str, Rule] = {
    "stablehlo.bitcast_convert": bitcast,
    "stablehlo.reduce_precision": reduce_precision,
    "chlo.next_after": next_after,
}


def table_rule(b: Builder, op: Operation) -> Sequence[Value]:
    """An operation of the table."""
    name = op.name.partition(".")[2]
    made = TABLE[name][kind_of(op.operands[0].type)]
    if made == "=":
        return op.operands
    if made == "-":
        element = element_type(op.operands[0].type)
        raise refusal(op, "Convert the operands to another type first", str(element))
    return [applied(b, made, op.operands, op.result.type)]


def chlo_rule(b: Builder, op: Operation) -> Sequence[Value]:
    """A CHLO function that math has, of complex numbers by its formula."""
    name = op.name.partition(".")[2]
    (x,) = op.operands
    if kind_of(x.type) != COMPLEX:
        return b.add(CHLO[name], op.operands, [op.result.type])
    if name not in COMPLEX_FUNCTIONS:
        element = element_type(x.type)
        raise refusal(op, "Apply it to real and imaginary parts", str(element))
    return [COMPLEX_FUNCTIONS[name](Expression(b, x)).value]


# -- several operations ----------------------------------------------------------------


def _binary(b: Builder, name: str, x: Value, y: Value) -> Value:
    return b.value(name, (x, y), x.type)


def _negate(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    kind = kind_of(x.type)
    if kind in (FLOAT, COMPLEX):
        name = "arith.negf" if kind == FLOAT else "complex.neg"
        return [applied(b, name, (x,), x.type)]
    return [_binary(b, "arith.subi", splat(b, 0, x.type), x)]


def _not(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    ones = 1 if kind_of(x.type) == TRUTH else -1
    return [_binary(b, "arith.xori", x, splat(b, ones, x.type))]


def _logistic(b: Builder, op: Operation) -> Sequence[Value]:
    """``1 / (1 + exp(-x))``."""
    (x,) = op.operands
    one = splat(b, 1, x.type)
    negative = b.value("arith.negf", (x,), x.type)
    power = b.value("math.exp", (negative,), x.type)
    return [_binary(b, "arith.divf", one, _binary(b, "arith.addf", one, power))]


def _sign(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    kind = kind_of(x.type)
    if kind == COMPLEX:
        return [complex_sign(Expression(b, x)).value]
    zero, one = splat(b, 0, x.type), splat(b, 1, x.type)
    if kind == FLOAT:
        signed = _binary(b, "math.copysign", one, x)
        # Zeros keep their sign, and NaN stays NaN.
        return [chosen(b, compared(b, "one", x, zero), signed, x)]
    if kind == UNSIGNED:
        return [_binary(b, "arith.minui", x, one)]
    above = _binary(b, "arith.minsi", x, one)
    return [_binary(b, "arith.maxsi", above, splat(b, -1, x.type))]


def _square(b: Builder, op: Operation) -> Sequence[Value]:
    x = Expression(b, op.operands[0])
    return [(x * x).value]


def _infinite(sign: float) -> Rule:
    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        (x,) = op.operands
        return [compared(b, "oeq", x, splat(b, sign * float("inf"), x.type))]

    return rule


def _shift(name: str) -> Rule:
    """Shifts by the width or more give the fill bits only."""

    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        x, by = op.operands
        width = bit_width(element_type(x.type))
        if name == "arith.shrsi":
            by = _binary(b, "arith.minui", by, splat(b, width - 1, x.type))
            return [_binary(b, name, x, by)]
        inside = compared(b, "ult", by, splat(b, width, x.type))
        kept = _binary(b, "arith.minui", by, splat(b, width - 1, x.type))
        shifted = _binary(b, name, x, kept)
        return [chosen(b, inside, shifted, splat(b, 0, x.type))]

    return rule


_COMPARISONS = {
    FLOAT: ("FLOAT", "TOTALORDER"),
    COMPLEX: ("FLOAT",),
    SIGNED: ("SIGNED",),
    UNSIGNED: ("UNSIGNED",),
    TRUTH: ("UNSIGNED",),
}
"""The kinds of comparison of each kind of number."""


def _compare(b: Builder, op: Operation) -> Sequence[Value]:
    x, y = op.operands
    kind = word(op.attributes.get("compare_type"))
    if kind not in ("", "NOTYPE", *_COMPARISONS[kind_of(x.type)]):
        element = element_type(x.type)
        raise refusal(op, "Leave the kind of comparison out", f"{kind} of {element}")
    if kind == "TOTALORDER":
        x, y = ordered(b, x), ordered(b, y)
    direction = word(op.attributes.get("comparison_direction")).lower()
    if kind_of(x.type) == COMPLEX:
        name = {"eq": "complex.eq", "ne": "complex.neq"}[direction]
        return [applied(b, name, (x, y), op.result.type)]
    return [Expression(b, x).compared(direction, Expression(b, y)).value]


def _select(b: Builder, op: Operation) -> Sequence[Value]:
    return [chosen(b, *op.operands)]


def _clamp(b: Builder, op: Operation) -> Sequence[Value]:
    low, x, high = op.operands
    kind = kind_of(x.type)
    low, high = (spread(b, v, x.type) for v in (low, high))
    raised = _binary(b, TABLE["maximum"][kind], low, x)
    return [_binary(b, TABLE["minimum"][kind], raised, high)]


def spread(b: Builder, value: Value, ty: Type) -> Value:
    """A tensor of rank 0 broadcast to a shape."""
    return value if value.type == ty else mapped(b, [value], [()], ty)


SEVERAL: dict[str, Callable[[Builder, Operation], Sequence[Value]]] = {
    "stablehlo.negate": _negate,
    "stablehlo.not": _not,
    "stablehlo.logistic": _logistic,
    "stablehlo.sign": _sign,
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
    "stablehlo.clamp": _clamp,
    "stablehlo.convert": convert,
    "stablehlo.shift_left": _shift("arith.shli"),
    "stablehlo.shift_right_logical": _shift("arith.shrui"),
    "stablehlo.shift_right_arithmetic": _shift("arith.shrsi"),
    "chlo.square": _square,
    "chlo.is_pos_inf": _infinite(1),
    "chlo.is_neg_inf": _infinite(-1),
}

ELEMENTWISE_RULES: dict[str, Rule] = {
    **{f"stablehlo.{name}": table_rule for name in TABLE},
    **{f"chlo.{name}": chlo_rule for name in CHLO},
    **SEVERAL,
    **BIT_RULES,
    **FUNCTION_RULES,
}
