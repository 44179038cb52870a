"""What the wrappers need from an array library, for NumPy and CuPy alike.

Comes in: an array.  Goes out: the module that made it, for allocation and padding.
CuPy is never imported here: a caller with a CuPy array has imported it.  Arrays of
the emulated device are of a module of this package that stands in for CuPy.
"""

from __future__ import annotations

from ctypes import addressof, c_char
from importlib import import_module
from math import prod
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from gpucodegen import errors


class Array(Protocol):
    """A NumPy or CuPy array."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        ...

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes between neighbours of each dimension."""
        ...

    @property
    def dtype(self) -> Any:
        """Element type."""
        ...

    @property
    def flags(self) -> Any:
        """How its elements lie in memory."""
        ...

    @property
    def T(self) -> Any:  # noqa: N802
        """The transpose."""
        ...


ArrayT = TypeVar("ArrayT", bound=Array)

LIBRARIES = ("numpy", "cupy", "gpucodegen")


def library(array: Array, *, function: str, argument: str) -> Any:
    """The module that an array belongs to.

    >>> import numpy
    >>> library(numpy.zeros(3), function="f", argument="a").__name__
    'numpy'
    """
    kind = type(array)
    name = kind.__module__.partition(".")[0]
    if name not in LIBRARIES:
        raise errors.WrongArgumentType(
            function=function,
            argument=argument,
            expected="a NumPy or CuPy array",
            actual=kind.__name__,
        )
    return import_module(kind.__module__ if name == "gpucodegen" else name)


ALIGNMENT = 64
"""Bytes of a cache line: vectors stored to an aligned result cross none."""


def empty(xp: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Memory for a result, from a line of the cache on.

    >>> import numpy
    >>> a = empty(numpy, (3, 5), numpy.dtype("f4"))
    >>> a.shape, a.ctypes.data % ALIGNMENT
    ((3, 5), 0)
    """
    if xp is not np:
        return xp.empty(shape, dtype)
    memory = np.empty(prod(shape) * dtype.itemsize + ALIGNMENT, np.uint8)
    start = -addressof(c_char.from_buffer(cast("bytearray", memory))) % ALIGNMENT
    return np.ndarray(shape, dtype, memory, start)


def is_turned(array: Array) -> bool:
    """Whether the transpose is contiguous, and the array is not.

    >>> a = np.zeros((2, 3))
    >>> is_turned(a), is_turned(a.T), is_turned(a.T[::2])
    (False, True, False)
    """
    flags = array.flags
    return bool(flags.f_contiguous and not flags.c_contiguous)


def require_rank(array: Array, rank: int, *, function: str, argument: str) -> None:
    """Refuse an array of another rank."""
    if len(array.shape) != rank:
        raise errors.WrongArgumentRank(
            function=function, argument=argument, expected=rank, actual=len(array.shape)
        )
