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
    """A word made of narrower ones, the first lowest.

    >>> hex(packed("i4", np.int16(1), np.int16(2)))
    '0x20001'
    """
    whole = np.dtype(kind)
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
    word = whole.view(f"u{size}")
    bits = 8 * size // count
    narrow = f"u{bits // 8}"
    return tuple(
        (word >> word.dtype.type(i * bits)).astype(narrow).view(f"i{bits // 8}")
        for i in range(count)
    )


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
