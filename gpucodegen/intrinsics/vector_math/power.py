"""pow of the lanes of a register: ``2^(y log2(x))`` with a logarithm of two floats.

float32 computes in float64.  Bases that are not positive normal numbers and exponents
without a size go to the C library, which knows all special cases, or to their table.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any

from gpucodegen.intrinsics.vector_math import exponential, logarithm
from gpucodegen.intrinsics.vector_math.coefficients import EXP, LOG_TAIL
from gpucodegen.intrinsics.vector_math.lanes import F32, Lanes, Pair, product_of, sum_of
from gpucodegen.intrinsics.vector_math.rare import otherwise
from gpucodegen.intrinsics.vector_math.scaling import scaled

THIRD = (0.6666666666666666, 3.700743415417188e-17)
"""2/3 as a sum of two floats."""


def power(x: Lanes, y: Lanes) -> Lanes:
    """``x ** y``."""
    return otherwise(_regular(x, y), _is_special(x, y), "pow", _special, x, y)


def _regular(x: Lanes, y: Lanes) -> Lanes:
    """Of a positive finite base and a finite exponent."""
    return _single(x, y) if x.scalar == F32 else _double(x, y)


def _special(x: Lanes, y: Lanes) -> Lanes:
    """The power of the base's size, and then the cases of C99, annex F.9.4.4."""
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
    k, f = logarithm.split(wide)
    half_square, tail = logarithm.parts(f)
    octaves = (f - (half_square - tail)).fma(exponential.LOG2_E, k)
    return exponential.exp2(octaves * y.wide()).single()


def _double(x: Lanes, y: Lanes) -> Lanes:
    natural = accurate_logarithm(x)
    limit = 800.0
    exact = product_of(natural.high, y)
    high = exponential.clamped(exact.high, -limit, limit)
    is_inside = high.compared("==", exact.high)
    low = y.fma(natural.low, exact.low).if_(is_inside, 0.0)
    k = (high * exponential.LOG2_E).llvm("rint")
    pair = _rest(high, k, low)
    square = pair.high * pair.high
    curve = square.fma(pair.high.polynomial(EXP["f64"]), pair.low)
    return scaled(pair.high + curve + 1.0, k)


def _rest(high: Lanes, k: Lanes, low: Lanes) -> Pair:
    """``high + low - k log(2)`` as a sum of two floats; the first step is exact."""
    first, second = exponential.LN2["f64"]
    r = k.fma(-first, high)
    return sum_of(r, k.fma(-second, low))


def accurate_logarithm(x: Lanes) -> Pair:
    """The natural logarithm with some 10 bits more than a float.

    ``log(1+f) = 2s + (2/3) s^3 + s^5 Q(s^2)`` with ``s`` and the first two terms as
    sums of two floats.
    """
    k, f = logarithm.split(x)
    s = _quotient(f)
    square = _product(s, s)
    curve = square.high.polynomial(LOG_TAIL["f64"])
    cubic = _product(s, _product(square, Pair(x.of(THIRD[0]), x.of(THIRD[1]))))
    tail = (s.high * square.high * square.high).fma(curve, cubic.low)
    double = sum_of(s.high * 2.0, cubic.high)
    part = Pair(double.high, s.low.fma(2.0, double.low + tail))
    first, second = exponential.LN2["f64"]
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
