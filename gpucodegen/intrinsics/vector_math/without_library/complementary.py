"""erfc in float64: ``1 - erf`` near zero, ``e^(-x^2) Q / (1 + 2x)`` further out.

``Q`` is a polynomial in ``(x - 4) / (x + 4)``, which brings all of ``x`` into an
interval (M. M. Shepherd and J. G. Laframboise, Chebyshev approximation of
(1 + 2x) exp(x^2) erfc x, 1981).
"""

from __future__ import annotations

from gpucodegen.intrinsics.vector_math.coefficients import ERF_INNER, ERFC
from gpucodegen.intrinsics.vector_math.exponential import around_one, reduced
from gpucodegen.intrinsics.vector_math.lanes import Lanes, any_sum, product_of
from gpucodegen.intrinsics.vector_math.scaling import scaled

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
