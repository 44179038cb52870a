"""What an access means: one element of a plain array, or `OutsideError`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


class OutsideError(Exception):
    """An access that leaves its buffer."""


def _check(array: np.ndarray, index: tuple[int, ...]) -> None:
    if not all(0 <= i < n for i, n in zip(index, array.shape, strict=True)):
        raise OutsideError


def at(array: np.ndarray, *index: int) -> Any:
    """The element at an index."""
    _check(array, index)
    return array[index]


def put(array: np.ndarray, value: Any, *index: int) -> None:
    """Store an element at an index."""
    _check(array, index)
    array[index] = value


def window(
    array: np.ndarray, start: tuple[int, ...], sizes: tuple[int, ...]
) -> np.ndarray:
    """The elements of a box that begins at an index."""
    _check(array, start)
    ends = tuple(s + n - 1 for s, n in zip(start, sizes, strict=True))
    _check(array, ends)
    return array[tuple(slice(s, e + 1) for s, e in zip(start, ends, strict=True))]
