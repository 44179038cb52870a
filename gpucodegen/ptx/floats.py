"""Floating-point formats and operations of PTX over NumPy values, correctly rounded.

It covers f64, f32, tf32, f16, bf16 and the 4- to 8-bit formats, with all rounding
modes.  Functions that the hardware approximates are more accurate here.  ``.ftz``
flushes results only; operands keep their subnormal values.

*Rounding.*  Fused multiply-adds round once: the product of two f32 is exact in f64, and
where the rounding of the sum to f32 meets a tie, the lost part of the sum decides.
Results in the subnormal range of f32 may be one rounding off.  The f64 forms (Dekker's
product and two-sum) hold for factors below 2**996.

*Narrow formats* are codes, decoded to f64 and encoded with one rounding.  The formats
of at most 8 bits are tables: codes of positive numbers grow with the numbers, so
rounding is a search among the midpoints between neighbours.  Encoding into them
saturates, as PTX requires; NaN becomes the format's NaN, or its largest number where it
has none.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np

from gpucodegen.ptx.integers import select
from gpucodegen.ptx.types import Array, Value
from gpucodegen.records import dataclass

_BELOW_F32 = 0x1FFFFFFF
_TIE_F32 = 0x10000000
_SPLITTER = 134217729.0


def round_sum(product: Value, addend: Value) -> Value:
    """The f32 nearest to ``product + addend``, both of which are f64."""
    total = product + addend
    tie = (total.view("i8") & _BELOW_F32) == _TIE_F32
    if (
        tie if tie.ndim == 0 else tie.any()
    ):  # step towards the exact sum before the second rounding
        part = total - product
        lost = (product - (total - part)) + (addend - part)
        up, down = tie & (lost > 0), tie & (lost < 0)
        total = select(up, np.nextafter(total, np.inf), total)
        total = select(down, np.nextafter(total, -np.inf), total)
    return total.astype("f4")


def odd_sum(product: Value, addend: Value) -> Value:
    """The sum of two f64, rounded to odd: its last bit is set if it is not exact.

    Rounding it once more, to a type of at most 51 bits, rounds the exact sum.

    >>> float(np.float16(odd_sum(np.float64(1 + 2**-11), np.float64(2**-90))))
    1.0009765625
    """
    total = product + addend
    part = total - product
    lost = (product - (total - part)) + (addend - part)
    even = (total.view("i8") & 1 == 0) & (lost != 0) & np.isfinite(total)
    towards = np.nextafter(total, np.copysign(np.inf, lost))
    return select(even, towards, total)


def two_product(a: Value, b: Value) -> tuple[Value, Value]:
    """The product of two f64 and its rounding error (Dekker)."""
    product = a * b
    a_high = a * _SPLITTER
    a_high = a_high - (a_high - a)
    b_high = b * _SPLITTER
    b_high = b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    return product, a_low * b_low - (
        ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    )


def two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """The sum of two f64 and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def fma32(a: Value, b: Value, c: Value) -> Value:
    """``a * b + c`` in f32, rounded once.

    >>> tiny = np.float32(2**-60)
    >>> x = np.float32(1 + 2**-12)
    >>> fma32(x, x, tiny) > fma32(x, x, -tiny)  # between two f32, by a hair
    np.True_
    """
    return round_sum(a.astype("f8") * b.astype("f8"), c.astype("f8"))


def fma64(a: Value, b: Value, c: Value) -> Value:
    """``a * b + c`` in f64, rounded once except for the error terms.

    >>> x = np.float64(1 + 2**-30)
    >>> fma64(x, x, np.float64(-1 - 2**-29)) == 2**-60
    np.True_
    >>> fma64(np.float64(-0.0), x, np.float64(-0.0))
    np.float64(-0.0)
    """
    product, error = two_product(a, b)
    total = product + c
    part = total - product
    rest = ((product - (total - part)) + (c - part)) + error
    result = total + rest
    return select(np.isfinite(result) & (rest != 0), result, total)


def fma16(a: Value, b: Value, c: Value) -> Value:
    """``a * b + c`` of f16 or packed halves, rounded once; products are exact."""
    return odd_sum(a.astype("f8") * b.astype("f8"), c.astype("f8")).astype("f2")


def fma_bf16(a: Value, b: Value, c: Value) -> Value:
    """``a * b + c`` of bf16 values, as f64 that rounds to bf16 as the exact sum."""
    return odd_sum(a.astype("f8") * b.astype("f8"), c.astype("f8"))


def rounded(x: Value, kind: str, mode: str) -> Value:
    """An f64 value in a narrower type: to nearest, to zero, down or up.

    >>> [float(rounded(np.float64(0.1), "f4", mode)) < 0.1 for mode in ("rm", "rp")]
    [True, False]
    """
    near = x.astype(kind)
    if mode == "rn":
        return near
    back = near.astype("f8")
    infinity = np.dtype(kind).type(np.inf)
    above, below = back > x, back < x
    if mode == "rz":
        above, below = above & (x >= 0), below & (x < 0)
    if mode != "rp":
        near = select(above, np.nextafter(near, -infinity), near)
    if mode != "rm":
        near = select(below, np.nextafter(near, infinity), near)
    return near


def directed(near: Value, error: Value, mode: str) -> Value:
    """The f64 next to an exact value, given as nearest f64 and error, in a direction.

    >>> float(directed(np.float64(1), np.float64(-(2.0**-80)), "rz")) < 1
    True
    """
    down = (error < 0) & {"rm": True, "rp": False, "rz": near > 0}.get(mode, False)
    up = (error > 0) & {"rm": False, "rp": True, "rz": near < 0}.get(mode, False)
    near = select(down, np.nextafter(near, -np.inf), near)
    return select(up, np.nextafter(near, np.inf), near)


def directed_sum(a: Value, b: Value, mode: str) -> Value:
    """``a + b`` in f64, rounded in a direction."""
    return directed(*two_sum(a, b), mode)


def directed_product(a: Value, b: Value, mode: str) -> Value:
    """``a * b`` in f64, rounded in a direction."""
    return directed(*two_product(a, b), mode)


def directed_quotient(a: Value, b: Value, mode: str) -> Value:
    """``a / b`` in f64, rounded in a direction."""
    near = a / b
    product, error = two_product(near, b)
    return directed(near, ((a - product) - error) * np.copysign(1.0, b), mode)


def directed_root(a: Value, mode: str) -> Value:
    """The square root of a f64, rounded in a direction."""
    near = np.sqrt(a)
    product, error = two_product(near, near)
    return directed(near, (a - product) - error, mode)


def directed_fma(a: Value, b: Value, c: Value, mode: str) -> Value:
    """``a * b + c`` in f64, rounded in a direction."""
    product, error = two_product(a, b)
    total, rest = two_sum(product, c)
    result, lost = two_sum(total, rest + error)
    return directed(result, lost + (error - ((rest + error) - rest)), mode)


def odd_integer(x: Value) -> Value:
    """An integer as f64, rounded to odd."""
    if x.dtype.itemsize < 8:
        return x.astype("f8")
    low = x & x.dtype.type(0xFFFFFFFF)
    return odd_sum((x - low).astype("f8"), low.astype("f8"))


def from_integer(x: Value, kind: str, mode: str) -> Value:
    """An integer as a float, rounded in a direction.

    >>> float(from_integer(np.int64(2**53 + 1), "f8", "rp")) == 2**53 + 2
    True
    """
    if kind != "f8" or x.dtype.itemsize < 8:
        return rounded(odd_integer(x), kind, mode)
    low = x & x.dtype.type(0xFFFFFFFF)
    return directed(*two_sum((x - low).astype("f8"), low.astype("f8")), mode)


def minimum(a: Value, b: Value) -> Value:
    """The smaller number, -0 below +0; of a NaN and a number, the number."""
    zero = (a == 0) & (b == 0)
    return select(zero, -((-a) + (-b)), np.fmin(a, b))


def maximum(a: Value, b: Value) -> Value:
    """The larger number, +0 above -0; of a NaN and a number, the number."""
    zero = (a == 0) & (b == 0)
    return select(zero, a + b, np.fmax(a, b))


def minimum_nan(a: Value, b: Value) -> Value:
    """As `minimum`, but NaN if either is NaN."""
    zero = (a == 0) & (b == 0)
    return select(zero, -((-a) + (-b)), np.minimum(a, b))


def maximum_nan(a: Value, b: Value) -> Value:
    """As `maximum`, but NaN if either is NaN."""
    zero = (a == 0) & (b == 0)
    return select(zero, a + b, np.maximum(a, b))


def flushed(x: Value) -> Value:
    """f32 with subnormal numbers flushed to zeros of their sign."""
    small = np.abs(x) < np.float32(2.0**-126)
    return select(small, np.copysign(np.float32(0), x), x)


def saturated(x: Value) -> Value:
    """Clamped to [0, 1]; NaN gives 0.

    >>> saturated(np.float32([-1, 0.5, 2, np.nan])).tolist()
    [0.0, 0.5, 1.0, 0.0]
    """
    return np.clip(select(np.isnan(x), x.dtype.type(0), x), 0, 1).astype(x.dtype)


def from_bf16(bits: Value) -> Value:
    """bf16 bits as f32."""
    return (bits.view("u2").astype("u4") << np.uint32(16)).view("f4")


def to_bf16(x: Value) -> Value:
    """f32 or f64 rounded to bf16 bits, to nearest even.

    >>> float(from_bf16(to_bf16(np.float32(1.00390625))))
    1.0
    """
    if x.dtype.itemsize == 8:
        return rounded_bf16(x, "rn")
    bits = x.astype("f4").view("u4")
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    kept = ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype("u2")
    return select(np.isnan(x), np.uint16(0x7FFF), kept).view("i2")


def rounded_bf16(x: Value, mode: str) -> Value:
    """f64 rounded once to bf16 bits.

    >>> x = np.float64(1 + 2**-8 + 2**-40)
    >>> [hex(rounded_bf16(x, mode)) for mode in ("rn", "rz", "rp")]
    ['0x3f81', '0x3f80', '0x3f81']
    """
    near = rounded(x, "f4", "rz")
    bits = near.view("u4") | (near.astype("f8") != x).astype("u4")  # odd if inexact
    high, low = bits >> np.uint32(16), bits & np.uint32(0xFFFF)
    negative = bits >> np.uint32(31) != 0
    up = {
        "rn": (low > 0x8000) | ((low == 0x8000) & (high & 1 == 1)),
        "rz": low > 0xFFFF,
        "rp": (low > 0) & ~negative,
        "rm": (low > 0) & negative,
    }[mode]
    up = up & np.isfinite(x)
    kept = select(np.isinf(x), x.astype("f4").view("u4") >> np.uint32(16), high + up)
    return select(np.isnan(x), np.uint16(0x7FFF), kept.astype("u2")).view("i2")


def to_tf32(x: Value, mode: str = "rna") -> Value:
    """f32 rounded to the ten bits of tf32, as f32 bits; ties away, even or to zero.

    >>> x = np.float32(1 + 2**-11)
    >>> [float(to_tf32(x, mode).view("f4")) for mode in ("rna", "rn", "rz")]
    [1.0009765625, 1.0, 1.0]
    """
    bits = x.view("u4")
    odd = (bits >> np.uint32(13)) & np.uint32(1)
    more = {"rna": np.uint32(0x1000), "rn": np.uint32(0xFFF) + odd, "rz": np.uint32(0)}
    kept = (bits + more[mode]) & np.uint32(0xFFFFE000)
    return select(np.isfinite(x), kept, bits).view("i4")


def positive(x: Value) -> Value:
    """Negative values as zero (``.relu``); NaN stays."""
    return select(x <= 0, x.dtype.type(0), x)


def finite(x: Value, most: float) -> Value:
    """Clamped to the largest finite numbers of a type (``.satfinite``); NaN stays."""
    return np.clip(x, x.dtype.type(-most), x.dtype.type(most))


_INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def integral(x: Value, mode: str) -> Value:
    """Rounded to an integer in the same floating type."""
    return _INTEGRAL[mode](x)


def to_integer(x: Value, kind: str, mode: str) -> Value:
    """A float as an integer type, saturating; NaN gives 0.

    >>> to_integer(np.float32([2.5, -1e20, np.nan]), "i4", "rni").tolist()
    [2, -2147483648, 0]
    >>> to_integer(np.float32(np.nan), "i4", "rni")
    np.int32(0)
    """
    limits = np.iinfo(kind)
    whole = integral(x.astype("f8"), mode)
    low, high = whole <= float(limits.min), whole >= float(limits.max)
    inside = select(low | high | np.isnan(whole), np.float64(0), whole).astype(kind)
    least, most = np.array([limits.min, limits.max], kind)
    return select(low, least, select(high, most, inside))


def halves(words: Value) -> Value:
    """f16x2 words as pairs of f64, the last axis."""
    return np.ascontiguousarray(words[..., None]).view("f2").astype("f8")


def from_halves(pairs: Value) -> Value:
    """Pairs of floats as f16x2 words."""
    return np.ascontiguousarray(pairs.astype("f2")).view("i4")[..., 0]


def singles(words: Value) -> Value:
    """f32x2 words as pairs of f32, the last axis."""
    return np.ascontiguousarray(words[..., None]).view("f4")


def from_singles(pairs: Value) -> Value:
    """Pairs of f32 as f32x2 words."""
    return np.ascontiguousarray(pairs).view("i8")[..., 0]


def bf16_halves(words: Value) -> Value:
    """bf16x2 words as pairs of f32, the last axis."""
    return from_bf16(np.ascontiguousarray(words[..., None]).view("i2"))


def from_bf16_halves(pairs: Value) -> Value:
    """Pairs of floats as bf16x2 words."""
    return np.ascontiguousarray(to_bf16(pairs)).view("i4")[..., 0]


@dataclass(frozen=True, slots=True)
class CodeFormat:
    """A narrow format: sign, exponent and mantissa bits, and its special codes."""

    exponent: int
    mantissa: int
    bias: int
    special: int = 0
    """How many of the largest positive codes are infinite or NaN."""
    sign: bool = True
    bits: int = 8
    """Bits that a code takes in a packed word."""


FORMATS = {
    "e4m3": CodeFormat(4, 3, 7, special=1),
    "e5m2": CodeFormat(5, 2, 15, special=4),
    "e2m3": CodeFormat(2, 3, 1),
    "e3m2": CodeFormat(3, 2, 3),
    "e2m1": CodeFormat(2, 1, 1, bits=4),
    "ue8m0": CodeFormat(8, 0, 127, special=1, sign=False),
}
WIDTHS = {name: form.bits for name, form in FORMATS.items()} | {"f16": 16, "bf16": 16}
"""Bits of each element of a packed pair."""


@cache
def _numbers(kind: str) -> Array:
    """The finite numbers of the positive codes, in their order."""
    form = FORMATS[kind]
    count = 1 << form.exponent + form.mantissa
    code = np.arange(count - form.special)
    power, part = code >> form.mantissa, code & (1 << form.mantissa) - 1
    unit = 2.0**-form.mantissa
    if not form.sign:  # powers of two only: the smallest is no zero
        return 2.0 ** (power - form.bias)
    normal = (1 + part * unit) * 2.0 ** (power - form.bias)
    return np.where(power == 0, part * unit * 2.0 ** (1 - form.bias), normal)


@cache
def _table(kind: str) -> Array:
    """The number of each code; of four special codes, the first is infinite."""
    form, numbers = FORMATS[kind], _numbers(kind)
    extra = np.full(form.special, np.nan)
    if form.special > 1:
        extra[0] = np.inf
    positive = np.concatenate([numbers, extra])
    return np.concatenate([positive, -positive]) if form.sign else positive


def decoded(codes: Value, kind: str) -> Value:
    """Codes as f64.

    >>> decoded(np.uint8([0x7E, 0x38, 0x01, 0xFF]), "e4m3").tolist()
    [448.0, 1.0, 0.001953125, nan]
    """
    if kind == "f16":
        return codes.astype("u2").view("f2").astype("f8")
    if kind == "bf16":
        return from_bf16(codes.astype("u2")).astype("f8")
    table = _table(kind)
    return table[codes.astype("i8") & (len(table) - 1)]


def _place(numbers: Array, x: Value, side: Literal["left", "right"]) -> Value:
    sought: Any = numbers
    return sought.searchsorted(x, side)


def encoded(x: Value, kind: str, mode: str = "rn") -> Value:
    """Floats as codes: unsigned words of 16 bits.

    >>> encoded(np.float64([449, 0.9375, -1e9, 17]), "e4m3").tolist()
    [126, 55, 254, 88]
    """
    wide = x.astype("f8")
    if kind == "f16":
        return rounded(wide, "f2", mode).view("u2")
    if kind == "bf16":
        return rounded_bf16(wide, mode).view("u2")
    form, numbers, size = FORMATS[kind], _numbers(kind), np.abs(wide)
    last = len(numbers) - 1
    if mode == "rn":
        middles = (numbers[1:] + numbers[:-1]) / 2
        code = _place(middles, size, "left")
        tie = size == middles[np.minimum(code, last - 1)]
        code = code + (tie & (code < last) & (code % 2 == 1))
    else:
        up = mode == "rp"
        code = _place(numbers, size, "left" if up else "right") - (not up)
        code = np.clip(code, 0, last)
    missing = last + form.special if form.special != 4 else last + 4
    code = select(np.isnan(wide), np.int64(missing), code)
    if form.sign:
        top = np.int64(1 << form.exponent + form.mantissa)
        negative = np.signbit(wide) & ~np.isnan(wide)
        code = select(negative, code | top, code)
    return np.asarray(code).astype("u2")[()]


def pair_of(high: Value, low: Value, kind: str, mode: str = "rn") -> Value:
    """Two floats as a packed word, ``low`` in the lowest bits.

    >>> hex(pair_of(np.float32(1), np.float32(-2), "e5m2"))
    '0x3cc0'
    """
    bits = WIDTHS[kind]
    word = (encoded(high, kind, mode).astype("u4") << np.uint32(bits)) | encoded(
        low, kind, mode
    )
    return word.astype(f"u{2 * bits // 8}").view(f"i{2 * bits // 8}")


def split_pair(word: Value, kind: str) -> tuple[Value, Value]:
    """(low, high) of a packed word, as f64."""
    bits = WIDTHS[kind]
    codes = word.view(f"u{word.dtype.itemsize}").astype("u4")
    mask = np.uint32((1 << bits) - 1)
    return decoded(codes & mask, kind), decoded(codes >> np.uint32(bits) & mask, kind)
