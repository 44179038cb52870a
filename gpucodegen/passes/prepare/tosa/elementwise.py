"""TOSA elementwise arithmetic and quantization: rescale, shift, table and rounding.

Elementwise operations use the rules of StableHLO after operands are broadcast.  The
quantization formulas are those of the TOSA specification, in 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.dialects.stablehlo.syntax import enumeration
from gpucodegen.dialects.tosa import COMPARED, ELEMENTWISE, chosen_word
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import Attribute, FloatAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I64, INDEX, FloatType, IntegerType, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo import elementwise as stablehlo
from gpucodegen.passes.prepare.stablehlo.expressions import (
    Expression,
    compared,
    converted,
)
from gpucodegen.passes.prepare.stablehlo.forms import (
    Rule,
    chosen,
    dims,
    extract,
    mapped,
    position,
    refusal,
    scalar,
    shape,
    shape_of,
    splat,
)


def spread(b: Builder, value: Value, ty: Type) -> Value:
    """An operand broadcast to the shape of the result."""
    wanted = with_element(ty, element_type(value.type))
    if wanted == value.type:
        return value
    pairs = enumerate(zip(shape(value), shape_of(ty), strict=True))
    kept = [-1 if n == 1 and m != 1 else d for d, (n, m) in pairs]
    return mapped(b, [value], [dims(kept)], wanted)


def computed(
    b: Builder,
    name: str,
    operands: Sequence[Value],
    ty: Type,
    attributes: dict[str, Attribute] | None = None,
) -> Value:
    """A StableHLO operation on operands broadcast to the result's shape."""
    full = f"stablehlo.{name}"
    op = Operation(
        full, tuple(operands), (Value(ty),), attributes or {}, (), location=b.location
    )
    (value,) = stablehlo.ELEMENTWISE_RULES[full](b, op)
    return value


def _same(name: str) -> Rule:
    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        ty = op.result.type
        return [computed(b, name, [spread(b, v, ty) for v in op.operands], ty)]

    return rule


def ignores_nan(op: Operation, ty: Type) -> bool:
    """Whether numbers win over NaN: ``nan_mode``, which only floats have."""
    is_float = isinstance(element_type(ty), FloatType)
    return is_float and chosen_word(op, "nan_mode") == "IGNORE"


def _extreme(name: str) -> Rule:
    """``maximum`` or ``minimum``."""

    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        ty = op.result.type
        if not ignores_nan(op, ty):
            return _same(name)(b, op)
        operands = [spread(b, v, ty) for v in op.operands]
        return b.add(f"arith.{name[:3]}numf", operands, [ty])

    return rule


def _compared(direction: str) -> Rule:
    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        operands = [spread(b, v, op.result.type) for v in op.operands]
        chosen = {
            "comparison_direction": enumeration("comparison_direction", direction)
        }
        return [computed(b, "compare", operands, op.result.type, dict(chosen))]

    return rule


def _cast(b: Builder, op: Operation) -> Sequence[Value]:
    """Floats become the nearest integer, ties to even."""
    (x,) = op.operands
    target = element_type(op.result.type)
    is_float = isinstance(element_type(x.type), FloatType)
    if is_float and isinstance(target, IntegerType) and target.width > 1:
        x = computed(b, "round_nearest_even", [x], x.type)
    return [computed(b, "convert", [x], op.result.type)]


def _reciprocal(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    return [computed(b, "divide", [splat(b, 1, x.type), x], x.type)]


def _erf(b: Builder, op: Operation) -> Sequence[Value]:
    return b.add("math.erf", op.operands, [op.result.type])


_BOUNDS = {
    FloatType: (("min_val", "max_val"), ("min_fp", "max_fp")),
    IntegerType: (("min_val", "max_val"), ("min_int", "max_int")),
}


def _clamp(b: Builder, op: Operation) -> Sequence[Value]:
    """Between two numbers; ``IGNORE`` takes the lower one for NaN."""
    (x,) = op.operands
    element = type(element_type(x.type))
    pairs = _BOUNDS[FloatType if element is FloatType else IntegerType]
    low, high = next(p for p in pairs if p[0] in op.attributes)
    bounds = [splat(b, _number(op.attributes[name]), x.type) for name in (low, high)]
    made = computed(b, "clamp", [bounds[0], x, bounds[1]], x.type)
    if not ignores_nan(op, x.type):
        return [made]
    return [chosen(b, compared(b, "uno", x, x), bounds[0], made)]


def _number(value: Attribute) -> float:
    return value.value if isinstance(value, FloatAttr | IntegerAttr) else 0


ELEMENTWISE_RULES: dict[str, Callable[[Builder, Operation], Sequence[Value]]] = {
    **{f"tosa.{name}": _same(other) for name, other in ELEMENTWISE.items()},
    **{f"tosa.{name}": _compared(word) for name, word in COMPARED.items()},
    "tosa.maximum": _extreme("maximum"),
    "tosa.minimum": _extreme("minimum"),
    "tosa.cast": _cast,
    "tosa.reciprocal": _reciprocal,
    "tosa.erf": _erf,
    "tosa.clamp": _clamp,
}


Scaled = Callable[[Expression, Expression, Expression], Expression]


def _wide(b: Builder, value: Value, *, unsigned: bool = False) -> Expression:
    """Numbers extended to 64 bits."""
    element = element_type(value.type)
    if unsigned and isinstance(element, IntegerType):
        bare = IntegerType(element.width, "u")
        cast = "builtin.unrealized_conversion_cast"
        value = b.value(cast, (value,), with_element(value.type, bare))
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
    """Subtract a zero point, and scale by a factor and a shift, maybe per channel."""
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
    """Both zero points as numbers: operands in recent versions, or attributes."""
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
        at = inner.value("arith.index_cast", (place.value,), INDEX)
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


QUANTIZED_RULES: dict[str, Rule] = {
    "tosa.rescale": _rescale,
    "tosa.mul": _mul,
    "tosa.negate": _negate,
    "tosa.arithmetic_right_shift": _shifted,
    "tosa.table": _table,
}
