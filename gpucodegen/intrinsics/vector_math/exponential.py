"""exp, exp2, expm1 and tanh of the lanes of a register.

``x = k log(2) + r`` with a whole ``k`` and ``|r| <= log(2)/2``, where log(2) is a sum
of two floats (W. J. Cody and W. Waite, Software Manual for the Elementary Functions,
1980); ``exp(r) = 1 + r + r^2 P(r)``; the result is scaled by ``2^k``.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.intrinsics.vector_math.coefficients import EXP, TANH
from gpucodegen.intrinsics.vector_math.lanes import Lanes
from gpucodegen.intrinsics.vector_math.scaling import power_of_two, scaled

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
    """``x`` between two numbers; a NaN stays."""
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
