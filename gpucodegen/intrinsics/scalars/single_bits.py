"""Floats of up to eight bits as the bits of the float32 that they stand for."""

from __future__ import annotations

import struct

from gpucodegen.ir.number_formats import FORMATS, FloatFormat, decode_table

INFINITE, QUIET = 0x7F800000, 0x7FC00000
"""Infinity, and a NaN, as bits of a float32."""
FRACTION_BITS = 23


def single_bits(name: str) -> tuple[int, ...]:
    """Every code as the bits of a float32; NaNs keep their sign and fraction.

    >>> [hex(b) for b in single_bits("f8E5M2")[0x7B:0x7E]]
    ['0x47600000', '0x7f800000', '0x7fa00000']
    """
    values = enumerate(decode_table(name))
    return tuple(
        _nan_bits(FORMATS[name], code)
        if value != value  # noqa: PLR0124 - only a NaN differs from itself
        else struct.unpack("<I", struct.pack("<f", value))[0]
        for code, value in values
    )


def _nan_bits(format_: FloatFormat, code: int) -> int:
    fraction = code & ((1 << format_.fraction) - 1)
    if not fraction:
        return QUIET
    kept = INFINITE | fraction << (FRACTION_BITS - format_.fraction)
    return kept | format_.is_negative(code) << 31
