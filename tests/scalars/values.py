"""Scalar types of MLIR in tests: their numbers, how NumPy holds them, their corners.

A number is a Python ``int``, ``float`` or ``complex``; an integer is signed, so the
``i1`` that is true is -1.  A result is brought to its type with `within`.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from gpucodegen.ir.number_formats import FORMATS, NARROW, of_bits, to_bits

Number = int | float | complex
FLOATS = ("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2")
INTEGERS = ("i1", "i8", "i16", "i32", "i64", "index")
ODD = ("i3", "i4", "i7", "i24", "i48", "i63")
"""Widths that no processor has."""
COMPLEXES = ("complex<f32>", "complex<f64>")


def bits(ty: str) -> int:
    """The width of an integer type."""
    return 64 if ty == "index" else int(ty[1:])


def is_integer(ty: str) -> bool:
    return ty == "index" or ty[0] == "i"


def signed(value: int, width: int) -> int:
    """The number that the lowest bits stand for.

    >>> signed(7, 3), signed(1, 1)
    (-1, -1)
    """
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def unsigned(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def within(value: Any, ty: str) -> Number:
    """A number as a value of a type: wrapped around or rounded."""
    if is_integer(ty):
        return signed(int(value), bits(ty))
    if ty.startswith("complex"):
        return complex(storage(ty).type(value))
    with np.errstate(all="ignore"):
        if ty in NARROW:
            return of_bits(to_bits(float(value), ty), ty)
        return float(storage(ty).type(value))


def storage(ty: str) -> np.dtype[Any]:
    """The element type of arrays."""
    known = {"i1": "bool", "index": "i8", "f64": "f8", "f32": "f4", "f16": "f2"}
    known |= {"bf16": "u2", "complex<f32>": "c8", "complex<f64>": "c16"}
    if ty in known:
        return np.dtype(known[ty])
    if ty in FORMATS:
        return np.dtype("u1")
    return np.dtype(f"i{next(n for n in (1, 2, 4, 8) if 8 * n >= bits(ty))}")


def stored(values: list[Number], ty: str) -> np.ndarray[Any, Any]:
    """An array that holds the numbers."""
    if ty == "i1":
        return np.array([bool(v) for v in values])
    if ty == "bf16" or storage(ty) == np.dtype("u1"):
        return np.array([to_bits(float(v.real), ty) for v in values], storage(ty))
    with np.errstate(all="ignore"):
        return np.array(values, storage(ty))


def loaded(values: Any, ty: str) -> list[Number]:
    """The numbers that an array holds."""
    if ty == "i1":
        return [-int(bool(v)) for v in values]
    if storage(ty).kind == "u":
        return [of_bits(int(v), ty) for v in values]
    return [v.item() for v in values]


def passed(value: Number, ty: str) -> Any:
    """A number as an argument of a function."""
    return bool(value) if ty == "i1" else value


def returned(value: Any, ty: str) -> Number:
    """A number that a function gave back."""
    return -int(bool(value)) if ty == "i1" else value


def corners(ty: str) -> list[Number]:
    """Numbers at which operations go wrong."""
    if is_integer(ty):
        width = bits(ty)
        lowest = -(1 << (width - 1))
        wanted = [lowest, lowest + 1, -7, -2, -1, 0, 1, 2, 3, 7, width - 1, ~lowest]
        if width > 40:
            wanted += [(1 << 32) + 5, -(1 << 33) - 1, 1 << 31]
        draw = random.Random(ty)
        wanted += [signed(draw.getrandbits(width), width) for _ in range(4)]
        return list(dict.fromkeys(v for v in wanted if lowest <= v <= ~lowest))
    if ty.startswith("complex"):
        parts = (0.0, -0.5, 1.5, -3.0)
        return [complex(x, y) for x in parts for y in parts]
    wanted = [0.0, -0.0, 0.5, -0.5, 1.0, -1.5, 2.5, 3.5, -7.25, 1e-7, 440.0, 1e30]
    wanted += [-1e30, math.inf, -math.inf, math.nan]
    return list({repr(v): v for v in (within(x, ty) for x in wanted)}.values())


def same(got: Number, want: Number, tolerance: float = 0.0) -> bool:
    """Whether two numbers are the same one, the sign of zero included."""
    if isinstance(want, complex):
        return abs(got - want) <= tolerance * abs(want)
    if isinstance(want, int):
        return got == want
    if math.isnan(want):
        return math.isnan(got)
    if tolerance and math.isfinite(want):
        return abs(got - want) <= tolerance * max(abs(want), 1e-3)
    return got == want and math.copysign(1, got) == math.copysign(1, want)
