"""StableHLO elementwise arithmetic, comparisons and conversions, by arith and math.

A table names the operation for each kind of number.  Functions without an equivalent in
math (inverse erf, log gamma, digamma, ..) are formulas in 32 or 64 bits; others work on
the bits of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log, nan, pi

from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.stablehlo.syntax import word
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.number_formats import FORMATS
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    F32,
    F64,
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


BIT_RULES: dict[str, Rule] = {
    "stablehlo.bitcast_convert": bitcast,
    "stablehlo.reduce_precision": reduce_precision,
    "chlo.next_after": next_after,
}


Formula = Callable[[Expression], Expression]

# -- the inverse of erf ----------------------------------------------------------------

_INVERSE_ERF = {
    32: (
        (5.0, 0, 2.5, (
            2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
            0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
        )),
        (inf, 1, 3.0, (
            -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
            0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
        )),
    ),
    64: (
        (6.25, 0, 3.125, (
            -3.6444120640178196996e-21, -1.685059138182016589e-19,
            1.2858480715256400167e-18, 1.115787767802518096e-17,
            -1.333171662854620906e-16, 2.0972767875968561637e-17,
            6.6376381343583238325e-15, -4.0545662729752068639e-14,
            -8.1519341976054721522e-14, 2.6335093153082322977e-12,
            -1.2975133253453532498e-11, -5.4154120542946279317e-11,
            1.051212273321532285e-09, -4.1126339803469836976e-09,
            -2.9070369957882005086e-08, 4.2347877827932403518e-07,
            -1.3654692000834678645e-06, -1.3882523362786468719e-05,
            0.0001867342080340571352, -0.00074070253416626697512,
            -0.0060336708714301490533, 0.24015818242558961693, 1.6536545626831027356,
        )),
        (16.0, 1, 3.25, (
            2.2137376921775787049e-09, 9.0756561938885390979e-08,
            -2.7517406297064545428e-07, 1.8239629214389227755e-08,
            1.5027403968909827627e-06, -4.013867526981545969e-06,
            2.9234449089955446044e-06, 1.2475304481671778723e-05,
            -4.7318229009055733981e-05, 6.8284851459573175448e-05,
            2.4031110387097893999e-05, -0.0003550375203628474796,
            0.00095328937973738049703, -0.0016882755560235047313,
            0.0024914420961078508066, -0.0037512085075692412107,
            0.005370914553590063617, 1.0052589676941592334, 3.0838856104922207635,
        )),
        (inf, 1, 5.0, (
            -2.7109920616438573243e-11, -2.5556418169965252055e-10,
            1.5076572693500548083e-09, -3.7894654401267369937e-09,
            7.6157012080783393804e-09, -1.4960026627149240478e-08,
            2.9147953450901080826e-08, -6.7711997758452339498e-08,
            2.2900482228026654717e-07, -9.9298272942317002539e-07,
            4.5260625972231537039e-06, -1.9681778105531670567e-05,
            7.5995277030017761139e-05, -0.00021503011930044477347,
            -0.00013871931833623122026, 1.0103004648645343977, 4.8499064014085844221,
        )),
    ),
}  # fmt: skip
"""By width: per interval its limit of w, whether of sqrt(w), shift, and polynomial.

M. Giles, Approximating the erfinv function, GPU Computing Gems 2 (2011).
"""


def inverse_erf(x: Expression) -> Expression:
    """``x * p(w)`` with ``w = -log(1 - x * x)``."""
    w = -(-(x * x)).by("log_plus_one")
    root = w.by("sqrt")
    total = x
    for end, is_root, less, coefficients in reversed(
        _INVERSE_ERF[bit_width(element_type(x.type))]
    ):
        piece = ((root if is_root else w) - less).polynomial(coefficients)
        total = piece if end == inf else piece.where(w < end, total)
    infinite = x * inf
    return infinite.where(x.by("abs").equals(1), total * x)


# -- the gamma function ----------------------------------------------------------------

_G = 7.0
_LANCZOS = (
    676.520368121885098567009190444019, -1259.13921672240287047156078755283,
    771.3234287776530788486528258894, -176.61502916214059906584551354,
    12.507343278686904814458936853, -0.13857109526572011689554707,
    9.984369578019570859563e-6, 1.50563273514931155834e-7,
)  # fmt: skip
_FIRST = 0.99999999999980993227684700473478
"""Coefficients of C. Lanczos's series for g = 7, as P. Godfrey computed them."""


def _shifted(x: Expression) -> tuple[Expression, Expression, Expression]:
    """z of ``gamma(z + 1)``, ``z + g + 1/2`` and its logarithm.

    Below 1/2 it is that of ``1 - x``, for the reflection.
    """
    z = (-x).where(x < 0.5, x - 1)
    middle = _G + 0.5
    return z, z + middle, (z / middle).by("log_plus_one") + log(middle)


def log_gamma(x: Expression) -> Expression:
    """``log |gamma(x)|``: Lanczos's series, and its reflection below 1/2."""
    z, t, log_t = _shifted(x)
    series = x.of(_FIRST)
    for n, coefficient in enumerate(_LANCZOS, 1):
        series = series + coefficient / (z + n)
    own = (z + 0.5 - t / log_t) * log_t + log(2 * pi) / 2 + series.by("log")
    whole = x.by("abs")
    part = whole - whole.by("floor")
    part = (1 - part).where(part > 0.5, part)
    sine = (part * pi).by("sine").by("log")
    mirrored = (log(pi) - sine - own).where(sine > -inf, -sine)
    return x.of(inf).where(whole.equals(inf), mirrored.where(x < 0.5, own))


def digamma(x: Expression) -> Expression:
    """The derivative of ``log gamma(x)``, by the same series; NaN at its poles."""
    z, t, log_t = _shifted(x)
    above, below = x.of(0), x.of(_FIRST)
    for n, coefficient in enumerate(_LANCZOS, 1):
        term = coefficient / (z + n)
        above, below = above - term / (z + n), below + term
    own = log_t + above / below - _G / t
    angle = (x + (x + 0.5).by("floor").by("abs")) * pi
    mirrored = own - angle.by("cosine") * pi / angle.by("sine")
    value = mirrored.where(x < 0.5, own)
    pole = (x < 0).by("arith.ori", x.equals(0))
    pole = pole.by("arith.andi", x.equals(x.by("floor")))
    return x.of(nan).where(pole, value)


def _rule(formula: Formula) -> Rule:
    """A formula, of narrow floats in 32 bits."""

    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        (x,) = op.operands
        element = element_type(x.type)
        wide = with_element(x.type, element if element == F64 else F32)
        made = formula(Expression(b, converted(b, x, wide)))
        return [converted(b, made.value, op.result.type)]

    return rule


FUNCTION_RULES: dict[str, Rule] = {
    "chlo.erf_inv": _rule(inverse_erf),
    "chlo.lgamma": _rule(log_gamma),
    "chlo.digamma": _rule(digamma),
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
    """A CHLO function that math has."""
    made = CHLO[op.name.partition(".")[2]]
    return b.add(made, op.operands, [op.result.type])


# -- several operations ----------------------------------------------------------------


def _binary(b: Builder, name: str, x: Value, y: Value) -> Value:
    return b.add(name, (x, y), [x.type])[0]


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
    (negative,) = b.add("arith.negf", (x,), [x.type])
    (power,) = b.add("math.exp", (negative,), [x.type])
    return [_binary(b, "arith.divf", one, _binary(b, "arith.addf", one, power))]


def _sign(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    zero, one = splat(b, 0, x.type), splat(b, 1, x.type)
    kind = kind_of(x.type)
    if kind == FLOAT:
        signed = _binary(b, "math.copysign", one, x)
        # Zeros keep their sign, and NaN stays NaN.
        return [chosen(b, compared(b, "one", x, zero), signed, x)]
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
