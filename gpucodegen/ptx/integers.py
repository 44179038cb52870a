"""Integer and bit instructions of PTX over NumPy values, and packed words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpucodegen.ptx.types import Value


def byte_products(a: Value, b: Value, c: Value) -> Value:
    """``dp4a``: ``c`` plus the products of the four bytes of two words.

    >>> int(byte_products(np.int32(0x02FF), np.uint32(0x03FF), np.int32(1)))
    -248
    """
    total = c
    for place in (24, 16, 8, 0):
        left, right = ((x << x.dtype.type(place)) >> x.dtype.type(24) for x in (a, b))
        total = total + left.astype(c.dtype) * right.astype(c.dtype)
    return total


def packed(kind: str, *parts: Value) -> Value:
    """A word made of narrower ones, the first lowest; 128 bits are two words of 64.

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
    """The narrower parts of a word, the lowest first."""
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
    """``dp2a``: ``c`` plus the products of two halves with two bytes, ``first`` on.

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
    """An operation on the two halves of words, of a 16-bit type.

    >>> hex(lanewise(np.maximum, "i2", np.int32(0x1FFFF), np.int32(2)))
    '0x10002'
    """
    pairs = [np.ascontiguousarray(word[..., None]).view(kind) for word in words]
    return np.ascontiguousarray(form(*pairs)).view("i4")[..., 0]


_where: Any = np.where


def select(condition: Value, yes: Value, no: Value) -> Value:
    """``yes`` where a condition holds; a scalar if all three are scalars.

    >>> select(np.array([True, False]), np.int32(1), np.int32(2))
    array([1, 2], dtype=int32)
    """
    if condition.ndim == 0:
        return yes if condition else no
    return _where(condition, yes, no)


_LOW_WORD, _WORD_BITS = np.uint64(0xFFFFFFFF), np.uint64(32)
_ONE_BIT = np.uint64(1)


def funnel(low: Value, high: Value, count: Value, left: bool) -> Value:
    """``shf``: one word of the two shifted together, by at most 32."""
    pair = (high.astype("u8") << _WORD_BITS) | low.astype("u8")
    distance = count.astype("u8")
    if left:
        return ((pair << distance) >> _WORD_BITS).astype("u4")
    return (pair >> distance).astype("u4")


def _mask(width: Value) -> Value:
    """A 64-bit word with the lowest ``width`` bits set."""
    some = (_ONE_BIT << np.minimum(width, 63).astype("u8")) - _ONE_BIT
    return select(width >= 64, ~np.uint64(0), some)


def bit_field(a: Value, position: Value, width: Value) -> Value:
    """``bfe``: bits from a position on; signed types extend the field's sign.

    >>> int(bit_field(np.int32(0b1100), np.uint32(2), np.uint32(2)))
    -1
    """
    bits = 8 * a.dtype.itemsize
    start, length = (v.astype("i8") & 255 for v in (position, width))
    word = a.astype("i8").view("u8") & _mask(np.int64(bits))
    shifted = word >> np.minimum(start, 63).astype("u8")
    field = select(start < bits, shifted, np.uint64(0)) & _mask(length)
    if a.dtype.kind == "i":
        top = np.clip(start + length - 1, 0, bits - 1).astype("u8")
        negative = ((word >> top) & _ONE_BIT).astype("?") & (length > 0)
        reach = np.minimum(length, np.maximum(bits - start, 0))
        field = select(negative, field | ~_mask(reach), field)
    return field.view("i8").astype(a.dtype)


def bit_insert(a: Value, b: Value, position: Value, width: Value) -> Value:
    """``bfi``: ``b`` with bits of ``a`` inserted at a position."""
    bits = 8 * a.dtype.itemsize
    start, length = (v.astype("i8") & 255 for v in (position, width))
    at = np.minimum(start, 63).astype("u8")
    mask = select(start < bits, _mask(length) << at, np.uint64(0))
    source, target = (v.astype("i8").view("u8") for v in (a, b))
    return ((target & ~mask) | ((source << at) & mask)).view("i8").astype(a.dtype)


def permute(a: Value, b: Value, selector: Value) -> Value:
    """``prmt``: four bytes of the eight of ``b:a``, chosen by the selector's nibbles.

    >>> hex(permute(np.int32(0x33221100), np.int32(0), np.int32(0x0123)))
    '0x112233'
    """
    pair = a.view("u4").astype("u8") | (b.view("u4").astype("u8") << _WORD_BITS)
    nibbles, result = selector.view("u4").astype("u8"), np.uint64(0)
    for i in range(4):
        chosen = (nibbles >> np.uint64(4 * i)) & np.uint64(15)
        byte = (pair >> ((chosen & np.uint64(7)) * np.uint64(8))) & np.uint64(255)
        sign = (byte >> np.uint64(7)) * np.uint64(255)
        byte = select((chosen & np.uint64(8)) != 0, sign, byte)
        result = result | (byte << np.uint64(8 * i))
    return result.astype("u4").view("i4")


def lookup(a: Value, b: Value, c: Value, table: int) -> Value:
    """``lop3``: any function of three bits, given by its eight results.

    >>> int(lookup(np.int32(12), np.int32(10), np.int32(9), 0x96))  # a ^ b ^ c
    15
    """
    result = a & ~a
    for i in range(8):
        if table >> i & 1:
            term = (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
            result = result | term
    return result


def leading_zeros(a: Value) -> Value:
    """``clz``: leading zeros of an unsigned word.

    >>> int(leading_zeros(np.uint64(1))), int(leading_zeros(np.uint32(0)))
    (63, 32)
    """
    word = a.astype("u8")
    high = np.frexp((word >> _WORD_BITS).astype("f8"))[1]
    low = np.frexp((word & _LOW_WORD).astype("f8"))[1]
    used = select(high > 0, high + 32, low)
    return (8 * a.dtype.itemsize - used)[()].astype("i4")


def ones(a: Value) -> Value:
    """``popc``: the set bits of an unsigned word."""
    word = a.astype("u8")
    word = word - ((word >> _ONE_BIT) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return ((word * np.uint64(0x0101010101010101)) >> np.uint64(56)).astype("i4")


def reversed_bits(a: Value) -> Value:
    """``brev``: the bits of a word in reverse order."""
    octets = np.ascontiguousarray(a[..., None]).view("u1")
    bits = np.unpackbits(octets, axis=-1, bitorder="little")[..., ::-1]
    return np.packbits(bits, axis=-1, bitorder="little").view(a.dtype)[..., 0]


def highest_bit(a: Value, distance: bool) -> Value:
    """``bfind``: the highest bit that differs from the sign, or its shift to the top.

    -1 where there is none.

    >>> [int(highest_bit(np.int32(a), False)) for a in (20, -1, -3)]
    [4, -1, 1]
    """
    top = 8 * a.dtype.itemsize - 1
    word = a if a.dtype.kind == "u" else (a ^ (a >> a.dtype.type(top)))
    zeros = leading_zeros(word.view(f"u{a.dtype.itemsize}"))
    found = zeros if distance else np.int32(top) - zeros
    return select(zeros > top, np.int32(-1), found)


def extended(a: Value, width: Value, wrap: bool) -> Value:
    """``szext``: the lowest bits of a word, sign-extended for signed types.

    >>> int(extended(np.int32(0b1100), np.uint32(3), True))
    -4
    """
    return bit_field(a, np.uint32(0), width & 31 if wrap else np.minimum(width, 32))


def bit_mask(start: Value, width: Value, wrap: bool) -> Value:
    """``bmsk``: ``width`` ones from a bit on.

    >>> int(bit_mask(np.uint32(1), np.uint32(2), True))
    6
    """
    first, count = (v.astype("u8") for v in (start, width))
    if wrap:
        first, count = first & np.uint64(31), count & np.uint64(31)
    most = np.uint64(32)
    first, count = np.minimum(first, most), np.minimum(count, most)
    ones_above = (_ONE_BIT << count) - _ONE_BIT
    return ((ones_above << first) & _LOW_WORD).astype("u4")


def nth_bit(mask: Value, base: Value, offset: Value) -> Value:
    """``fns``: the n-th set bit, counted from ``base`` up or, negative, down.

    >>> [int(nth_bit(np.uint32(0xAA), np.uint32(2), np.int32(n))) for n in (1, -1, 4)]
    [3, 1, -1]
    """
    place = np.arange(32)
    bits = (mask.astype("i8")[..., None] >> place) & 1
    start, wanted = base.astype("i8")[..., None], offset.astype("i8")[..., None]
    up, down = bits * (place >= start), bits * (place <= start)
    above = np.cumsum(up, -1) * up
    below = np.cumsum(down[..., ::-1], -1)[..., ::-1] * down
    hit = select(wanted > 0, above == wanted, below == -wanted)
    hit = select(wanted == 0, (place == start) & (bits != 0), hit)
    return np.where(hit.any(-1), hit.argmax(-1), -1).astype("i4")[()]


SELECTORS: dict[str, Callable[[int, int], int]] = {
    "f4e": lambda count, i: (count + i) & 7,
    "b4e": lambda count, i: (count - i) & 7,
    "rc8": lambda count, _: count,
    "ecl": max,
    "ecr": min,
    "rc16": lambda count, i: 2 * (count & 1) + (i & 1),
}
"""Which byte becomes byte ``i``, in the modes of a permutation."""


def permute_by(a: Value, b: Value, count: Value, mode: str) -> Value:
    """``prmt`` with a mode: four bytes of the eight of ``b:a``.

    >>> hex(permute_by(np.int32(0x33221100), np.int32(0), np.int32(1), "rc8"))
    '0x11111111'
    """
    byte = SELECTORS[mode]
    table = [sum(byte(c, i) << 4 * i for i in range(4)) for c in range(4)]
    return permute(a, b, np.array(table, "i4")[count & 3])


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
    """``mul24``: the product of the lowest 24 bits, shifted right by ``drop``.

    >>> int(product24(np.int32(-3), np.int32(5), 0))
    -15
    """
    place = a.dtype.type(8)
    wide = np.dtype(f"{a.dtype.kind}8")
    left, right = (((x << place) >> place).astype(wide) for x in (a, b))
    return (left * right >> wide.type(drop)).astype(a.dtype)


def quotient(a: Value, b: Value) -> Value:
    """Division towards zero; division by zero gives all ones, as in hardware.

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
    """The remainder of division towards zero; the dividend for a zero divisor."""
    zero = b == 0
    return select(zero, a, np.fmod(a, select(zero, b.dtype.type(1), b)))


def left_shift(a: Value, count: Value) -> Value:
    """Shift by an unsigned count; counts beyond the width give zero.

    >>> int(left_shift(np.int32(3), np.uint32(40)))
    0
    """
    return np.left_shift(a, np.minimum(count, 8 * a.dtype.itemsize).astype(a.dtype))


def right_shift(a: Value, count: Value) -> Value:
    """Shift by an unsigned count; signed types shift in the sign."""
    return np.right_shift(a, np.minimum(count, 8 * a.dtype.itemsize).astype(a.dtype))


def add_carry(a: Value, b: Value, carry: Value) -> tuple[Value, Value]:
    """An unsigned sum and its carry.

    >>> with np.errstate(over="ignore"):
    ...     [int(v) for v in add_carry(np.uint32(2**32 - 1), np.uint32(0), np.True_)]
    [0, 1]
    """
    first = a + b
    total = first + carry.astype(a.dtype)
    return total, (first < a) | (total < first)


def sub_borrow(a: Value, b: Value, borrow: Value) -> tuple[Value, Value]:
    """An unsigned difference and its borrow."""
    first = a - b
    total = first - borrow.astype(a.dtype)
    return total, (a < b) | (first < total)


def wrapped(x: Value, kind: str) -> Value:
    """An integer in another type, modulo its width."""
    return x.astype(kind)


def clamped(x: Value, kind: str) -> Value:
    """An integer in another type, saturated.

    >>> clamped(np.int32([-5, 300]), "u1").tolist()
    [0, 255]
    """
    have, want = np.iinfo(x.dtype), np.iinfo(kind)
    low, high = max(have.min, want.min), min(have.max, want.max)
    return np.clip(x, x.dtype.type(low), x.dtype.type(high)).astype(kind)
