"""Cube roots, and lengths of two sides, in float64."""

from __future__ import annotations

from math import inf

from gpucodegen.intrinsics.vector_math.lanes import (
    Lanes,
    Pair,
    any_sum,
    product_of,
    root_of,
)

THIRD_OF_BIAS = 0x2A9F7893782DA1CE
"""What added to a third of the bits gives a root with 5 bits."""


def cbrt(x: Lanes) -> Lanes:
    """Two steps of Halley's for a root of some bits, one of Newton's for the rest."""
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
    """The size away from the ends of the format, and what its root then misses."""
    is_large, is_small = size.compared(">", 2.0**700), size.compared("<", 2.0**-700)
    factor = size.of(2.0**-600).if_(is_large, size.of(2.0**600).if_(is_small, 1.0))
    back = size.of(2.0**200).if_(is_large, size.of(2.0**-200).if_(is_small, 1.0))
    return size * factor, back


def hypot(x: Lanes, y: Lanes) -> Lanes:
    """``sqrt(x^2 + y^2)`` without overflow on the way; infinite beside a NaN too."""
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
