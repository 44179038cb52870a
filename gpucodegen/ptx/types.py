"""PTX types and the NumPy types that represent them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

WARP = 32
"""Lanes of a warp."""
Array = npt.NDArray[Any]
Value = Any
"""A register: an array over lanes, or one NumPy scalar while all lanes agree."""
Mask = Array | None
"""Lanes that take part; None: all."""
Chosen = Mask | Literal[False]
"""Lanes of which there may be none, which False says."""

DTYPES: dict[str, str] = (
    {
        "pred": "?",
        "f16": "f2",
        "bf16": "i2",
        "f32": "f4",
        "f64": "f8",
        "f16x2": "i4",
        "bf16x2": "i4",
        "tf32": "i4",
        "s16x2": "i4",
        "u16x2": "i4",
        "f32x2": "i8",
        "e2m1x2": "i1",
        "b128": "c16",
    }
    | {
        f"{sign}{8 * size}": f"{kind}{size}"
        for sign, kind in (("u", "u"), ("s", "i"), ("b", "i"))
        for size in (1, 2, 4, 8)
    }
    | dict.fromkeys(("e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2"), "i2")
)
"""PTX type -> NumPy type in which an instruction computes with it."""

FLOATS = frozenset(("f16", "bf16", "f32", "f64"))

POISON = 0xCB
"""Each byte of memory and of registers that were never written."""
_WORDS = {1: "i2", 2: "i2", 4: "i4", 8: "i8", 16: "c16"}


def dtype(name: str) -> np.dtype[Any]:
    """The NumPy type of a PTX type; `KeyError` for others."""
    return np.dtype(DTYPES[name])


def storage(name: str) -> str:
    """The NumPy type in which a register of a declared type is kept.

    Only declared ``.f32`` and ``.f64`` and predicates keep their own; all others are
    signed words of their width, and instructions reinterpret them.

    >>> storage("f32"), storage("u32"), storage("b8"), storage("f16")
    ('f4', 'i4', 'i2', 'i2')
    """
    if name in ("pred", "f32", "f64"):
        return DTYPES[name]
    return _WORDS[dtype(name).itemsize]


def garbage(kind: str) -> Any:
    """The contents of an unwritten register of such a type.

    >>> garbage("i2"), garbage("?")
    (np.int16(-13365), np.True_)
    """
    return np.frombuffer(bytes([POISON] * 16), kind)[0]


def align(offset: int, alignment: int) -> int:
    """The next multiple of an alignment.

    >>> align(5, 4)
    8
    """
    return -(-offset // alignment) * alignment
