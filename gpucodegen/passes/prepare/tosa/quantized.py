"""Integers that stand for numbers: scaled, shifted, looked up and rounded.

Formulas are those of the TOSA specification, in 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.dialects.tosa import chosen_word
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I64, INDEX, IntegerType, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.elements.conversions import converted
from gpucodegen.passes.prepare.stablehlo.elements.expressions import Expression
from gpucodegen.passes.prepare.stablehlo.forms import (
    Rule,
    extract,
    mapped,
    position,
    refusal,
    scalar,
    shape,
)
from gpucodegen.passes.prepare.tosa.elementwise import computed, spread

Scaled = Callable[[Expression, Expression, Expression], Expression]


def _wide(b: Builder, value: Value, *, unsigned: bool = False) -> Expression:
    """Numbers in 64 bits."""
    element = element_type(value.type)
    if unsigned and isinstance(element, IntegerType):
        bare = IntegerType(element.width, "u")
        cast = "builtin.unrealized_conversion_cast"
        (value,) = b.add(cast, (value,), [with_element(value.type, bare)])
    return Expression(b, converted(b, value, with_element(value.type, I64)))


def _bounds(ty: Type, *, unsigned: bool = False) -> tuple[int, int]:
    width = ty.width if isinstance(ty, IntegerType) else 64
    if unsigned:
        return 0, (1 << width) - 1
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


def _clipped(x: Expression, ty: Type, *, unsigned: bool = False) -> Value:
    low, high = _bounds(element_type(ty), unsigned=unsigned)
    kept = x.by("arith.maxsi", low)
    kept = kept.by("arith.minsi", high) if high < 1 << 63 else kept
    return converted(x.b, kept.value, ty)


def scaled(
    x: Expression, factor: Expression, shift: Expression, *, twice: bool = False
) -> Expression:
    """``x * factor / 2**shift``, rounded; ``twice``: away from zero by shifts over 31.

    ``apply_scale_32`` and ``apply_scale_16`` of the specification.
    """
    one = x.of(1)
    half = one.by("arith.shli", shift - 1)
    if twice:
        more = x.of(1 << 30)
        signed = more.where(x > -1, more * -1)
        half = (half + signed).where(shift > 31, half)
    return (x * factor + half).by("arith.shrsi", shift)


def _rescale(b: Builder, op: Operation) -> Sequence[Value]:
    """Less a zero point, by a factor and a shift for all or for each channel."""
    x, ty = op.operands[0], op.result.type
    rank = len(shape(x))
    per_channel = bool(op.integer("per_channel"))
    mode = chosen_word(op, "rounding_mode")
    twice = mode == "DOUBLE_ROUND" or bool(op.integer("double_round"))
    signs = [bool(op.integer(f"{side}_unsigned")) for side in ("input", "output")]
    if signs[0] and element_type(x.type) == I64:
        raise refusal(op, "Cast to fewer bits first", "unsigned inputs of 64 bits")
    points = _points(b, op, signs)
    factors = [_list(op, n, name) for n, name in ((1, "multiplier"), (2, "shift"))]

    def body(inner: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        channel = position(inner, rank - 1) if per_channel else None
        of = [_chosen(inner, given, channel) for given in factors]
        less, more = (Expression(inner, p) for p in points)
        value = _wide(inner, elements[0], unsigned=signs[0]) - less
        made = scaled(value, *of, twice=twice) + more
        return [_clipped(made, element_type(ty), unsigned=signs[1])]

    whole = [Dim(d) for d in range(rank)]
    return [mapped(b, [x], [whole], ty, body)]


def _points(b: Builder, op: Operation, signs: Sequence[bool]) -> list[Value]:
    """Both zero points as numbers: operands of today, or attributes."""
    if len(op.operands) == 5:
        zero = scalar(b, 0, INDEX)
        found = [extract(b, v, [zero]) for v in op.operands[3:]]
        pairs = zip(found, signs, strict=True)
        return [_wide(b, v, unsigned=unsigned).value for v, unsigned in pairs]
    return [scalar(b, op.integer(f"{side}_zp"), I64) for side in ("input", "output")]


def _list(op: Operation, operand: int, name: str) -> Value | Sequence[int]:
    if len(op.operands) > operand:
        return op.operands[operand]
    return numbers(op, name)


def _chosen(
    b: Builder, given: Value | Sequence[int], channel: Value | None
) -> Expression:
    """The factor or shift of a channel, or the only one."""
    if isinstance(given, Value):
        place = scalar(b, 0, INDEX) if channel is None else channel
        return _wide(b, extract(b, given, [place]))
    total = Expression(b, scalar(b, given[0], I64))
    for n, number in enumerate(given[1:], 1):
        if channel is not None:
            here = Expression(b, channel).equals(n)
            total = total.of(number).where(here, total)
    return total


def _mul(b: Builder, op: Operation) -> Sequence[Value]:
    """A product in the type of the result, after a rounding shift."""
    ty = op.result.type
    x, y = (spread(b, v, ty) for v in op.operands[:2])
    shift = op.operands[2] if len(op.operands) > 2 else None
    if shift is None and not op.integer("shift"):
        wide = [computed(b, "convert", [v], ty) for v in (x, y)]
        return [computed(b, "multiply", wide, ty)]

    def body(inner: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        first, second = (_wide(inner, v) for v in elements[:2])
        by = first.of(op.integer("shift"))
        if shift is not None:
            by = _wide(inner, extract(inner, shift, [scalar(inner, 0, INDEX)]))
        rounded = scaled(first, second, by)
        made = rounded.where(by > 0, first * second)
        return [converted(inner, made.value, element_type(ty))]

    whole = [Dim(d) for d in range(len(shape(op.result)))]
    return [mapped(b, [x, y], [whole, whole], ty, body)]


def _negate(b: Builder, op: Operation) -> Sequence[Value]:
    """``-(x - p) + q`` with zero points p and q, clipped."""
    x, *points = op.operands
    if not points:
        return [computed(b, "negate", [x], x.type)]
    zero = scalar(b, 0, INDEX)
    less, more = (_wide(b, extract(b, p, [zero])).value for p in points)

    def body(inner: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        turned = Expression(inner, less) - _wide(inner, elements[0])
        made = turned + Expression(inner, more)
        return [_clipped(made, element_type(x.type))]

    whole = [Dim(d) for d in range(len(shape(x)))]
    return [mapped(b, [x], [whole], x.type, body)]


def _shifted(b: Builder, op: Operation) -> Sequence[Value]:
    """An arithmetic shift; ``round`` adds the last bit that it loses."""
    ty = op.result.type
    x, by = (Expression(b, spread(b, v, ty)) for v in op.operands)
    made = Expression(b, computed(b, "shift_right_arithmetic", [x.value, by.value], ty))
    if not op.integer("round"):
        return [made.value]
    lost = x.by("arith.shrsi", by.by("arith.maxsi", 1) - 1) & 1
    return [(made + lost).where(by > 0, made).value]


def _table(b: Builder, op: Operation) -> Sequence[Value]:
    """Bytes by 256 entries; 16 bits between two of 513, with 7 more bits."""
    x, table = op.operands
    element = element_type(x.type)
    if not isinstance(element, IntegerType) or element.width not in (8, 16):
        raise refusal(op, "Convert to i8 or i16 first", str(element))
    narrow = element.width == 8

    def entry(inner: Builder, place: Expression) -> Expression:
        (at,) = inner.add("arith.index_cast", (place.value,), [INDEX])
        return _wide(inner, extract(inner, table, [at]))

    def body(inner: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        value = _wide(inner, elements[0])
        if narrow:
            made = entry(inner, value + 128)
        else:
            place = (value + (1 << 15)) >> 7
            low, high = entry(inner, place), entry(inner, place + 1)
            made = low * 128 + (high - low) * (value & 127)
        return [converted(inner, made.value, element_type(op.result.type))]

    whole = [Dim(d) for d in range(len(shape(x)))]
    return [mapped(b, [x], [whole], op.result.type, body)]


RULES: dict[str, Rule] = {
    "tosa.rescale": _rescale,
    "tosa.mul": _mul,
    "tosa.negate": _negate,
    "tosa.arithmetic_right_shift": _shifted,
    "tosa.table": _table,
}
