"""Floating-point operations and formats over NumPy values.

Functions that the hardware approximates are better here.  ``.ftz`` flushes results;
operands keep their subnormal values.
"""

from __future__ import annotations

import numpy as np

from gpucodegen.ptx.numerics.rounding import rounded
from gpucodegen.ptx.numerics.select import select
from gpucodegen.ptx.types import Value


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
    """A float, or zero in place of a negative one; a NaN stays (``.relu``)."""
    return select(x <= 0, x.dtype.type(0), x)


def finite(x: Value, most: float) -> Value:
    """A float between the largest ones of a type; a NaN stays (``.satfinite``)."""
    return np.clip(x, x.dtype.type(-most), x.dtype.type(most))


_INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def integral(x: Value, mode: str) -> Value:
    """The neighbouring integer in the same type."""
    return _INTEGRAL[mode](x)


def to_integer(x: Value, kind: str, mode: str) -> Value:
    """A float as an integer type: the nearest value it has, and 0 for NaN.

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
