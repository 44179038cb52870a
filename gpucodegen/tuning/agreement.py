"""Whether a schedule leaves the numbers that the default one does."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from gpucodegen.checking import PLACES


def difference(found: Sequence[Any], expected: Sequence[Any]) -> str:
    """Where the first values differ that are not equal; "" where all agree.

    Integers must be equal.  Floats may differ by `PLACES` units in the last place of
    the largest number of their array, as a schedule may reorder sums.

    >>> ones = np.ones(3, "f4")
    >>> difference([ones + 1e-6], [ones]), difference([ones, 2], [ones, 3])
    ('', 'value 1 is 2, not 3')
    >>> difference([np.array([1, 7])], [np.array([1, 2])])
    'value 0 is 7 at [1], not 2'
    """
    for n, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        a, b = np.asarray(ours), np.asarray(theirs)
        apart = np.argwhere(_apart(a, b))
        if len(apart):
            index = tuple(map(int, apart[0]))
            where = f" at {list(index)}" if index else ""
            return f"value {n} is {a[index]}{where}, not {b[index]}"
    return ""


def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Which numbers are too far from one another."""
    unit = _unit(b.dtype)
    if not unit:
        return a != b
    wide = np.complex128 if b.dtype.kind == "c" else np.float64
    x, y = a.astype(wide), b.astype(wide)
    finite = np.abs(y[np.isfinite(y)])
    bound = PLACES * unit * (finite.max() if finite.size else 0.0)
    with np.errstate(invalid="ignore"):
        near = np.abs(x - y) <= bound
    return ~(near | (x == y) | (np.isnan(x) & np.isnan(y)))


def _unit(dtype: np.dtype[Any]) -> float:
    """One unit in the last place of one; zero of integers.

    >>> _unit(np.dtype("i4")), _unit(np.dtype("c8")) == 2.0**-23
    (0.0, True)
    """
    if dtype.kind in "fc":
        return float(np.finfo(dtype).eps)
    if dtype.kind != "V" or not dtype.name.startswith(("bfloat", "float")):
        return 0.0
    return float(import_module("ml_dtypes").finfo(dtype).eps)
