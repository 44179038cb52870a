"""Python functions in machine code that check their arrays and launch a kernel.

From a kernel and the arrays of a checked call, `direct_call` makes a function for other
arrays like those, which takes a tenth of the time of such checks.
"""

from __future__ import annotations

import ctypes
import os
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from gpucodegen.intrinsics import direct_layout
from gpucodegen.runtime.cpu.own_pool import address

MODULE = "gpucodegen.intrinsics.direct_launch"
NAME = b"launch"
FAST_CALL = 0x0080
"""``METH_FASTCALL``."""
Arrays = Sequence[np.ndarray[Any, Any]]


class _Method(ctypes.Structure):
    """`PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


def direct_call(
    kernel: int,
    arrays: Arrays,
    order: Sequence[int],
    apart: Sequence[tuple[int, int, int, int]],
    unset: ctypes.Array[ctypes.c_char],
) -> Callable[..., Any] | None:
    """A function that runs the kernel and returns None, or returns `NotImplemented`.

    It returns `NotImplemented` for arrays unlike ``arrays``. ``kernel``: the address of
    a C function of as many addresses as ``order`` has positions.  ``arrays`` determine
    the required dtype, extents, strides and access, ``apart`` the pairs that must not
    overlap: two positions, and the distances of their addresses between which they do.
    ``unset``: an environment variable that must not exist. The result is None where
    Python objects do not have the assumed layout.

    >>> from gpucodegen.runtime.cpu.direct_call import direct_call
    >>> add = ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_double)] * 2)
    >>> @add
    ... def first_twice(a, b):
    ...     b[0] = a[0] + a[0]
    >>> code = ctypes.cast(first_twice, ctypes.c_void_p).value
    >>> a, b = np.ones(2), np.zeros(2)
    >>> name = ctypes.create_string_buffer(b"NO_SUCH_VARIABLE")
    >>> call = direct_call(code, [a, b], (0, 1), (), name)
    >>> call(a, b), call(a, b[:1]), call(a, [1, 2]), call(a)
    (None, NotImplemented, NotImplemented, NotImplemented)
    >>> b
    array([2., 0.])
    """
    if not 0 < len(order) <= direct_layout.MOST_ARRAYS or not _is_known():
        return None
    header = [0] * direct_layout.HEADER
    header[direct_layout.KERNEL] = kernel
    header[direct_layout.PARAMETERS] = len(order)
    header[direct_layout.PAIRS] = len(apart)
    header[direct_layout.ARRAYS] = len(arrays)
    header[direct_layout.VARIABLE] = ctypes.addressof(unset)
    header[direct_layout.ARRAY_TYPE] = id(np.ndarray)
    header[direct_layout.DONE] = id(None)
    header[direct_layout.DECLINED] = id(NotImplemented)
    pairs = (word for pair in apart for word in pair)
    facts = (word for one in arrays for word in _facts(one))
    record = array("q", [*header, *order, *pairs, *facts]).tobytes()
    used = record, unset, *(one.dtype for one in arrays)
    return _new_function()(ctypes.byref(_method()), used, None)


def _facts(one: np.ndarray[Any, Any]) -> Iterator[int]:
    yield from (
        id(one.dtype),
        direct_layout.ACCESS_FLAG * one.flags.writeable,
        one.ndim,
    )
    yield from one.shape
    yield from one.strides


@cache
def _method() -> _Method:
    """The description of the function, which all functions share."""
    names = {direct_layout.ENTRY: "launch"}
    code = address(MODULE, names, direct_layout.ENTRY, direct_layout.OBJECTS)
    return _Method(NAME, code, FAST_CALL, None)


@cache
def _new_function() -> Callable[..., Any]:
    """``PyCFunction_NewEx``: a function bound to an object."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return new


@cache
def _is_known() -> bool:
    """Whether objects lie at their `id`, with the layout of `layout`."""
    is_usual = sys.implementation.name == "cpython" and os.name == "posix"
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    if not is_usual or not has_lock or not sys.maxsize >> 62:
        return False
    text = b"12345678"
    items, (number,) = (text, 7), array("q", text)
    return (
        _word(id(items) + direct_layout.ITEMS) == id(text)
        and _word(id(text) + direct_layout.CONTENTS) == number
        and _has_fields(np.zeros((4, 6, 2), "i2")[::-2, 1:, 0])
        and _has_fields(np.frombuffer(text))
        and bool(_method().function)
    )


def _has_fields(one: np.ndarray[Any, Any]) -> bool:
    """Whether the fields of an array object have the assumed offsets."""
    place = id(one)
    numbers = {
        direct_layout.TYPE: id(np.ndarray),
        direct_layout.DATA: one.ctypes.data,
        direct_layout.DTYPE: id(one.dtype),
    }
    bits = {
        direct_layout.DIMENSIONS: (direct_layout.INT, one.ndim),
        direct_layout.FLAGS: (
            direct_layout.ACCESS_FLAG,
            direct_layout.ACCESS_FLAG * one.flags.writeable,
        ),
    }
    lists = {direct_layout.SHAPE: one.shape, direct_layout.STRIDES: one.strides}
    return (
        all(_word(place + field) == found for field, found in numbers.items())
        and all(_word(place + f) & mask == found for f, (mask, found) in bits.items())
        and all(
            _word(_word(place + field) + direct_layout.WORD_BYTES * d) == found
            for field, row in lists.items()
            for d, found in enumerate(row)
        )
    )


def _word(place: int) -> int:
    return ctypes.c_ssize_t.from_address(place).value
