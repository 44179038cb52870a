"""Floats of 16 bits and less in the emulator: tables and exact fractions.

The rounding of small floats searches the numbers halfway between neighbours, so it
shares nothing but the description of the formats with the code for the compilers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from gpucodegen.intrinsics.scalars.single_bits import single_bits
from gpucodegen.intrinsics.sim.twins import Twin
from gpucodegen.ir.data.float_formats import FORMATS, SMALL, decode_table


@cache
def _values(name: str) -> np.ndarray:
    """Every code of a small float as float32."""
    return np.array(single_bits(name), np.uint32).view(np.float32)


@cache
def _steps(name: str) -> np.ndarray:
    """The least float64 that rounds to the code after c, for every magnitude c.

    That is the middle above c, or the next number where the tie goes to c itself.
    """
    format_ = FORMATS[name]
    steps: list[float] = []
    for code, value in enumerate(decode_table(name)[: format_.largest + 1]):
        exponent = max(math.frexp(value)[1] - 1, format_.low) if value else format_.low
        middle = value + math.ldexp(0.5, exponent - format_.fraction)
        goes_up = format_.encode(middle) > code
        steps.append(middle if goes_up else math.nextafter(middle, math.inf))
    return np.array(steps)


def _encoded(array: np.ndarray, name: str) -> np.ndarray:
    format_ = FORMATS[name]
    magnitudes = np.searchsorted(_steps(name), np.abs(array).astype(float), "right")
    codes = np.where(magnitudes > format_.largest, format_.beyond, magnitudes)
    signed = np.signbit(array) & format_.is_signed
    if format_.special == "fnuz":
        signed &= (codes > 0) & (codes <= format_.largest)
    codes |= signed.astype(int) << (format_.width - 1)
    return np.where(np.isnan(array), _nan_codes(array, name), codes).astype(np.uint8)


def _nan_codes(array: np.ndarray, name: str) -> np.ndarray:
    """Codes of NaNs: the upper bits of their fraction, quiet if none is left."""
    format_ = FORMATS[name]
    only = format_.largest if format_.nan is None else format_.nan
    has_sign = format_.infinity is not None or format_.special == "fn"
    sign = (np.signbit(array) & has_sign).astype(int) << (format_.width - 1)
    if format_.infinity is None:
        return sign | only
    bits = array.astype(np.float32).view(np.uint32).astype(int)
    fraction = (bits & 0x7FFFFF) >> (23 - format_.fraction)
    kept = np.where(fraction, fraction | format_.infinity, only)
    return sign | kept


def to_bits(value: Any, name: str) -> Any:
    """Numbers as they are stored in a narrow type: rounded once, ties to even."""
    array = np.asarray(value)
    array = array if array.dtype.kind == "f" else array.astype(np.float32)
    if name in SMALL:
        return _encoded(array, name)
    if name == "f16":
        return array.astype(np.float16)
    bits = _to_odd(array).view(np.uint32)
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1)).astype(np.uint32)) >> 16
    quiet = (bits >> 16) | 0x40
    return np.where(np.isnan(array), quiet, rounded).astype(np.uint16)


def _to_odd(array: np.ndarray) -> np.ndarray:
    """float32 with the last bit set where float64 held more."""
    near = array.astype(np.float32)
    bits, error = near.view(np.int32), array - near
    step = np.where((error > 0) == (bits >= 0), 1, -1)
    moves = (error != 0) & ~np.isnan(error) & (bits & 1 == 0)
    return np.where(moves, bits + step, bits).astype(np.int32).view(np.float32)


def from_bits(bits: Any, name: str) -> Any:
    """Stored numbers of a narrow type as float32."""
    array = np.asarray(bits)
    if name in SMALL:
        codes = array.view(np.uint8) & ((1 << FORMATS[name].width) - 1)
        return _values(name)[codes][()]
    if name == "f16":
        return array.view(np.float16).astype(np.float32)[()]
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)[()]


def rounded(value: Any, name: str) -> Any:
    """The nearest number of a narrow type, as float32."""
    return from_bits(to_bits(value, name), name)


def of_integer(value: int, name: str) -> Any:
    """The nearest number of a narrow type to an integer of any size."""
    return _of_fraction(Fraction(value), name)


def _of_fraction(value: Fraction, name: str) -> Any:
    code = FORMATS[name].encode(value)
    return from_bits(np.asarray(code, np.uint8 if name in SMALL else np.uint16), name)


def bits_of(name: str) -> Twin:
    """``bits_of(x)``."""
    integer = np.int8 if name in SMALL else np.int16
    return lambda x: to_bits(x, name).view(integer)[()]


def from_code(name: str) -> Twin:
    """``from_bits(i)``."""
    return lambda i: from_bits(i, name)


def round_to(name: str) -> Twin:
    """``round_to(x)``."""
    return lambda x: rounded(x, name)


def fused(name: str) -> Twin:
    """``fused(a, b, c)``: exact in fractions."""

    def one(a: Any, b: Any, c: Any) -> Any:
        if not np.isfinite([a, b, c]).all():
            return rounded(a * b + c, name)
        total = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        return _of_fraction(total, name) if total else rounded(a * b + c, name)

    each = np.vectorize(one, otypes=[np.float32])
    return lambda *args: each(*args)[()]
