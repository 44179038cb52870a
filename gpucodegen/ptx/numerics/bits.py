"""Bit operations as PTX defines them, over NumPy values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpucodegen.ptx.numerics.select import select
from gpucodegen.ptx.types import Value

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_ONE = np.uint64(1)


def funnel(low: Value, high: Value, count: Value, left: bool) -> Value:
    """One word of the two shifted together, by at most 32."""
    pair = (high.astype("u8") << _HALF) | low.astype("u8")
    distance = count.astype("u8")
    if left:
        return ((pair << distance) >> _HALF).astype("u4")
    return (pair >> distance).astype("u4")


def _mask(width: Value) -> Value:
    """The lowest bits of a 64-bit word, as many as said."""
    some = (_ONE << np.minimum(width, 63).astype("u8")) - _ONE
    return select(width >= 64, ~np.uint64(0), some)


def bit_field(a: Value, position: Value, width: Value) -> Value:
    """Bits from a position on; signed types extend the field's highest bit.

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
        negative = ((word >> top) & _ONE).astype("?") & (length > 0)
        reach = np.minimum(length, np.maximum(bits - start, 0))
        field = select(negative, field | ~_mask(reach), field)
    return field.view("i8").astype(a.dtype)


def bit_insert(a: Value, b: Value, position: Value, width: Value) -> Value:
    """``b`` with bits of ``a`` put in at a position."""
    bits = 8 * a.dtype.itemsize
    start, length = (v.astype("i8") & 255 for v in (position, width))
    at = np.minimum(start, 63).astype("u8")
    mask = select(start < bits, _mask(length) << at, np.uint64(0))
    source, target = (v.astype("i8").view("u8") for v in (a, b))
    return ((target & ~mask) | ((source << at) & mask)).view("i8").astype(a.dtype)


def permute(a: Value, b: Value, selector: Value) -> Value:
    """Four bytes of the eight of ``b:a``, chosen by the selector's nibbles.

    >>> hex(permute(np.int32(0x33221100), np.int32(0), np.int32(0x0123)))
    '0x112233'
    """
    pair = a.view("u4").astype("u8") | (b.view("u4").astype("u8") << _HALF)
    nibbles, result = selector.view("u4").astype("u8"), np.uint64(0)
    for i in range(4):
        chosen = (nibbles >> np.uint64(4 * i)) & np.uint64(15)
        byte = (pair >> ((chosen & np.uint64(7)) * np.uint64(8))) & np.uint64(255)
        sign = (byte >> np.uint64(7)) * np.uint64(255)
        byte = select((chosen & np.uint64(8)) != 0, sign, byte)
        result = result | (byte << np.uint64(8 * i))
    return result.astype("u4").view("i4")


def lookup(a: Value, b: Value, c: Value, table: int) -> Value:
    """Any function of three bits, given by its eight results.

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
    """How many zeros lead an unsigned word.

    >>> int(leading_zeros(np.uint64(1))), int(leading_zeros(np.uint32(0)))
    (63, 32)
    """
    word = a.astype("u8")
    high = np.frexp((word >> _HALF).astype("f8"))[1]
    low = np.frexp((word & _LOW).astype("f8"))[1]
    used = select(high > 0, high + 32, low)
    return (8 * a.dtype.itemsize - used)[()].astype("i4")


def ones(a: Value) -> Value:
    """How many bits of an unsigned word are set."""
    word = a.astype("u8")
    word = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return ((word * np.uint64(0x0101010101010101)) >> np.uint64(56)).astype("i4")


def reversed_bits(a: Value) -> Value:
    """The bits of a word in the other order."""
    octets = np.ascontiguousarray(a[..., None]).view("u1")
    bits = np.unpackbits(octets, axis=-1, bitorder="little")[..., ::-1]
    return np.packbits(bits, axis=-1, bitorder="little").view(a.dtype)[..., 0]


def highest_bit(a: Value, distance: bool) -> Value:
    """Where the highest bit lies that is not of the sign, or its distance to the top.

    Minus one where there is none.

    >>> [int(highest_bit(np.int32(a), False)) for a in (20, -1, -3)]
    [4, -1, 1]
    """
    top = 8 * a.dtype.itemsize - 1
    word = a if a.dtype.kind == "u" else (a ^ (a >> a.dtype.type(top)))
    zeros = leading_zeros(word.view(f"u{a.dtype.itemsize}"))
    found = zeros if distance else np.int32(top) - zeros
    return select(zeros > top, np.int32(-1), found)


def extended(a: Value, width: Value, wrap: bool) -> Value:
    """The lowest bits of a word, the highest of them as the sign if the type has one.

    >>> int(extended(np.int32(0b1100), np.uint32(3), True))
    -4
    """
    return bit_field(a, np.uint32(0), width & 31 if wrap else np.minimum(width, 32))


def bit_mask(start: Value, width: Value, wrap: bool) -> Value:
    """Ones from a bit on, so many of them.

    >>> int(bit_mask(np.uint32(1), np.uint32(2), True))
    6
    """
    first, count = (v.astype("u8") for v in (start, width))
    if wrap:
        first, count = first & np.uint64(31), count & np.uint64(31)
    most = np.uint64(32)
    first, count = np.minimum(first, most), np.minimum(count, most)
    ones_above = (_ONE << count) - _ONE
    return ((ones_above << first) & _LOW).astype("u4")


def nth_bit(mask: Value, base: Value, offset: Value) -> Value:
    """Where the n-th set bit lies, counted from a bit up or, negative, down.

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
    """Four bytes of the eight of ``b:a``, as a mode chooses them.

    >>> hex(permute_by(np.int32(0x33221100), np.int32(0), np.int32(1), "rc8"))
    '0x11111111'
    """
    byte = SELECTORS[mode]
    table = [sum(byte(c, i) << 4 * i for i in range(4)) for c in range(4)]
    return permute(a, b, np.array(table, "i4")[count & 3])
