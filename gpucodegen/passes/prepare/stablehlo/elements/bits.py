"""Rules that work on the bits of numbers."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.number_formats import FORMATS
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, IntegerType, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.elements.conversions import converted
from gpucodegen.passes.prepare.stablehlo.elements.expressions import Expression
from gpucodegen.passes.prepare.stablehlo.forms import (
    Rule,
    extract,
    mapped,
    position,
    scalar,
    shape,
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
    return b.add(name, (x,), [ty])[0]


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
        (place,) = inner.add("arith.index_cast", (position(inner, rank - 1),), [wide])
        (by,) = inner.add("arith.muli", (place, scalar(inner, widths[1], wide)), [wide])
        bits = bits_of(inner, elements[0]).value
        (shifted,) = inner.add("arith.shrui", (bits, by), [wide])
        return [cast(inner, converted(inner, shifted, narrow), new)]

    def whole(inner: Builder, _: Sequence[Value]) -> Sequence[Value]:
        at = [position(inner, d) for d in range(rank)]
        total = Expression(inner, scalar(inner, 0, wide))
        for n in range(widths[1] // widths[0]):
            one = extract(inner, x, [*at, scalar(inner, n, INDEX)])
            bits = bits_of(inner, one).value
            (bits,) = inner.add("arith.extui", (bits,), [wide])
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


RULES: dict[str, Rule] = {
    "stablehlo.bitcast_convert": bitcast,
    "stablehlo.reduce_precision": reduce_precision,
    "chlo.next_after": next_after,
}
