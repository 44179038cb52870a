"""Formulas of C library functions in float64: angles, hyperbolic, erfc, roots, fmod.

Inverse hyperbolic functions are logarithms of sums of two floats, which are exact near
1; tan and the inverse trigonometric functions also use sums of two floats for the
errors of quotients and roots.  erfc is ``1 - erf`` near zero, ``e^(-x^2) Q / (1 + 2x)``
further out, with ``Q`` a polynomial in ``(x - 4) / (x + 4)``, which maps all of ``x``
into an interval (M. M. Shepherd and J. G. Laframboise, Chebyshev approximation of (1 +
2x) exp(x^2) erfc x, 1981).  fmod is an integer division, 11 bits at a time.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any

from gpucodegen.intrinsics.vector_math import trigonometric
from gpucodegen.intrinsics.vector_math.coefficients import (
    ASIN,
    ATAN,
    ERF_INNER,
    ERFC,
    SINH,
)
from gpucodegen.intrinsics.vector_math.exponential import (
    LN2,
    accurate_logarithm,
    around_one,
    clamped,
    reduced,
)
from gpucodegen.intrinsics.vector_math.lanes import (
    Lanes,
    Pair,
    any_sum,
    otherwise,
    product_of,
    quotient_of,
    root_of,
    scaled,
    sum_of,
)

HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
TAN_OF_EIGHTH = 0.4142135623730950


def tan(x: Lanes) -> Lanes:
    """The tangent of an angle in radians."""
    value = _tangent(*trigonometric.reduced(x))
    exact = x.if_(abs(x).compared("<", 2.0**-28), value)
    is_large = trigonometric.is_large(x)
    return otherwise(exact, is_large, "tan", _large_tangent, x)


def _large_tangent(x: Lanes) -> Lanes:
    return _tangent(*trigonometric.reduced_large(x))


def _tangent(quarter: Lanes, r: Pair) -> Lanes:
    """Sine over cosine, or minus cosine over sine."""
    sine, cosine = trigonometric.sine_parts(r), trigonometric.cosine_parts(r)
    is_odd = quarter.integer("and_", 1).compared("!=", 0)
    minus = Pair(-cosine.high, -cosine.low)
    value = quotient_of(_chosen(is_odd, minus, sine), _chosen(is_odd, sine, cosine))
    return value.high + value.low


def _chosen(condition: Any, yes: Pair, no: Pair) -> Pair:
    chosen = Pair(yes.high.if_(condition, no.high), yes.low.if_(condition, no.low))
    return sum_of(chosen.high, chosen.low)


def asin(x: Lanes) -> Lanes:
    """Up to 1/2 a polynomial; beyond, ``pi/2`` minus twice the arc sine of a root."""
    s, tail, is_near = _inner_angle(x)
    first, second = HALF_PI
    far = sum_of(x.of(first), s.high * -2.0)
    outer = far.high + (far.low + tail.fma(-2.0, second))
    return (s.high + tail).if_(is_near, outer).llvm("copysign", x)


def acos(x: Lanes) -> Lanes:
    """``pi/2 - asin(x)``, and ``2 asin(sqrt((1-x)/2))`` near 1."""
    s, tail, is_near = _inner_angle(x)
    first, second = HALF_PI
    signed = s.high.llvm("copysign", x)
    middle = sum_of(x.of(first), -signed)
    turned = tail.if_(x.compared("<", 0.0), -tail)
    near = middle.high + (middle.low + (turned + second))
    right = (s.high + tail) * 2.0
    whole = sum_of(x.of(2.0 * first), s.high * -2.0)
    left = whole.high + (whole.low + tail.fma(-2.0, 2.0 * second))
    return near.if_(is_near, left.if_(x.compared("<", 0.0), right))


def _inner_angle(x: Lanes) -> tuple[Pair, Lanes, Any]:
    """``(s, t, is_near)``: the arc sine of ``|x|`` or of the root is ``s.high + t``."""
    size = abs(x)
    is_near = size.compared("<=", 0.5)
    z = (size * size).if_(is_near, size.fma(-0.5, size.of(0.5)))
    root = root_of(Pair(z, z.of(0.0)))
    high, low = size.if_(is_near, root.high), z.of(0.0).if_(is_near, root.low)
    return Pair(high, low), (high * z).fma(z.polynomial(ASIN["f64"]), low), is_near


def atan(x: Lanes) -> Lanes:
    """The arc tangent."""
    return atan2(x, x.of(1.0))


def atan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle of the point (x, y).

    The smaller side is divided by the larger one, and the angle reflected. Slopes above
    the tangent of pi/8 are reduced to ``(n-d) / (n+d)`` plus pi/4.
    """
    builder, tall = x.low.builder, abs(y).compared(">", abs(x))
    n, d = _scaled(abs(x).if_(tall, abs(y)), abs(y).if_(tall, abs(x)))
    is_steep = n.compared(">", d * TAN_OF_EIGHTH)
    zero = x.of(0.0)
    less, more = any_sum(n, -d), sum_of(d, n)
    top = Pair(less.high.if_(is_steep, n), less.low.if_(is_steep, zero))
    bottom = Pair(more.high.if_(is_steep, d), more.low.if_(is_steep, zero))
    slope = quotient_of(top, bottom)
    z = slope.high * slope.high
    tail = (slope.high * z).fma(z.polynomial(ATAN["f64"]), slope.low)
    turns = x.of(0.5).if_(is_steep, 0.0)
    signs = x.of(1.0)
    for condition, base in ((tall, 1.0), (x.bits().compared("<", 0), 2.0)):
        turns = (x.of(base) - turns).if_(condition, turns)
        signs = (-signs).if_(condition, signs)
    first, second = HALF_PI
    total = sum_of(turns * first, signs * slope.high)
    angle = total.high + (total.low + turns.fma(second, signs * tail))
    is_nan = builder.fcmp_unordered("uno", x.value, y.value)
    return (x + y).if_(is_nan, angle.llvm("copysign", y))


def _scaled(n: Lanes, d: Lanes) -> tuple[Lanes, Lanes]:
    """A slope's sides, without infinities and away from the ends of the format."""
    is_endless = d.compared("==", inf)
    both = n.of(1.0).if_(n.compared("==", inf), 0.0)
    n, d = both.if_(is_endless, n), d.of(1.0).if_(is_endless, d)
    d = d.of(1.0).if_(d.compared("==", 0.0), d)
    factor = n.of(2.0**-120).if_(d.compared(">", 2.0**900), 1.0)
    factor = n.of(2.0**120).if_(d.compared("<", 2.0**-900), factor)
    return n * factor, d * factor


STEP = 11
"""Free bits of a word beside a mantissa of 53."""


def fmod(x: Lanes, y: Lanes) -> Lanes:
    """Remainder of ``x`` by ``y`` with the sign of ``x``, by truncated division."""
    builder, size, divisor = x.low.builder, abs(x), abs(y)
    top, top_exponent = _parts(size)
    bottom, exponent = _parts(divisor)
    is_zero = bottom.compared("==", 0)
    bottom = bottom.of(1).if_(is_zero, bottom)
    first = x.bits().of(builder.urem(top.value, bottom.value))
    rest = _divided(first, bottom, top_exponent - exponent)
    value = scaled(rest.real(), (exponent - 1075).real())
    value = x.if_(size.compared("<", divisor), value.llvm("copysign", x))
    endless = builder.fcmp_unordered("==", size.value, x.of(inf).value)
    has_none = builder.or_(builder.or_(is_zero, endless), _is_nan(y))
    return x.of(nan).if_(has_none, value)


def _is_nan(x: Lanes) -> Any:
    return x.low.builder.fcmp_unordered("uno", x.value, x.value)


def _parts(size: Lanes) -> tuple[Lanes, Lanes]:
    """``(m, e)``: the number is the integer ``m`` times ``2^(e - 1075)``."""
    bits = size.bits()
    exponent = bits.integer("lshr", 52)
    is_normal = exponent.compared(">", 0)
    fraction = bits.integer("and_", (1 << 52) - 1)
    whole = fraction.integer("or_", 1 << 52).if_(is_normal, fraction)
    return whole, exponent.if_(is_normal, 1)


def _divided(first: Lanes, divisor: Lanes, bits: Lanes) -> Lanes:
    """``first * 2^bits`` modulo the divisor."""
    builder: Any = first.low.builder
    entry = builder.block
    head, body, done = (builder.append_basic_block(f"fmod_{s}") for s in "hbd")
    builder.branch(head)
    builder.position_at_end(head)
    rest, left = (first.of(builder.phi(first.value.type)) for _ in range(2))
    builder.cbranch(left.compared(">", 0), body, done)
    builder.position_at_end(body)
    step = left.if_(left.compared("<", STEP), STEP)
    following = rest.integer("shl", step)
    following = first.of(builder.urem(following.value, divisor.value))
    fewer = left - step
    builder.branch(head)
    for phi, before, after in ((rest, first, following), (left, bits, fewer)):
        phi.value.add_incoming(before.value, entry)
        phi.value.add_incoming(after.value, body)
    builder.position_at_end(done)
    return rest


THIRD_OF_BIAS = 0x2A9F7893782DA1CE
"""Added to a third of the bits of a float, it gives a root with 5 correct bits."""


def cbrt(x: Lanes) -> Lanes:
    """Two Halley steps from an estimate of a few bits, then one Newton step."""
    a, back = _within(abs(x))
    guess = a.low.builder.udiv(a.bits().value, a.bits().of(3).value)
    y = (a.bits().of(guess) + THIRD_OF_BIAS).as_float()
    for _ in range(2):
        cube = y * y * y
        y = y * ((cube + a * 2.0) / (cube * 2.0 + a))
    square = product_of(y, y)
    cube = product_of(square.high, y)
    rest = (cube.high - a) + (cube.low + square.low * y)
    root = (y - rest / (square.high * 3.0)) * back
    is_end = x.low.builder.or_(x.compared("==", 0.0), abs(x).compared("==", inf))
    return x.if_(is_end, root.llvm("copysign", x)).or_nan(x)


def _within(size: Lanes) -> tuple[Lanes, Lanes]:
    """The size scaled away from the ends of the format, and the factor of its root."""
    is_large, is_small = size.compared(">", 2.0**700), size.compared("<", 2.0**-700)
    factor = size.of(2.0**-600).if_(is_large, size.of(2.0**600).if_(is_small, 1.0))
    back = size.of(2.0**200).if_(is_large, size.of(2.0**-200).if_(is_small, 1.0))
    return size * factor, back


def hypot(x: Lanes, y: Lanes) -> Lanes:
    """``sqrt(x^2 + y^2)`` without overflow; infinite beside a NaN too."""
    a, b = abs(x), abs(y)
    is_wide = a.compared(">", b)
    large, small = a.if_(is_wide, b), b.if_(is_wide, a)
    is_large, is_small = large.compared(">", 2.0**500), large.compared("<", 2.0**-400)
    factor = x.of(2.0**-600).if_(is_large, x.of(2.0**600).if_(is_small, 1.0))
    back = x.of(2.0**600).if_(is_large, x.of(2.0**-600).if_(is_small, 1.0))
    large, small = large * factor, small * factor
    first, second = product_of(large, large), product_of(small, small)
    total = any_sum(first.high, second.high)
    root = root_of(Pair(total.high, total.low + (first.low + second.low)))
    value = (root.high + root.low) * back
    builder = x.low.builder
    is_endless = builder.or_(a.compared("==", inf), b.compared("==", inf))
    is_nan = builder.fcmp_unordered("uno", x.value, y.value)
    return x.of(inf).if_(is_endless, (x + y).if_(is_nan, value))


SPLIT = 0.5
END = 28.0
"""From here on the nearest number to erfc is 0."""


def erfc(x: Lanes) -> Lanes:
    """The complementary error function."""
    one = any_sum(x.of(1.0), -x)
    curve = (x * x).polynomial(ERF_INNER["f64"])
    inner = one.high + x.fma(-curve, one.low)
    size = abs(x)
    inside = size.if_(size.compared("<", END), END)
    square = product_of(inside, inside)
    k, r = reduced(-square.high)
    place = (inside - 4.0) / (inside + 4.0)
    share = place.polynomial(ERFC["f64"]) / inside.fma(2.0, 1.0)
    right = scaled(around_one(r - square.low) * share, k)
    outer = (x.of(2.0) - right).if_(x.compared("<", 0.0), right)
    return inner.if_(size.compared("<", SPLIT), outer).or_nan(x)


TINY = 2.0**-26
"""Below it two terms of a series are enough."""
HUGE = 2.0**300
"""Above it 1 is negligible beside the square."""


def sinh(x: Lanes) -> Lanes:
    """``x + x^3 S(x^2)`` up to 1, ``(e^x - e^-x) / 2`` further out."""
    z = x * x
    near = (x * z).fma(z.polynomial(SINH["f64"]), x)
    half = _half_power(abs(x))
    far = (half - half.of(0.25) / half).llvm("copysign", x)
    return near.if_(abs(x).compared("<", 1.0), far).or_nan(x)


def cosh(x: Lanes) -> Lanes:
    """``(e^x + e^-x) / 2``."""
    half = _half_power(abs(x))
    return (half + half.of(0.25) / half).or_nan(x)


def _half_power(size: Lanes) -> Lanes:
    """``e^x / 2``, which overflows later than ``e^x``."""
    k, r = reduced(clamped(size, 0.0, 712.0))
    return scaled(around_one(r), k - 1.0)


def asinh(x: Lanes) -> Lanes:
    """``log(x + sqrt(x^2 + 1))``."""
    size = abs(x)
    square = product_of(size, size)
    whole = any_sum(square.high, 1.0)
    root = root_of(Pair(whole.high, whole.low + square.low))
    series = (size * (size * size)).fma(-1.0 / 6.0, size)
    value = series.if_(size.compared("<", TINY), _of_sum(size, root))
    return value.llvm("copysign", x).or_nan(x)


def acosh(x: Lanes) -> Lanes:
    """``log(x + sqrt(x^2 - 1))``."""
    square = product_of(x, x)
    rest = any_sum(square.high, -1.0)
    total = sum_of(rest.high, rest.low + square.low)
    value = _of_sum(x, root_of(total))
    return x.of(nan).if_(x.compared("<", 1.0), value).or_nan(x)


def _of_sum(x: Lanes, root: Pair) -> Lanes:
    """``log(x + root)``; for large ``x`` the root equals ``x``."""
    total = any_sum(x, root.high)
    is_large = x.compared(">", HUGE)
    high = x.if_(is_large, total.high)
    low = x.of(0.0).if_(is_large, total.low + root.low)
    value = _logarithm(high, low)
    first, second = LN2["f64"]
    more = sum_of(value.high, x.of(first).if_(is_large, 0.0))
    tail = x.of(second).if_(is_large, 0.0)
    result = more.high + (more.low + (value.low + tail))
    return x.of(inf).if_(x.compared("==", inf), result)


def atanh(x: Lanes) -> Lanes:
    """``(log(1+x) - log(1-x)) / 2``."""
    size = abs(x)
    above, below = any_sum(size, 1.0), any_sum(-size, 1.0)
    left, right = (_logarithm(part.high, part.low) for part in (above, below))
    total = any_sum(left.high, -right.high)
    value = (total.high + (total.low + (left.low - right.low))) * 0.5
    series = (size * (size * size)).fma(1.0 / 3.0, size)
    value = series.if_(size.compared("<", TINY), value)
    value = x.of(inf).if_(size.compared("==", 1.0), value)
    value = x.of(nan).if_(size.compared(">", 1.0), value)
    return value.llvm("copysign", x).or_nan(x)


def _logarithm(high: Lanes, low: Lanes) -> Pair:
    """The logarithm of a positive sum of two floats."""
    value, share = accurate_logarithm(high), low / high
    return Pair(value.high, value.low + share)
