"""log, log2, log10 and log1p of the lanes of a register.

``x = 2^k (1 + f)`` with ``sqrt(1/2) <= 1 + f < sqrt(2)`` and, for ``s = f/(2+f)``,
``log(1+f) = f - f^2/2 + s (f^2/2 + s^2 P(s^2))`` (K. C. Ng, FDLIBM, 1993).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan

from gpucodegen.intrinsics.vector_math.coefficients import LOG
from gpucodegen.intrinsics.vector_math.exponential import LN2
from gpucodegen.intrinsics.vector_math.lanes import Lanes, Pair, product_of, sum_of

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
    """``log(1 + x)``; what ``1 + x`` loses comes back as ``c / (1 + x)``."""
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
    """The logarithm at zero, at infinity and where there is none."""
    finite = x.if_(x.compared("==", inf), inside)
    positive = finite.if_(x.compared(">", 0.0), nan)
    return x.of(-inf).if_(x.compared("==", 0.0), positive)
