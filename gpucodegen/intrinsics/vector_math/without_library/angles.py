"""tan, and the angles of sines, cosines and tangents, in float64.

Sums of two floats hold what a quotient or a root loses.
"""

from __future__ import annotations

from math import inf
from typing import Any

from gpucodegen.intrinsics.vector_math import large_angles, trigonometric
from gpucodegen.intrinsics.vector_math.coefficients import ASIN, ATAN
from gpucodegen.intrinsics.vector_math.lanes import (
    Lanes,
    Pair,
    any_sum,
    quotient_of,
    root_of,
    sum_of,
)
from gpucodegen.intrinsics.vector_math.rare import otherwise

HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
TAN_OF_EIGHTH = 0.4142135623730950


def tan(x: Lanes) -> Lanes:
    """The tangent of an angle in radians."""
    value = _tangent(*trigonometric.reduced(x))
    exact = x.if_(abs(x).compared("<", 2.0**-28), value)
    is_large = trigonometric.is_large(x)
    return otherwise(exact, is_large, "tan", _large_tangent, x)


def _large_tangent(x: Lanes) -> Lanes:
    return _tangent(*large_angles.reduced(x))


def _tangent(quarter: Lanes, r: Pair) -> Lanes:
    """Sine by cosine, or minus cosine by sine."""
    sine, cosine = trigonometric.sine_parts(r), trigonometric.cosine_parts(r)
    is_odd = quarter.integer("and_", 1).compared("!=", 0)
    minus = Pair(-cosine.high, -cosine.low)
    value = quotient_of(_chosen(is_odd, minus, sine), _chosen(is_odd, sine, cosine))
    return value.high + value.low


def _chosen(condition: Any, yes: Pair, no: Pair) -> Pair:
    chosen = Pair(yes.high.if_(condition, no.high), yes.low.if_(condition, no.low))
    return sum_of(chosen.high, chosen.low)


def asin(x: Lanes) -> Lanes:
    """Up to 1/2 a polynomial; beyond, ``pi/2`` without twice that of a root."""
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
    """The angle of a slope."""
    return atan2(x, x.of(1.0))


def atan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle of a point: of the smaller side by the larger one, then turned.

    Slopes above the tangent of pi/8 are those of ``(n-d) / (n+d)`` and pi/4.
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
    """A slope's sides, without an infinity and away from the ends of the format."""
    is_endless = d.compared("==", inf)
    both = n.of(1.0).if_(n.compared("==", inf), 0.0)
    n, d = both.if_(is_endless, n), d.of(1.0).if_(is_endless, d)
    d = d.of(1.0).if_(d.compared("==", 0.0), d)
    factor = n.of(2.0**-120).if_(d.compared(">", 2.0**900), 1.0)
    factor = n.of(2.0**120).if_(d.compared("<", 2.0**-900), factor)
    return n * factor, d * factor
