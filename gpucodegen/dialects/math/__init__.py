"""The math dialect: elementary functions.

The tables group the functions of floats by their operands, and by the work a processor
does for each number. Emission and vectorization both read them, so that each function
is listed once.
"""

from __future__ import annotations

from collections.abc import Mapping

INSTRUCTIONS = {
    "operand": "absf ceil floor roundeven rsqrt sqrt trunc",
    "lhs rhs": "copysign",
    "a b c": "fma",
}
"""Functions of a few instructions, on vectors too."""
POLYNOMIALS = {
    "operand": "cos erf exp exp2 expm1 log log10 log1p log2 sin tanh",
    "lhs rhs": "powf",
}
"""Functions evaluated by a polynomial, on vectors too."""
LIBRARY = {
    "operand": "acos acosh asin asinh atan atanh cbrt cosh erfc round sinh tan",
    "lhs rhs": "atan2",
}
"""Functions that call the math library for each number."""


def names(functions: Mapping[str, str]) -> frozenset[str]:
    """The operations of a table.

    >>> sorted(names({"operand": "sin cos", "a b c": "fma"}))
    ['math.cos', 'math.fma', 'math.sin']
    """
    return frozenset(
        f"math.{name}" for row in functions.values() for name in row.split()
    )
