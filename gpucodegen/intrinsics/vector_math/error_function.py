"""erf of the lanes of a register.

``x + x P(x^2)`` near zero; further out ``1 - exp(-Q(u))`` with ``Q = -log(erfc)`` as a
polynomial in the distance ``u`` from where the parts meet.
"""

from __future__ import annotations

from gpucodegen.intrinsics.vector_math.coefficients import ERF_INNER, ERF_OUTER
from gpucodegen.intrinsics.vector_math.exponential import around_one, reduced
from gpucodegen.intrinsics.vector_math.lanes import Lanes
from gpucodegen.intrinsics.vector_math.scaling import power_of_two

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
