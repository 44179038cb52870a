"""Floating-point arithmetic as the hardware rounds it, over NumPy values.

Fused multiply-adds are rounded once: the product of two f32 is exact in f64, and where
the rounding of the sum to f32 meets a tie, the lost part of the sum decides.  Results
in the subnormal range of f32 may be one rounding off.  The f64 form (Dekker's product
and two-sum) holds for factors below 2**996.

Functions that the hardware approximates are better here.  ``.ftz`` flushes results;
operands keep their subnormal values.
"""

from __future__ import annotations

import numpy as np

from gpucodegen.ptx.numerics.select import select
from gpucodegen.ptx.types import Value

_BELOW_F32 = 0x1FFFFFFF
_TIE_F32 = 0x10000000
_SPLITTER = 134217729.0


def round_sum(product: Value, addend: Value) -> Value:
    """The f32 nearest to ``product + addend``, both of which are f64."""
    total = product + addend
    tie = (total.view("i8") & _BELOW_F32) == _TIE_F32
    if tie.any():  # step towards the exact sum before the second rounding
        part = total - product
        lost = (product - (total - part)) + (addend - part)
        up, down = tie & (lost > 0), tie & (lost < 0)
        total = select(up, np.nextafter(total, np.inf), total)
        total = select(down, np.nextafter(total, -np.inf), total)
    return total.astype("f4")


def fma32(a: Value, b: Value, c: Value) -> Value:
    """``a * b + c`` in f32, rounded once.

    >>> tiny = np.float32(2**-60)
    >>> x = np.float32(1 + 2**-12)
    >>> fma32(x, x, tiny) > fma32(x, x, -tiny)  # between two f32, by a hair
    np.True_
    """
    return round_sum(a.astype("f8") * b.astype("f8"), c.astype("f8"))


def fma64(a: Value, b: Value, c: Value) -> Value:
    """``a * b + c`` in f64, rounded once but for double rounding of the error terms.

    >>> x = np.float64(1 + 2**-30)
    >>> fma64(x, x, np.float64(-1 - 2**-29)) == 2**-60
    np.True_
    >>> fma64(np.float64(-0.0), x, np.float64(-0.0))
    np.float64(-0.0)
    """
    product = a * b
    a_high = a * _SPLITTER
    a_high = a_high - (a_high - a)
    b_high = b * _SPLITTER
    b_high = b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    error = a_low * b_low - (
        ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    )
    total = product + c
    part = total - product
    rest = ((product - (total - part)) + (c - part)) + error
    result = total + rest
    return select(np.isfinite(result) & (rest != 0), result, total)


def fma16(a: Value, b: Value, c: Value) -> Value:
    """``a * b + c`` in f16: exact in f64 but for far apart terms, then rounded."""
    return (a.astype("f8") * b.astype("f8") + c.astype("f8")).astype("f2")


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


def minimum(a: Value, b: Value) -> Value:
    """The smaller number, -0 below +0; a NaN gives way to a number."""
    zero = (a == 0) & (b == 0)
    return select(zero, -((-a) + (-b)), np.fmin(a, b))


def maximum(a: Value, b: Value) -> Value:
    """The larger number, +0 above -0; a NaN gives way to a number."""
    zero = (a == 0) & (b == 0)
    return select(zero, a + b, np.fmax(a, b))


def minimum_nan(a: Value, b: Value) -> Value:
    """As `minimum`, but a NaN stays."""
    zero = (a == 0) & (b == 0)
    return select(zero, -((-a) + (-b)), np.minimum(a, b))


def maximum_nan(a: Value, b: Value) -> Value:
    """As `maximum`, but a NaN stays."""
    zero = (a == 0) & (b == 0)
    return select(zero, a + b, np.maximum(a, b))


def flushed(x: Value) -> Value:
    """f32 with subnormal numbers as zeros of their sign."""
    small = np.abs(x) < np.float32(2.0**-126)
    return select(small, np.copysign(np.float32(0), x), x)


def saturated(x: Value) -> Value:
    """Between 0 and 1; a NaN gives 0.

    >>> saturated(np.float32([-1, 0.5, 2, np.nan])).tolist()
    [0.0, 0.5, 1.0, 0.0]
    """
    return np.clip(select(np.isnan(x), x.dtype.type(0), x), 0, 1).astype(x.dtype)


def from_bf16(bits: Value) -> Value:
    """bf16 bits as f32."""
    return (bits.view("u2").astype("u4") << np.uint32(16)).view("f4")


def to_bf16(x: Value) -> Value:
    """f32 rounded to bf16 bits, to nearest even.

    >>> float(from_bf16(to_bf16(np.float32(1.00390625))))
    1.0
    """
    bits = x.astype("f4").view("u4")
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    kept = ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype("u2")
    return select(np.isnan(x), np.uint16(0x7FFF), kept).view("i2")


def to_tf32(x: Value) -> Value:
    """f32 rounded to the ten bits of tf32, as f32 bits."""
    bits = x.view("u4")
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view("i4")


_INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def integral(x: Value, mode: str) -> Value:
    """The neighbouring integer in the same type."""
    return _INTEGRAL[mode](x)


def to_integer(x: Value, kind: str, mode: str) -> Value:
    """A float as an integer type: the nearest value it has, and 0 for NaN.

    >>> to_integer(np.float32([2.5, -1e20, np.nan]), "i4", "rni").tolist()
    [2, -2147483648, 0]
    """
    limits = np.iinfo(kind)
    whole = integral(x.astype("f8"), mode)
    low, high = whole <= float(limits.min), whole >= float(limits.max)
    inside = select(low | high | np.isnan(whole), 0, whole).astype(kind)
    least, most = np.array([limits.min, limits.max], kind)
    return select(low, least, select(high, most, inside))


def halves(words: Value) -> Value:
    """f16x2 words as pairs of f64, the last axis."""
    return np.ascontiguousarray(words[..., None]).view("f2").astype("f8")


def from_halves(pairs: Value) -> Value:
    """Pairs of floats as f16x2 words."""
    return np.ascontiguousarray(pairs.astype("f2")).view("i4")[..., 0]


def bf16_halves(words: Value) -> Value:
    """bf16x2 words as pairs of f32, the last axis."""
    return from_bf16(np.ascontiguousarray(words[..., None]).view("i2"))


def from_bf16_halves(pairs: Value) -> Value:
    """Pairs of f32 as bf16x2 words."""
    return np.ascontiguousarray(to_bf16(pairs)).view("i4")[..., 0]
