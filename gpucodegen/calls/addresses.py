"""The address of an array's first element: the word that stands for it in a launch."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from gpucodegen.intrinsics import direct_layout

_addressof, _first_byte = ctypes.addressof, ctypes.c_char.from_buffer


def _asked(array: np.ndarray[Any, Any]) -> int:
    """The address, from the buffer protocol where that gives one."""
    try:
        return _addressof(_first_byte(cast("bytearray", array)))
    except (TypeError, ValueError):  # read-only, empty or not contiguous
        return int(array.ctypes.data)


def _read(array: np.ndarray[Any, Any]) -> int:
    """The address, from the array itself: that takes half the time."""
    return _integer_at(id(array) + direct_layout.DATA).value


_integer_at = ctypes.c_size_t.from_address


def _is_there() -> bool:
    """Whether objects lie where `id` says, and arrays have the field there."""
    if sys.implementation.name != "cpython":
        return False
    row = np.zeros(9)
    return all(_read(a) == a.ctypes.data for a in (row, row[2:], row[::-2], row[:0]))


address = _read if _is_there() else _asked
"""Where the first element of an array lies.

>>> a = np.zeros((2, 3))
>>> address(a) == a.ctypes.data, address(a[:, 1:].T) == a[:, 1:].ctypes.data
(True, True)
"""


def aligned_address(alignment: int) -> Callable[[Any], int]:
    """Where NumPy arrays begin, if so many bytes divide that.

    The function raises `ValueError` for others.

    >>> a = np.zeros(8)
    >>> aligned_address(8)(a[1:]) - aligned_address(8)(a)
    8
    """

    def place(array: Any) -> int:
        found = address(array)
        if found % alignment:
            raise ValueError(found)
        return found

    return place


def device_address(size: int) -> Callable[[Any], int]:
    """Where arrays of a device begin whose elements have so many bytes.

    The function raises `ValueError` for one between two elements.

    >>> from gpucodegen.runtime.devices import emulated_cupy as xp
    >>> a = xp.zeros((4,), "f4")
    >>> device_address(4)(a[1:]) - device_address(4)(a)
    4
    """

    def place(array: Any) -> int:
        found = array.data.ptr
        if found % size:
            raise ValueError(found)
        return found

    return place
