"""Fresh memory, which remembers what of it has been written."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.interp.values.elements import Array


class Fresh(np.ndarray[Any, Any]):
    """An array whose elements must be written, one by one, before they are read so.

    ``written`` has a bit for each element; None for a part or a copy, of which nothing
    is known.  Slices are plain arrays, which ask nothing.

    >>> line = fresh(np.zeros(2))
    >>> line[0] = 5.0
    >>> float(line[0])
    5.0
    >>> line[1]
    Traceback (most recent call last):
    gpucodegen.errors.launch.ReadBeforeWritten: error: memory[1] is read, which \
nothing has written: fresh memory holds no values. Store to it first, or start from \
linalg.fill
    """

    written: Array | None
    is_freed: bool

    def __array_finalize__(self, obj: object) -> None:
        """Views and copies know nothing."""
        self.written = None
        self.is_freed = False

    def __getitem__(self, at: Any) -> Any:
        """Raises ReadBeforeWritten."""
        if self.written is None:
            return super().__getitem__(at)
        if _has_slices(at):
            return self.view(np.ndarray)[at]
        if not np.all(self.written[at]):
            raise errors.ReadBeforeWritten(
                buffer="memory", index=_first_missing(at, self.written)
            )
        return self.view(np.ndarray)[at]

    def __setitem__(self, at: Any, value: Any) -> None:
        """Notes the elements as written."""
        self.view(np.ndarray)[at] = value
        if self.written is not None:
            self.written[at] = True


def _has_slices(at: Any) -> bool:
    entries: tuple[Any, ...] = at if isinstance(at, tuple) else (at,)
    return any(isinstance(entry, slice) or entry is Ellipsis for entry in entries)


def _first_missing(at: Any, bits: Array) -> list[int]:
    """The index of the first element asked for that has not been written."""
    entries: tuple[Any, ...] = at if isinstance(at, tuple) else (at,)
    rows = np.broadcast_arrays(*entries)
    (missing, *_) = np.flatnonzero(~np.atleast_1d(bits[at]))
    return [int(row.reshape(-1)[missing]) for row in rows]


def fresh(
    array: Array,
    written: Array | None = None,
    *,
    rank: int = -1,
    arbitrary: bool = False,
) -> Fresh:
    """An array as memory of which only what ``written`` says has been written.

    ``rank``: its dimensions, where its elements are vectors and have more.
    ``arbitrary``: every element may be read; all bits of its number are one, which is
    NaN or -1.
    """
    made = array.view(Fresh)
    if arbitrary:
        if array.dtype.kind == "b":
            array.fill(True)
        elif array.dtype.kind != "O" and array.size:
            array.reshape(-1).view(np.uint8).fill(255)
        return made
    shape = array.shape if rank < 0 else array.shape[:rank]
    made.written = np.zeros(shape, bool) if written is None else written
    return made


def copied(array: Array) -> Array:
    """A copy that knows what has been written."""
    bits = written(array)
    return array.copy() if bits is None else fresh(array.copy(), bits.copy())


def written(array: object) -> Array | None:
    """Which elements have been written; None if all have, as far as is known."""
    return array.written if isinstance(array, Fresh) else None
