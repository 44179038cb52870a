"""Python and NumPy numbers as arguments of scalar types."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from gpucodegen.ir.number_formats import NARROW, of_bits, to_bits

Convert = Callable[[Any], complex]
_INTEGER = re.compile(r"([su]?)i(\d+)")
_FLOAT = re.compile(r"t?f\d+")


def scalar_conversion(kind: str) -> Convert | None:
    """How a number becomes an argument of a type as MLIR spells it; None for others.

    >>> [scalar_conversion(kind)(1) for kind in ("f64", "index", "i1", "complex<f32>")]
    [1.0, 1, True, (1+0j)]
    >>> scalar_conversion("i8")(200), scalar_conversion("ui8")(200)
    (-56, 200)
    """
    if kind in NARROW:
        return lambda value: of_bits(to_bits(_real(value), kind), kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if _FLOAT.fullmatch(kind):
        return _real
    integer = _INTEGER.fullmatch(kind)
    if integer is None:
        return None
    unsigned, width = integer[1] == "u", int(integer[2])
    return lambda value: _integer(value, width, unsigned=unsigned)


def plain(value: Any) -> Any:
    """A number of NumPy as one of Python; anything else as it is.

    >>> import numpy as np
    >>> plain(np.True_), plain("no")
    (True, 'no')
    """
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _truth(value: Any) -> bool:
    if type(value) is bool:
        return value
    if operator.index(plain(value)) not in {0, 1}:
        raise ValueError(value)
    return bool(value)


def _real(value: Any) -> float:
    """What `float` makes of anything but a text."""
    if type(value) is float:
        return value
    if isinstance(value, _TEXTS):
        raise TypeError(value)
    return float(value)


def _complex(value: Any) -> complex:
    if isinstance(value, _TEXTS):
        raise TypeError(value)
    return complex(value)


_TEXTS = str, bytes, bytearray


def _index(value: Any) -> int:
    """A signed word; one that is larger would be cut."""
    number = value if type(value) is int else operator.index(value)
    if -0x8000_0000_0000_0000 <= number <= 0x7FFF_FFFF_FFFF_FFFF:
        return number
    message = f"{number} does not fit 64 bits"
    raise OverflowError(message)


def _integer(value: Any, width: int, *, unsigned: bool) -> int:
    """The signless value; both signed and unsigned ranges are accepted for iN."""
    number = operator.index(value)
    low = 0 if unsigned else -(1 << (width - 1))
    if not low <= number < 1 << width:
        message = f"{number} does not fit {width} bits"
        raise OverflowError(message)
    half = 1 << (width - 1)
    return number - (1 << width) if number >= half and not unsigned else number


_PLAIN: dict[str, Convert] = {
    "complex<f32>": _complex,
    "complex<f64>": _complex,
    "index": _index,
    "i1": _truth,
}
