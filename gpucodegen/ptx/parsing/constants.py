"""Constants of the text as NumPy scalars."""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np

_INTEGER = re.compile(r"(-?)(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?")
_DECIMAL = re.compile(
    r"-?(\d*\.\d+|\d+\.\d*)([eE][-+]?\d+)?|-?\d+[eE][-+]?\d+",
)
_HEX_FLOAT = re.compile(r"0([fF][0-9a-fA-F]{8}|[dD][0-9a-fA-F]{16})")


def integer(text: str) -> int | None:
    """An integer constant, or None.

    >>> integer("-0x10"), integer("017"), integer("%r1")
    (-16, 15, None)
    """
    found = _INTEGER.fullmatch(text)
    if found is None:
        return None
    octal = found[2][0] == "0" and found[2].isdigit()
    number = int(found[2], 8 if octal else 0)
    return -number if found[1] else number


def real(text: str) -> tuple[float, int] | None:
    """A floating-point constant and its width in bytes, or None.

    >>> real("0f3F800000"), real("1.5"), real("7")
    ((1.0, 4), (1.5, 8), None)
    """
    if found := _HEX_FLOAT.fullmatch(text):
        single = found[1][0] in "fF"
        digits = bytes.fromhex(found[1][1:])
        number = struct.unpack(">f" if single else ">d", digits)[0]
        return number, 4 if single else 8
    return (float(text), 8) if _DECIMAL.fullmatch(text) else None


def word(number: int, kind: np.dtype[Any]) -> Any:
    """An integer as the bits of a type, modulo its width."""
    size = kind.itemsize
    return np.array(number % (1 << 8 * size), f"u{size}").view(kind)[()]


def constant(text: str, kind: np.dtype[Any]) -> Any:
    """A constant in a type; `ValueError` for what is none, as an address.

    >>> constant("-1", np.dtype("u2")), constant("0f3F800000", np.dtype("f8"))
    (np.uint16(65535), np.float64(1.0))
    """
    number = integer(text)
    if number is not None and kind.kind != "f":
        return word(number, kind)
    given = real(text) if number is None else (float(number), kind.itemsize)
    if given is None:
        raise ValueError(f"no constant: {text}")
    value, size = given
    if kind.kind == "f":
        return kind.type(value)
    return np.array(value, f"f{size}").view(f"i{size}").astype(kind)[()]
