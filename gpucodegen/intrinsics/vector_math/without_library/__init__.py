"""What machines without a C library need beside the formulas of vectors.

float32 computes in float64 and is rounded once.

- `angles`: tan, asin, acos, atan, atan2
- `hyperbolic`: sinh, cosh, asinh, acosh, atanh
- `complementary`: erfc
- `lengths`: cbrt, hypot
- `remainder`: fmod
"""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.intrinsics.vector_math.lanes import F32, Lanes
from gpucodegen.intrinsics.vector_math.without_library import (
    angles,
    hyperbolic,
    lengths,
    remainder,
)
from gpucodegen.intrinsics.vector_math.without_library.complementary import erfc

Formula = Callable[..., Lanes]


def _in_float64(formula: Formula) -> Formula:
    """The formula for float64, and its result rounded for float32."""

    def both(*arguments: Lanes) -> Lanes:
        if arguments[0].scalar != F32:
            return formula(*arguments)
        return formula(*(x.wide() for x in arguments)).single()

    return both


FORMULAS: dict[str, Formula] = {
    name: _in_float64(formula)
    for name, formula in {
        "tan": angles.tan,
        "asin": angles.asin,
        "acos": angles.acos,
        "atan": angles.atan,
        "atan2": angles.atan2,
        "sinh": hyperbolic.sinh,
        "cosh": hyperbolic.cosh,
        "asinh": hyperbolic.asinh,
        "acosh": hyperbolic.acosh,
        "atanh": hyperbolic.atanh,
        "erfc": erfc,
        "cbrt": lengths.cbrt,
        "hypot": lengths.hypot,
        "fmod": remainder.fmod,
    }.items()
}
