"""Whether a schedule leaves the numbers that the default one does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpucodegen.checking import PLACES
from gpucodegen.interp.values import numbers
from gpucodegen.ir.number_formats import FORMATS
from gpucodegen.ir.types import ComplexType, FloatType, Type, element_type
from gpucodegen.tuning.measuring.arguments import on_host

SAMPLE = 1 << 14
"""Numbers of an array that are decoded one by one."""
MOST, LEAST = 1 / 16, 4
"""Share of the largest number by which narrow floats may differ, but for so many
places."""


def difference(
    found: Sequence[Any], expected: Sequence[Any], types: Sequence[Type]
) -> str:
    """Where the first values differ that are not equal; "" where all agree.

    Integers must be equal.  Floats may differ by `PLACES` units in the last place of
    the largest number of their array, as a schedule may reorder sums.  Of floats whose
    codes NumPy takes for integers, `SAMPLE` numbers of an array are compared.

    >>> from gpucodegen.ir.types import F32, I32
    >>> ones = np.ones(3, "f4")
    >>> difference([ones + 1e-6], [ones], [F32])
    ''
    >>> difference([ones, 2], [ones, 3], [F32, I32])
    'value 1 is 2, not 3'
    >>> difference([np.array([1, 7])], [np.array([1, 2])], [I32])
    'value 0 is 7 at [1], not 2'
    """
    values = zip(found, expected, types, strict=True)
    for n, (ours, theirs, ty) in enumerate(values):
        a, b = _numbers(ours, ty), _numbers(theirs, ty)
        apart = np.argwhere(_apart(a, b, ty))
        if len(apart):
            index = tuple(map(int, apart[0]))
            where = f" at {list(index)}" if index else ""
            return f"value {n} is {a[index]}{where}, not {b[index]}"
    return ""


def _numbers(value: Any, ty: Type) -> np.ndarray:
    """An array as NumPy computes with it."""
    array, element = np.asarray(on_host(value)), element_type(ty)
    if array.dtype.kind != "u" or not isinstance(element, FloatType):
        return array
    codes = array.reshape(-1)[:: max(1, array.size // SAMPLE)]
    return np.array(numbers(codes, element))


def _apart(a: np.ndarray, b: np.ndarray, ty: Type) -> np.ndarray:
    """Which numbers are too far from one another."""
    unit = _unit(ty)
    if not unit:
        return a != b
    wide = np.complex128 if b.dtype.kind == "c" else np.float64
    x, y = a.astype(wide), b.astype(wide)
    finite = np.abs(y[np.isfinite(y)])
    share = max(min(PLACES * unit, MOST), LEAST * unit)
    bound = share * (finite.max() if finite.size else 0.0)
    with np.errstate(invalid="ignore"):
        near = np.abs(x - y) <= bound
    return ~(near | (x == y) | (np.isnan(x) & np.isnan(y)))


def _unit(ty: Type) -> float:
    """One unit in the last place of one; zero of integers.

    >>> from gpucodegen.ir.types import BF16, I32
    >>> _unit(I32), _unit(BF16) == 2.0**-7
    (0.0, True)
    """
    element = element_type(ty)
    element = element.element if isinstance(element, ComplexType) else element
    if not isinstance(element, FloatType):
        return 0.0
    return math.ldexp(1.0, 1 - FORMATS[element.name].precision)
