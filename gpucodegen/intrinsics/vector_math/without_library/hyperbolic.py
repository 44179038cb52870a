"""sinh, cosh and their inverses, in float64.

The inverses are logarithms of sums of two floats, which are exact where 1 is near.
"""

from __future__ import annotations

from math import inf, nan

from gpucodegen.intrinsics.vector_math.coefficients import SINH
from gpucodegen.intrinsics.vector_math.exponential import (
    LN2,
    around_one,
    clamped,
    reduced,
)
from gpucodegen.intrinsics.vector_math.lanes import (
    Lanes,
    Pair,
    any_sum,
    product_of,
    root_of,
    sum_of,
)
from gpucodegen.intrinsics.vector_math.power import accurate_logarithm
from gpucodegen.intrinsics.vector_math.scaling import scaled

TINY = 2.0**-26
"""Below it two terms of a series are enough."""
HUGE = 2.0**300
"""Above it 1 beside the square is nothing."""


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
    """``e^x / 2``, which is finite a little longer than ``e^x``."""
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
    """``log(x + root)``, of which a large ``x`` is the half."""
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
