"""Numbers of Python as numbers of a float format of MLIR."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

from gpucodegen.ir.data.float_formats import FORMATS, of_bits, to_bits


def rounded(value: float, name: str) -> float:
    """The nearest number of a format, ties to even.

    >>> rounded(0.1, "bf16"), rounded(1e9, "f16")
    (0.10009765625, inf)
    """
    if name == "f64":
        return value
    if name == "f32":
        try:
            return _SINGLE.unpack(_SINGLE.pack(value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)
    return of_bits(to_bits(float(value), name), name)


_SINGLE = struct.Struct("<f")


def nearest(value: Fraction, name: str) -> float:
    """The nearest number of a format to an exact value.

    >>> nearest(Fraction(1, 3), "f16")
    0.333251953125
    """
    return of_bits(FORMATS[name].encode(value), name)


def fma(a: float, b: float, c: float, name: str) -> float:
    """``a * b + c`` with one rounding.

    >>> fma(1.0 + 2.0**-23, 1.0 - 2.0**-23, -1.0, "f32") == -(2.0**-46)
    True
    """
    if not all(map(math.isfinite, (a, b, c))):
        return rounded(a * b + c, name)
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    return nearest(exact, name) if exact else rounded(a * b + c, name)
