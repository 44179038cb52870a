"""sin and cos of the lanes of a register.

``x = k pi/2 + r`` with ``|r| <= pi/4``; ``k`` picks polynomial and sign (W. J. Cody and
W. Waite, 1980).  float32 reduces in float64; float64 with ``pi/2`` as a sum of three
floats and ``r`` as a sum of two.  Beyond ``LIMIT`` the C library reduces, or more
digits of ``2/pi``.
"""

from __future__ import annotations

from typing import Any

from gpucodegen.intrinsics.vector_math import large_angles
from gpucodegen.intrinsics.vector_math.coefficients import COS, SIN
from gpucodegen.intrinsics.vector_math.lanes import (
    F32,
    Lanes,
    Pair,
    any_sum,
    product_of,
    sum_of,
)
from gpucodegen.intrinsics.vector_math.rare import otherwise

TWO_OVER_PI = 0.6366197723675814
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
LIMIT = 2.0**24


def sin(x: Lanes) -> Lanes:
    """The sine of an angle in radians."""
    quarter, r = reduced(x)
    value = _wave(quarter, r)
    exact = x.if_(abs(x).compared("<", 2.0 ** -(x.format.fraction // 2 + 2)), value)
    return otherwise(exact, is_large(x), "sin", _large_sine, x)


def cos(x: Lanes) -> Lanes:
    """The cosine of an angle in radians."""
    quarter, r = reduced(x)
    return otherwise(_wave(quarter + 1, r), is_large(x), "cos", _large_cosine, x)


def _large_sine(x: Lanes) -> Lanes:
    return _wave(*large_angles.reduced(x))


def _large_cosine(x: Lanes) -> Lanes:
    quarter, r = large_angles.reduced(x)
    return _wave(quarter + 1, r)


def is_large(x: Lanes) -> Any:
    """Where ``x`` is too large for the reduction, infinite or no number."""
    limit = x.of(LIMIT)
    return x.low.builder.fcmp_unordered(">=", abs(x).value, limit.value)


def _wave(quarter: Lanes, r: Pair) -> Lanes:
    """The sine of ``quarter`` right angles and ``r``."""
    is_odd = quarter.integer("and_", 1).compared("!=", 0)
    size = cosine(r).if_(is_odd, sine(r))
    bits = 32 if size.scalar == F32 else 64
    sign = quarter.integer("and_", 2).integer("shl", bits - 2)
    return size.bits().integer("xor", sign).as_float()


def sine(r: Pair) -> Lanes:
    """The sine of a rest."""
    value = sine_parts(r)
    return value.high + value.low


def cosine(r: Pair) -> Lanes:
    """The cosine of a rest."""
    value = cosine_parts(r)
    return value.high + value.low


def sine_parts(r: Pair) -> Pair:
    """``r + r^3 S(r^2)``, and the low part of ``r`` times the derivative."""
    x = r.high
    z = x * x
    curve = z.polynomial(SIN[x.format.name])
    return Pair(x, (x * z).fma(curve, r.low.fma(z * -0.5, r.low)))


def cosine_parts(r: Pair) -> Pair:
    """``1 - r^2/2 + r^4 C(r^2)``; what ``1 - r^2/2`` loses is added last."""
    x = r.high
    z = (x * x).fenced()
    half = z * 0.5
    near = (x.of(1.0) - half).fenced()
    lost = (x.of(1.0) - near).fenced() - half
    tail = (z * z).fma(z.polynomial(COS[x.format.name]), -(x * r.low))
    return Pair(near, lost + tail)


def reduced(x: Lanes) -> tuple[Lanes, Pair]:
    """``(k, r)``: whole right angles as integers, and the rest."""
    return _reduced_single(x) if x.scalar == F32 else _reduced_double(x)


def _reduced_single(x: Lanes) -> tuple[Lanes, Pair]:
    wide = x.wide()
    k = _angles(wide)
    high, low, _ = HALF_PI
    r = k.fma(-low, k.fma(-high, wide))
    near = r.single()
    rest = (r - near.wide()).single()
    quarter = k.single().whole()
    return quarter, Pair(near, rest)


def _reduced_double(x: Lanes) -> tuple[Lanes, Pair]:
    k = _angles(x)
    first, second, third = HALF_PI
    exact = product_of(k, first)
    near = (x - exact.high).fenced()
    middle = product_of(k, second)
    a = any_sum(near, -exact.low)
    b = any_sum(a.high, -middle.high)
    rest = k.fma(-third, a.low + b.low - middle.low)
    return k.whole(), sum_of(b.high, rest)


def _angles(x: Lanes) -> Lanes:
    """The nearest whole number of right angles, and 0 beyond the limit."""
    k = (x * TWO_OVER_PI).llvm("rint")
    return k.if_(abs(x).compared("<", LIMIT), 0.0)
