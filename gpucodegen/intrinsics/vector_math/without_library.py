"""Functions that CUDA needs beside the vector formulas, since it has no C library.

The CPU takes `hypot`, which is faster than its library's.  float32 is computed in
float64 and rounded once; `library_formulas` has the formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from gpucodegen.intrinsics.vector_math import library_formulas
from gpucodegen.intrinsics.vector_math.lanes import F32, Lanes
from gpucodegen.intrinsics.vector_math.library_formulas import erfc

Formula = Callable[..., Lanes]


def _in_float64(formula: Formula) -> Formula:
    """The formula for float64, and its result rounded for float32."""

    def both(*arguments: Lanes) -> Lanes:
        if arguments[0].scalar != F32:
            return formula(*arguments)
        return formula(*(x.wide() for x in arguments)).single()

    return both


def hypot(x: Lanes, y: Lanes) -> Lanes:
    """``sqrt(x^2 + y^2)``; the squares of float32 fit float64, exactly."""
    if x.scalar != F32:
        return library_formulas.hypot(x, y)
    a, b = x.wide(), y.wide()
    size = a.fma(a, b * b).llvm("sqrt").single()
    ends = abs(x).compared("==", inf), abs(y).compared("==", inf)
    return x.of(inf).if_(x.low.builder.or_(*ends), size)


FORMULAS: dict[str, Formula] = {
    name: _in_float64(formula)
    for name, formula in {
        "tan": library_formulas.tan,
        "asin": library_formulas.asin,
        "acos": library_formulas.acos,
        "atan": library_formulas.atan,
        "atan2": library_formulas.atan2,
        "sinh": library_formulas.sinh,
        "cosh": library_formulas.cosh,
        "asinh": library_formulas.asinh,
        "acosh": library_formulas.acosh,
        "atanh": library_formulas.atanh,
        "erfc": erfc,
        "cbrt": library_formulas.cbrt,
        "fmod": library_formulas.fmod,
    }.items()
} | {"hypot": hypot}
