"""Floats of 4 to 16 bits as codes: decoded to f64, encoded with one rounding.

The formats of at most 8 bits are tables: the codes of positive numbers grow with the
numbers, so that rounding is a search among the middles between neighbours.  Encoding
into them saturates, as PTX demands of it; NaN becomes the format's own, or its largest
number where it has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from gpucodegen.ptx.numerics.floats import from_bf16, rounded_bf16
from gpucodegen.ptx.numerics.rounding import rounded
from gpucodegen.ptx.numerics.select import select
from gpucodegen.ptx.types import Array, Value


@dataclass(frozen=True, slots=True)
class CodeFormat:
    """A sign bit or none, exponent and mantissa bits, and codes that are no numbers."""

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
    """The number of each code; of four special ones, the first is infinite."""
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
    """Two floats as a packed word, the second one lowest.

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
