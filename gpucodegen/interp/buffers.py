"""Memrefs of the interpreter: NumPy memory, offset, extents and strides.

Strides and offsets count elements. A layout that is neither row-major nor strided maps
elements into a box of memory (`gpucodegen.dialects.shared.memory`). Fresh memory
records which elements have been written, so that a read of an unwritten element is an
error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.memref.layouts import row_major
from gpucodegen.interp.values import Array, code, element, empty, number
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.types import I1, Type
from gpucodegen.records import dataclass


class TrackedArray(np.ndarray[Any, Any]):
    """An array that refuses to read single elements before they are written.

    ``written`` has a bit for each element; it is None for a part or a copy, which is
    not tracked. Slices are plain, untracked arrays.

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
        """Views and copies are not tracked."""
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
        """Marks the elements as written."""
        self.view(np.ndarray)[at] = value
        if self.written is not None:
            self.written[at] = True


def _has_slices(at: Any) -> bool:
    entries: tuple[Any, ...] = at if isinstance(at, tuple) else (at,)
    return any(isinstance(entry, slice) or entry is Ellipsis for entry in entries)


def _first_missing(at: Any, bits: Array) -> list[int]:
    """The index of the first selected element that has not been written."""
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
) -> TrackedArray:
    """A tracked array of which only the elements in ``written`` have been written.

    ``rank``: its dimensions, if its elements are vectors and have more. ``arbitrary``:
    every element may be read; unwritten ones have all bits set, which is NaN or -1.
    """
    made = array.view(TrackedArray)
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
    """A copy with its own record of written elements."""
    bits = written(array)
    return array.copy() if bits is None else fresh(array.copy(), bits.copy())


def written(array: object) -> Array | None:
    """The record of written elements; None if all are written or untracked."""
    return array.written if isinstance(array, TrackedArray) else None


@dataclass(frozen=True, slots=True)
class Box:
    """A layout by a map: the extents of the memory, and the values of its symbols."""

    map: AffineMap
    extents: tuple[int, ...]
    symbols: tuple[int, ...] = ()

    def place(self, index: Sequence[int]) -> int:
        """Position of an element in memory."""
        at = 0
        for i, n in zip(
            self.map.evaluate(index, self.symbols), self.extents, strict=True
        ):
            at = at * n + i
        return at


@dataclass(frozen=True, slots=True, eq=False)
class MemRef:
    """A strided view of one-dimensional ``memory``.

    ``start``: position of the view's first element; ``base``: position of its base
    pointer, from which offsets count.

    >>> from gpucodegen.ir.types import F32
    >>> m = MemRef.allocated((2, 3), F32)
    >>> m.store((1, 2), 5.0)
    >>> m.load((1, 2)), m.strides, m.offset
    (5.0, (3, 1), 0)
    """

    memory: Array
    type: Type
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int = 0
    base: int = 0
    box: Box | None = None

    @staticmethod
    def allocated(shape: Sequence[int], ty: Type) -> MemRef:
        """Fresh memory, row-major."""
        if any(n < 0 for n in shape):
            raise errors.NegativeExtent(shape=tuple(shape))
        memory = empty((math.prod(shape),), ty)
        return MemRef(memory, ty, tuple(shape), contiguous(shape))

    @staticmethod
    def of(array: Array, ty: Type) -> MemRef:
        """The memory of an array, row-major and shared if possible."""
        inner = element(ty).inner
        rank = array.ndim - len(inner)
        shape = array.shape[:rank]
        memory = np.ascontiguousarray(array).reshape((math.prod(shape), *inner))
        bits = written(array)
        if bits is not None:
            memory = fresh(memory, bits.reshape(-1))
        return MemRef(memory, ty, shape, contiguous(shape))

    @property
    def offset(self) -> int:
        """Distance from the base pointer to the first element."""
        return self.start - self.base

    @property
    def rank(self) -> int:
        return len(self.shape)

    def place(self, index: Sequence[int], name: str = "the buffer") -> int:
        """Position of an element in memory. Raises IndexOutOfBounds."""
        at, memory = self.start, self.memory
        for i, n, stride in zip(index, self.shape, self.strides, strict=True):
            if not 0 <= i < n:
                at = -1
                break
            at += i * stride
        else:
            at = at if self.box is None else self.box.place(index)
        if not 0 <= at < len(memory):
            raise errors.IndexOutOfBounds(
                index=tuple(index), buffer=name, shape=self.shape
            )
        if type(memory) is TrackedArray and memory.is_freed:
            self.refuse_freed(name, "used")
        return at

    def refuse_freed(self, name: str, use: str) -> None:
        """Raises UsedAfterDealloc."""
        if isinstance(self.memory, TrackedArray) and self.memory.is_freed:
            raise errors.UsedAfterDealloc(buffer=name, use=use)

    def _place(self, index: Sequence[int]) -> int:
        if self.box is not None:
            return self.box.place(index)
        return self.start + sum(i * s for i, s in zip(index, self.strides, strict=True))

    def load(self, index: Sequence[int], name: str = "the buffer") -> Any:
        return number(self.stored(index, name), self.type)

    def stored(self, index: Sequence[int], name: str = "the buffer") -> Any:
        """An element in its stored form. Raises ReadBeforeWritten."""
        at, bits = self.place(index, name), written(self.memory)
        if bits is not None and not bits[at]:
            raise errors.ReadBeforeWritten(buffer=name, index=list(index))
        return np.ndarray.__getitem__(self.memory, at)

    def store(self, index: Sequence[int], value: Any, name: str = "the buffer") -> None:
        at = self.place(index, name)
        self.memory[at] = value if element(self.type).inner else code(value, self.type)

    def flags(self) -> Array | None:
        bits = written(self.memory)
        if bits is None:
            return None
        return replace(self, memory=bits, type=I1).elements()

    def is_written(self, index: Sequence[int]) -> bool:
        """Whether an element has been written."""
        bits = written(self.memory)
        return bits is None or bool(bits[self._place(index)])

    def array(self, name: str = "the buffer") -> Array:
        """The elements, all marked as written, for a function that may write."""
        self.note_written()
        return self.elements(name)

    def note_written(self, flags: Array | None = None) -> None:
        """Mark all elements, or those of ``flags``, as written."""
        bits = written(self.memory)
        if bits is None:
            return
        of_bits = replace(self, memory=bits, type=I1)
        if self.box is None:
            of_bits.elements()[...] = True if flags is None else flags
            return
        for index in np.ndindex(*self.shape):
            bits[self._place(index)] = True if flags is None else flags[index]

    def elements(self, name: str = "the buffer") -> Array:
        """All elements as a NumPy view, or a copy where the layout is a map."""
        inner = element(self.type).inner
        self.refuse_freed(name, "used")
        if not math.prod(self.shape):
            return empty(self.shape, self.type)
        if self.box is not None:
            places = [self.place(i, name) for i in np.ndindex(*self.shape)]
            plain = self.memory.view(np.ndarray)
            return plain[places].reshape((*self.shape, *inner))
        reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        lowest = self.start + sum(r for r in reach if r < 0)
        highest = self.start + sum(r for r in reach if r > 0)
        if lowest < 0 or highest >= len(self.memory):
            raise errors.IndexOutOfBounds(
                index=tuple(n - 1 for n in self.shape), buffer=name, shape=self.shape
            )
        step = self.memory.strides[0]
        strides = (*(s * step for s in self.strides), *self.memory.strides[1:])
        return np.lib.stride_tricks.as_strided(
            self.memory[self.start :], (*self.shape, *inner), strides
        )

    def write(
        self, values: Array, name: str = "the buffer", flags: Array | None = None
    ) -> None:
        """Overwrite all elements; those not in ``flags`` stay unwritten."""
        if self.box is None:
            self.elements(name)[...] = values
        else:
            for index in np.ndindex(*self.shape):
                self.memory[self.place(index, name)] = values[index]
        self.note_written(flags)

    def viewed(
        self, offset: int, shape: Sequence[int], strides: Sequence[int]
    ) -> MemRef:
        """Another view; ``offset`` is from the first element of this one."""
        self.strided()
        start = self.start + offset
        return replace(
            self, shape=tuple(shape), strides=tuple(strides), start=start, box=None
        )

    def strided(self) -> MemRef:
        """Itself, if its layout is strided. Raises UnsupportedType."""
        if self.box is not None:
            raise errors.UnsupportedType(
                type=f"view of {self.box.map}", target="interp"
            )
        return self


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of elements in row-major order."""
    return tuple(n or 0 for n in row_major(tuple(shape)))
