"""Integer arithmetic and bit operations as PTX defines them, over NumPy values."""

from __future__ import annotations

import numpy as np

from gpucodegen.ptx.numerics.select import select
from gpucodegen.ptx.types import Value

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_ONE = np.uint64(1)


def high_product(a: Value, b: Value) -> Value:
    """The upper half of the product of two words.

    >>> int(high_product(np.uint64(2**63), np.uint64(6)))
    3
    """
    if a.dtype.itemsize < 8:
        bits = 8 * a.dtype.itemsize
        wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
        product = a.astype(wide) * b.astype(wide)
        return (product >> wide.type(bits)).astype(a.dtype)
    u, v = a.view("u8"), b.view("u8")
    low_low, low_high = (u & _LOW) * (v & _LOW), (u & _LOW) * (v >> _HALF)
    high_low, high_high = (u >> _HALF) * (v & _LOW), (u >> _HALF) * (v >> _HALF)
    middle = (low_low >> _HALF) + (low_high & _LOW) + (high_low & _LOW)
    high = high_high + (low_high >> _HALF) + (high_low >> _HALF) + (middle >> _HALF)
    if a.dtype.kind == "i":
        none = np.uint64(0)
        high = high - select(a < 0, v, none) - select(b < 0, u, none)
    return high.view(a.dtype)


def product24(a: Value, b: Value, drop: int) -> Value:
    """A word of the product of the lowest 24 bits of two words, but for some bits.

    >>> int(product24(np.int32(-3), np.int32(5), 0))
    -15
    """
    place = a.dtype.type(8)
    wide = np.dtype(f"{a.dtype.kind}8")
    left, right = (((x << place) >> place).astype(wide) for x in (a, b))
    return (left * right >> wide.type(drop)).astype(a.dtype)


def quotient(a: Value, b: Value) -> Value:
    """Division towards zero; by zero it gives all ones, as the hardware does.

    >>> [int(quotient(np.int32(-7), np.int32(b))) for b in (2, 0)]
    [-3, -1]
    """
    zero = b == 0
    divisor = select(zero, b.dtype.type(1), b)
    found = np.floor_divide(a, divisor)
    inexact = a - found * divisor != 0
    short = inexact & ((a < 0) != (divisor < 0))
    return select(zero, ~a.dtype.type(0), found + short.astype(a.dtype))


def remainder(a: Value, b: Value) -> Value:
    """What a division towards zero leaves; all of it where the divisor is zero."""
    zero = b == 0
    return select(zero, a, np.fmod(a, select(zero, b.dtype.type(1), b)))


def left_shift(a: Value, count: Value) -> Value:
    """Shift by an unsigned count; large ones shift everything out.

    >>> int(left_shift(np.int32(3), np.uint32(40)))
    0
    """
    return np.left_shift(a, np.minimum(count, 8 * a.dtype.itemsize).astype(a.dtype))


def right_shift(a: Value, count: Value) -> Value:
    """Shift by an unsigned count; the sign, if the type has one, moves in."""
    return np.right_shift(a, np.minimum(count, 8 * a.dtype.itemsize).astype(a.dtype))


def add_carry(a: Value, b: Value, carry: Value) -> tuple[Value, Value]:
    """An unsigned sum, and whether it left the word.

    >>> with np.errstate(over="ignore"):
    ...     [int(v) for v in add_carry(np.uint32(2**32 - 1), np.uint32(0), np.True_)]
    [0, 1]
    """
    first = a + b
    total = first + carry.astype(a.dtype)
    return total, (first < a) | (total < first)


def sub_borrow(a: Value, b: Value, borrow: Value) -> tuple[Value, Value]:
    """An unsigned difference, and whether it fell below zero."""
    first = a - b
    total = first - borrow.astype(a.dtype)
    return total, (a < b) | (first < total)


def wrapped(x: Value, kind: str) -> Value:
    """An integer in another type, modulo its width."""
    return x.astype(kind)


def clamped(x: Value, kind: str) -> Value:
    """An integer in another type, the nearest value it has.

    >>> clamped(np.int32([-5, 300]), "u1").tolist()
    [0, 255]
    """
    have, want = np.iinfo(x.dtype), np.iinfo(kind)
    low, high = max(have.min, want.min), min(have.max, want.max)
    return np.clip(x, x.dtype.type(low), x.dtype.type(high)).astype(kind)
