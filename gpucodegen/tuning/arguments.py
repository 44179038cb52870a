"""Arguments of a call as data for other processes, and as copies with equal layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import CACHE_LINE


@dataclass(frozen=True, slots=True)
class PlainArray:
    """The numbers of a NumPy array, its strides, and the alignment of its memory.

    >>> row = np.arange(24, dtype="f4").reshape(6, 4)[::2, ::-1]
    >>> copy = PlainArray.of(row).array()
    >>> copy.strides == row.strides, np.array_equal(copy, row)
    (True, True)
    >>> (copy.ctypes.data - row.ctypes.data) % 64
    0
    """

    contents: np.ndarray
    strides: tuple[int, ...]
    residue: int

    @staticmethod
    def of(array: np.ndarray) -> PlainArray:
        """A description of an array, which keeps its memory."""
        return PlainArray(array, array.strides, array.ctypes.data % CACHE_LINE)

    def __reduce__(self) -> tuple[Any, ...]:
        """The numbers in order, as pickle drops strides."""
        plain = np.ascontiguousarray(self.contents)
        return PlainArray, (plain, self.strides, self.residue)

    def __str__(self) -> str:
        return "x".join(map(str, (*self.contents.shape, self.contents.dtype)))

    def array(self) -> np.ndarray:
        """A new array with these contents and this layout."""
        shape, dtype = self.contents.shape, self.contents.dtype
        steps = [(n - 1) * s for n, s in zip(shape, self.strides, strict=True) if n]
        before = -sum(min(step, 0) for step in steps)
        size = before + sum(max(step, 0) for step in steps) + dtype.itemsize
        memory = np.zeros(size + 2 * CACHE_LINE, np.uint8)
        first = (self.residue - before - memory.ctypes.data) % CACHE_LINE + before
        made = np.ndarray(shape, dtype, memory, first, self.strides)
        made[...] = self.contents
        return made


def plain(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """NumPy arrays as `PlainArray`, other arguments as they are."""
    return tuple(PlainArray.of(x) if type(x) is np.ndarray else x for x in arguments)


def copied(argument: Any) -> Any:
    """An argument in memory of its own, with the same strides; numbers as they are.

    >>> copied(np.zeros((6, 4), "f4")[::2, ::-1]).strides, copied(3)
    ((32, -4), 3)
    """
    if isinstance(argument, np.ndarray):
        return PlainArray.of(cast("np.ndarray", argument)).array()
    if hasattr(argument, "__cuda_array_interface__"):
        return argument.copy(order="K")  # rows or columns; no gaps between them
    return argument.copy() if hasattr(argument, "__setitem__") else argument


def on_host(argument: Any) -> Any:
    """A device array as a NumPy array; other arguments as they are.

    >>> on_host(3), on_host(np.ones(2)).tolist()
    (3, [1.0, 1.0])
    """
    is_there = hasattr(argument, "__cuda_array_interface__")
    return argument.get() if is_there else argument


def real(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The inverse of `plain`."""
    return tuple(x.array() if isinstance(x, PlainArray) else x for x in arguments)
