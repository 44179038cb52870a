"""exp, exp2, expm1, tanh, log, log2, log10, log1p, pow and erf on vector registers.

*Exponentials*: ``x = k log(2) + r`` with an integer ``k`` and ``|r| <= log(2)/2``,
where log(2) is a sum of two floats (W. J. Cody and W. Waite, Software Manual for the
Elementary Functions, 1980); ``exp(r) = 1 + r + r^2 P(r)``; the result is scaled by
``2^k``.

*Logarithms*: ``x = 2^k (1 + f)`` with ``sqrt(1/2) <= 1 + f < sqrt(2)`` and, for
``s = f/(2+f)``, ``log(1+f) = f - f^2/2 + s (f^2/2 + s^2 P(s^2))`` (K. C. Ng, FDLIBM,
1993).

*pow*: ``2^(y log2(x))`` with a logarithm of two floats; float32 computes in float64.
Bases that are not positive normal numbers and infinite exponents go to the C library,
or to the table of special cases.

*erf*: ``x + x P(x^2)`` near zero; further out ``1 - exp(-Q(u))`` with
``Q = -log(erfc)`` as a polynomial in the distance ``u`` from the boundary of the parts.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any

from gpucodegen.intrinsics.vector_math.coefficients import (
    ERF_INNER,
    ERF_OUTER,
    EXP,
    LOG,
    LOG_TAIL,
    TANH,
)
from gpucodegen.intrinsics.vector_math.lanes import (
    F32,
    Lanes,
    Pair,
    otherwise,
    power_of_two,
    product_of,
    scaled,
    sum_of,
)
from gpucodegen.records import dataclass

LOG2_E = 1.4426950408889634
LN2 = {"f32": (0.6931471824645996, -1.9046542121259336e-09)}
LN2["f64"] = (0.6931471805599453, 2.3190468138462996e-17)
"""log(2) as a float and the rest; both products are exact in fused operations."""

TANH_SPLIT = 0.5625


@dataclass(frozen=True, slots=True)
class ArgumentRange:
    """Arguments outside ``[low, high]`` have the result of the nearest end.

    ``whole`` is a power of 2 whose product with a result makes 1 negligible.
    """

    low: float
    high: float
    low2: float
    high2: float
    whole: int


RANGES = {
    "f32": ArgumentRange(-105.0, 90.0, -152.0, 129.0, 64),
    "f64": ArgumentRange(-746.0, 711.0, -1077.0, 1025.0, 512),
}


def exp(x: Lanes) -> Lanes:
    """``e^x``."""
    limits = RANGES[x.format.name]
    k, r = reduced(clamped(x, limits.low, limits.high))
    return scaled(around_one(r), k)


def exp2(x: Lanes) -> Lanes:
    """``2^x``: here ``r`` is exact and its product with log(2) has a correction."""
    limits = RANGES[x.format.name]
    inside = clamped(x, limits.low2, limits.high2)
    k = inside.llvm("rint")
    r = inside - k
    high, low = LN2[x.format.name]
    t = (r * high).fenced()
    error = r.fma(low, r.fma(high, -t))
    square = t * t
    curve = square.fma(t.polynomial(EXP[x.format.name]), error)
    return scaled(t + curve + 1.0, k)


def expm1(x: Lanes) -> Lanes:
    """``e^x - 1`` without cancellation: ``2^k (e^r - 1) + (2^k - 1)``.

    Of large ``k`` a part scales the sum, whose 1 no longer counts.
    """
    limits = RANGES[x.format.name]
    inside = clamped(x, -float(x.format.fraction + 4), limits.high)
    high, low = LN2[x.format.name]
    k = (inside * LOG2_E).llvm("rint")
    near = k.fma(-high, inside)
    r = k.fma(-low, near)
    lost = k.fma(-low, (near - r).fenced())
    inner = k.if_(k.compared("<", limits.whole), limits.whole)
    factor = power_of_two(inner.whole())
    curve = (r * r).fma(r.polynomial(EXP[x.format.name]), lost)
    total = curve.fma(factor, r.fma(factor, factor - 1.0))
    return scaled(total, k - inner).llvm("copysign", x)


def tanh(x: Lanes) -> Lanes:
    """``x + x^3 T(x^2)`` near zero, ``1 - 2 / (e^(2 |x|) + 1)`` further out."""
    z = x * x
    near = (x * z).fma(z.polynomial(TANH[x.format.name]), x)
    size = abs(x)
    outer = x.of(1.0) - x.of(2.0) / (exp(size * 2.0) + 1.0)
    value = near.if_(size.compared("<", TANH_SPLIT), outer)
    return value.llvm("copysign", x).or_nan(x)


def clamped(x: Lanes, low: float, high: float) -> Lanes:
    """``x`` clamped between two numbers; a NaN stays."""
    above = x.of(low).if_(x.compared("<", low), x)
    return x.of(high).if_(above.compared(">", high), above)


def reduced(x: Lanes) -> tuple[Lanes, Lanes]:
    """``(k, r)`` with ``x = k log(2) + r``, both floats."""
    high, low = LN2[x.format.name]
    k = (x * LOG2_E).llvm("rint")
    return k, k.fma(-low, k.fma(-high, x))


def around_one(r: Lanes) -> Lanes:
    """``e^r`` for ``|r| <= log(2)/2``."""
    return (r * r).fma(r.polynomial(EXP[r.format.name]), r) + 1.0


ROOT_HALF = {"f32": 0x3F3504F3, "f64": 0x3FE6A09E667F3BCD}
"""The bits of sqrt(1/2)."""


@dataclass(frozen=True, slots=True)
class Base:
    """A base ``b``: ``1/log(b)`` and ``log(2)/log(b)`` as sums of two floats."""

    unit: tuple[float, float]
    octave: tuple[float, float]


BINARY = {
    "f32": Base((1.4426950216293335, 1.925963033500011e-08), (1.0, 0.0)),
    "f64": Base((1.4426950408889634, 2.0355273740931033e-17), (1.0, 0.0)),
}
DECIMAL = {
    "f32": Base(
        (0.4342944920063019, -1.0103049952192578e-08),
        (0.301025390625, 4.605039066518657e-06),
    ),
    "f64": Base(
        (0.4342944819032518, 1.098319650216765e-17),
        (0.30102999566395283, 2.8363394551044964e-14),
    ),
}
"""The high part of log10(2) has trailing zeros: its products with ``k`` are exact."""


def log(x: Lanes) -> Lanes:
    """The natural logarithm."""
    k, f = split(x)
    high, low = LN2[x.format.name]
    half_square, tail = parts(f)
    total = k.fma(high, f - (half_square - k.fma(low, tail)))
    return _ends(x, total)


def log1p(x: Lanes) -> Lanes:
    """``log(1 + x)``; the rounding error c of ``1 + x`` is added as ``c / (1 + x)``."""
    above, below = x.compared(">", -0.29), x.compared("<", 0.41)
    is_near = x.low.builder.and_(above, below)
    whole = (x + 1.0).fenced()
    k, f = split(whole)
    is_large = x.compared(">", 1.0)
    lost_small = x - (whole - 1.0).fenced()
    lost_large = x.of(1.0) - (whole - x).fenced()
    correction = lost_large.if_(is_large, lost_small) / whole
    zero = x.of(0.0)
    k, f = zero.if_(is_near, k), x.if_(is_near, f)
    correction = zero.if_(is_near, correction)
    high, low = LN2[x.format.name]
    half_square, tail = parts(f)
    total = k.fma(high, f - (half_square - (k.fma(low, correction) + tail)))
    is_tiny = abs(x).compared("<", 2.0 ** -(x.format.fraction + 3))
    return x.if_(is_tiny, _ends(whole, total))


def log2(x: Lanes) -> Lanes:
    """The logarithm to base 2."""
    return _ends(x, based(x, BINARY[x.format.name]))


def log10(x: Lanes) -> Lanes:
    """The logarithm to base 10."""
    return _ends(x, based(x, DECIMAL[x.format.name]))


def based(x: Lanes, base: Base) -> Lanes:
    """``k log_b(2) + log(1+f) / log(b)`` with products and sums of two floats."""
    k, f = split(x)
    natural = logarithm(f)
    unit, rest = base.unit
    octave, octave_rest = base.octave
    near = product_of(natural.high, unit)
    tail = natural.high.fma(rest, natural.low.fma(unit, near.low))
    total = sum_of((k * octave).fenced(), near.high)
    whole = k.fma(octave_rest, total.low + tail) if octave_rest else total.low + tail
    is_zero = k.compared("==", 0.0)
    return (near.high + tail).if_(is_zero, total.high + whole)


def logarithm(f: Lanes) -> Pair:
    """``log(1 + f)`` as a sum of two floats."""
    half_square, tail = parts(f)
    square = product_of(f, f)
    high = sum_of(f, (-half_square).fenced())
    return sum_of(high.high, high.low + square.low.fma(-0.5, tail))


def parts(f: Lanes) -> tuple[Lanes, Lanes]:
    """``f^2/2`` and ``s (f^2/2 + s^2 P)``: ``log(1+f)`` is ``f`` minus one plus one."""
    s = f / (f + 2.0)
    z = s * s
    half_square = (f * f * 0.5).fenced()
    return half_square, s * z.fma(z.polynomial(LOG[f.format.name]), half_square)


def split(x: Lanes) -> tuple[Lanes, Lanes]:
    """``(k, f)`` of a positive number, subnormal ones too; both floats."""
    form = x.format
    is_small = x.compared("<", 2.0 ** (1 - form.bias))
    lifted = (x * 2.0 ** (form.fraction + 2)).if_(is_small, x)
    root = ROOT_HALF[form.name]
    shifted = lifted.bits() - root
    k = shifted.integer("ashr", form.fraction)
    fraction = shifted.integer("and_", (1 << form.fraction) - 1)
    f = (fraction + root).as_float() - 1.0
    real = k.real()
    return (real - float(form.fraction + 2)).if_(is_small, real), f


def _ends(x: Lanes, inside: Lanes) -> Lanes:
    """The logarithm at zero, at infinity and for negative numbers."""
    finite = x.if_(x.compared("==", inf), inside)
    positive = finite.if_(x.compared(">", 0.0), nan)
    return x.of(-inf).if_(x.compared("==", 0.0), positive)


THIRD = (0.6666666666666666, 3.700743415417188e-17)
"""2/3 as a sum of two floats."""


def power(x: Lanes, y: Lanes) -> Lanes:
    """``x ** y``."""
    return otherwise(_regular(x, y), _is_special(x, y), "pow", _special, x, y)


def _regular(x: Lanes, y: Lanes) -> Lanes:
    """The power of a positive finite base and a finite exponent."""
    return _single(x, y) if x.scalar == F32 else _double(x, y)


def _special(x: Lanes, y: Lanes) -> Lanes:
    """The power of the base's magnitude, and the cases of C99, annex F.9.4.4."""
    builder, size = x.low.builder, abs(x)
    one, endless, zero = x.of(1.0), x.of(inf), x.of(0.0)
    is_whole = y.llvm("trunc").compared("==", y)
    half = y * 0.5
    is_odd = builder.and_(is_whole, half.llvm("trunc").compared("!=", half))
    grows = builder.xor(size.compared(">", 1.0), y.compared("<", 0.0))
    ends = endless.if_(grows, zero)
    at_an_end = builder.or_(size.compared("==", 0.0), size.compared("==", inf))
    at_an_end = builder.or_(at_an_end, abs(y).compared("==", inf))
    value = ends.if_(at_an_end, _regular(size, y))
    value = one.if_(size.compared("==", 1.0), value)
    is_finite = size.compared("!=", inf)
    is_below = builder.and_(x.compared("<", 0.0), is_finite)
    has_none = builder.and_(is_below, builder.not_(is_whole))
    sign = x.bits().integer("and_", 0).if_(builder.not_(is_odd), x.bits())
    negative = sign.integer("lshr", x.format.bits - 1).compared("!=", 0)
    value = (-value).if_(negative, value)
    value = x.of(nan).if_(has_none, value)
    value = (x + y).if_(builder.fcmp_unordered("uno", x.value, y.value), value)
    is_one = builder.or_(x.compared("==", 1.0), y.compared("==", 0.0))
    return one.if_(is_one, value)


def _is_special(x: Lanes, y: Lanes) -> Any:
    """Where the base is not positive, normal and finite, or the exponent infinite."""
    builder = x.low.builder
    smallest = x.of(2.0 ** (1 - x.format.bias))
    small = builder.fcmp_unordered("<", x.value, smallest.value)
    large = builder.fcmp_unordered("==", x.value, x.of(inf).value)
    endless = builder.fcmp_unordered("==", abs(y).value, y.of(inf).value)
    return builder.or_(builder.or_(small, large), endless)


def _single(x: Lanes, y: Lanes) -> Lanes:
    wide = x.wide()
    k, f = split(wide)
    half_square, tail = parts(f)
    octaves = (f - (half_square - tail)).fma(LOG2_E, k)
    return exp2(octaves * y.wide()).single()


def _double(x: Lanes, y: Lanes) -> Lanes:
    natural = accurate_logarithm(x)
    limit = 800.0
    exact = product_of(natural.high, y)
    high = clamped(exact.high, -limit, limit)
    is_inside = high.compared("==", exact.high)
    low = y.fma(natural.low, exact.low).if_(is_inside, 0.0)
    k = (high * LOG2_E).llvm("rint")
    pair = _rest(high, k, low)
    square = pair.high * pair.high
    curve = square.fma(pair.high.polynomial(EXP["f64"]), pair.low)
    return scaled(pair.high + curve + 1.0, k)


def _rest(high: Lanes, k: Lanes, low: Lanes) -> Pair:
    """``high + low - k log(2)`` as a sum of two floats; the first step is exact."""
    first, second = LN2["f64"]
    r = k.fma(-first, high)
    return sum_of(r, k.fma(-second, low))


def accurate_logarithm(x: Lanes) -> Pair:
    """The natural logarithm with some 10 bits more than a float.

    ``log(1+f) = 2s + (2/3) s^3 + s^5 Q(s^2)`` with ``s`` and the first two terms as
    sums of two floats.
    """
    k, f = split(x)
    s = _quotient(f)
    square = _product(s, s)
    curve = square.high.polynomial(LOG_TAIL["f64"])
    cubic = _product(s, _product(square, Pair(x.of(THIRD[0]), x.of(THIRD[1]))))
    tail = (s.high * square.high * square.high).fma(curve, cubic.low)
    double = sum_of(s.high * 2.0, cubic.high)
    part = Pair(double.high, s.low.fma(2.0, double.low + tail))
    first, second = LN2["f64"]
    whole = product_of(k, first)
    is_zero = k.compared("==", 0.0)
    total = sum_of(whole.high, part.high)
    low = k.fma(second, total.low + (whole.low + part.low))
    return sum_of(part.high.if_(is_zero, total.high), part.low.if_(is_zero, low))


def _quotient(f: Lanes) -> Pair:
    """``f / (2 + f)`` as a sum of two floats."""
    divisor = sum_of(f.of(2.0), f)
    s = (f / divisor.high).fenced()
    rest = s.fma(-divisor.high, f) - s * divisor.low
    return Pair(s, rest / divisor.high)


def _product(a: Pair, b: Pair) -> Pair:
    exact = product_of(a.high, b.high)
    return Pair(exact.high, a.high.fma(b.low, a.low.fma(b.high, exact.low)))


SPLIT = 0.90625
END = {"f32": 4.0, "f64": 6.0}
"""From here on the nearest number to erf is 1."""


def erf(x: Lanes) -> Lanes:
    """The error function."""
    kind, size = x.format.name, abs(x)
    inner = x.fma((x * x).polynomial(ERF_INNER[kind]), x)
    end = END[kind]
    inside = size.if_(size.compared("<", end), end)
    u = inside - SPLIT
    k, r = reduced(-u.polynomial(ERF_OUTER[kind]))
    outer = x.of(1.0) - around_one(r) * power_of_two(k.whole())
    signed = outer.llvm("copysign", x)
    return inner.if_(size.compared("<", SPLIT), signed).or_nan(x)
