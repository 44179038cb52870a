"""Words made of narrower ones, and arithmetic on these, over NumPy values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpucodegen.ptx.types import Value


def byte_products(a: Value, b: Value, c: Value) -> Value:
    """``c`` and the products of the four bytes of two words, of the words' signs.

    >>> int(byte_products(np.int32(0x02FF), np.uint32(0x03FF), np.int32(1)))
    -248
    """
    total = c
    for place in (24, 16, 8, 0):
        left, right = ((x << x.dtype.type(place)) >> x.dtype.type(24) for x in (a, b))
        total = total + left.astype(c.dtype) * right.astype(c.dtype)
    return total


def packed(kind: str, *parts: Value) -> Value:
    """A word made of narrower ones, the first lowest; of 128 bits: two of 64.

    >>> hex(packed("i4", np.int16(1), np.int16(2)))
    '0x20001'
    """
    whole = np.dtype(kind)
    if whole.kind == "c":
        pair = np.stack(np.broadcast_arrays(*parts), -1)
        return pair.view(whole)[..., 0]
    bits = 8 * whole.itemsize // len(parts)
    word = np.dtype(f"u{whole.itemsize}")
    result = word.type(0)
    for i, part in enumerate(parts):
        narrow = part.view(f"u{bits // 8}").astype(word)
        result = result | (narrow << word.type(i * bits))
    return result.view(whole)


def unpacked(whole: Value, count: int) -> tuple[Value, ...]:
    """The narrower words that a word is made of, the lowest first."""
    size = whole.dtype.itemsize
    if whole.dtype.kind == "c":
        pair = np.ascontiguousarray(whole[..., None]).view("i8")
        return pair[..., 0], pair[..., 1]
    word = whole.view(f"u{size}")
    bits = 8 * size // count
    narrow = f"u{bits // 8}"
    return tuple(
        (word >> word.dtype.type(i * bits)).astype(narrow).view(f"i{bits // 8}")
        for i in range(count)
    )


def half_products(a: Value, b: Value, c: Value, first: int) -> Value:
    """``c`` and the products of two halves with two bytes, from a byte on.

    >>> a, b = np.int32(0x0002FFFF), np.uint32(0x05000300)
    >>> [int(half_products(a, b, np.int32(1), first)) for first in (0, 2)]
    [7, 11]
    """
    total = c
    for i in range(2):
        left, right = a.dtype.type(16 - 16 * i), b.dtype.type(24 - 8 * (first + i))
        half = (a << left) >> a.dtype.type(16)
        byte = (b << right) >> b.dtype.type(24)
        total = total + half.astype(c.dtype) * byte.astype(c.dtype)
    return total


def lanewise(form: Callable[..., Value], kind: str, *words: Value) -> Value:
    """An operation on the two halves of words, of a type of 16 bits.

    >>> hex(lanewise(np.maximum, "i2", np.int32(0x1FFFF), np.int32(2)))
    '0x10002'
    """
    pairs = [np.ascontiguousarray(word[..., None]).view(kind) for word in words]
    return np.ascontiguousarray(form(*pairs)).view("i4")[..., 0]
