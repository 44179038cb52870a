"""Reductions of parallel loops and vectors: how they combine and where they start."""

from __future__ import annotations

from math import inf

COMBINERS = {
    "addf": "addf",
    "addi": "addi",
    "mulf": "mulf",
    "muli": "muli",
    "maximumf": "maximumf",
    "minimumf": "minimumf",
    "maxnumf": "maxnumf",
    "minnumf": "minnumf",
    "maxs": "maxsi",
    "mins": "minsi",
    "maxu": "maxui",
    "minu": "minui",
    "andi": "andi",
    "ori": "ori",
    "xori": "xori",
}
"""The intrinsic that combines two values of each kind of reduction."""

_FIXED: dict[str, float] = {
    "mulf": 1,
    "muli": 1,
    "maximumf": -inf,
    "minimumf": inf,
    "maxnumf": -inf,
    "minnumf": inf,
    "minu": -1,
    "andi": -1,
}


def identity(kind: str, dtype: str) -> float:
    """The value that a reduction of a kind leaves unchanged.

    >>> identity("addf", "f32"), identity("maxs", "i8"), identity("mins", "i8")
    (0, -128, 127)
    """
    if kind in {"maxs", "mins"}:
        width = 32 if dtype == "index" else int(dtype[1:])
        lowest = -(1 << (width - 1))
        return lowest if kind == "maxs" else -1 - lowest
    return _FIXED.get(kind, 0)
