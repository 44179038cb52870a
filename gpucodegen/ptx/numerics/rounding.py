"""Results of floats rounded as the hardware rounds them: once, in any direction.

Fused multiply-adds are rounded once: the product of two f32 is exact in f64, and where
the rounding of the sum to f32 meets a tie, the lost part of the sum decides.  Results
in the subnormal range of f32 may be one rounding off.  The f64 forms (Dekker's product
and two-sum) hold for factors below 2**996.
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
    """The sum of two f64, odd in its last bit if it is not exact.

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
    """A product of two f64, and what its rounding lost (Dekker)."""
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
    """A sum of two f64, and what its rounding lost (Knuth)."""
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
    """``a * b + c`` in f64, rounded once but for double rounding of the error terms.

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
    """The f64 next to an exact value in a direction: the nearest, and what it lacks.

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
    """An integer as f64, odd in its last bit if it is not exact."""
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
