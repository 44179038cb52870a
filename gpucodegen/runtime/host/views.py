"""Buffer queries and views of generated host programs, and their asynchronous copies.

`HostTransfers` performs a copy at its wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from math import prod
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.intrinsics.framework.elements import row_major
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.buffers import Buffer, Expected, check_strides
from gpucodegen.runtime.host.engines import Engine, Shape

Array = np.ndarray[Any, np.dtype[Any]]
End = tuple[Buffer, tuple[int, ...]]


@dataclass(slots=True)
class HostTransfers:
    """Transfers in flight by tag element, between buffers of one engine."""

    engine: Engine
    in_flight: dict[tuple[int, tuple[int, ...]], tuple[int, Callable[[], None]]] = (
        field(default_factory=dict[Any, Any])
    )

    def start(
        self,
        source: End,
        target: End,
        count: int,
        tag: End,
        stride: int | None,
        run: int | None,
        *,
        strided_source: bool = True,
    ) -> None:
        """Records a transfer; ``stride`` and ``run`` describe one side of it."""
        key = tag[0].pointer, tag[1]
        if key in self.in_flight:
            raise errors.UnfinishedTransfer(
                buffer="a buffer", problem=f"tag {tag[1]} is started again"
            )
        numbers = np.arange(count)
        apart = numbers if not run else numbers // run * (stride or run) + numbers % run
        sides = (apart, numbers) if strided_source else (numbers, apart)
        take, put = _elements(*source, sides[0]), _elements(*target, sides[1])

        def move() -> None:
            taken = self.engine.contents(source[0]).flat[take]
            changed = self.engine.contents(target[0])
            changed.flat[put] = taken
            self.engine.assign(target[0], changed)

        self.in_flight[key] = count, move

    def wait(self, tag: End, count: int) -> None:
        """Performs the transfer of a tag element."""
        key = tag[0].pointer, tag[1]
        if key not in self.in_flight:
            raise errors.UnfinishedTransfer(
                buffer="a buffer", problem=f"tag {tag[1]} is waited for, not started"
            )
        started, move = self.in_flight.pop(key)
        if started != count:
            raise errors.UnfinishedTransfer(
                buffer="a buffer",
                problem=f"{started} elements are under way, {count} are waited for",
            )
        move()


def _elements(buffer: Buffer, index: tuple[int, ...], apart: Array) -> Array:
    """Row-major positions of the elements at some distances from an index.

    Raises IndexOutOfBounds if one lies outside the buffer.
    """
    first = 0
    for extent, i in zip(buffer.shape, index, strict=True):
        first = first * extent + i
    places = first + apart
    outside = places[(places < 0) | (places >= prod(buffer.shape))]
    if outside.size:
        where = f"{outside[0]} (in row-major order, of a transfer from {index})"
        raise errors.IndexOutOfBounds(
            index=where, buffer="a buffer", shape=buffer.shape
        )
    return places


class Views:
    """The part of `HostApi` about extents, strides and views."""

    _engine: Engine

    def alloc(self, shape: Shape, dtype: str) -> Buffer:
        """Uninitialised memory."""
        raise NotImplementedError

    def dealloc(self, buffer: Buffer) -> None:
        """Memory given back."""
        raise NotImplementedError

    def dim(self, buffer: Buffer, dimension: int) -> int:
        return buffer.shape[dimension]

    def stride(self, buffer: Buffer, dimension: int) -> int:
        """A stride in elements."""
        return buffer.strides[dimension]

    def cast(
        self,
        buffer: Buffer,
        shape: Sequence[int | None],
        strides: Sequence[int | None] | None = (),
    ) -> Buffer:
        """``memref.cast``: the same buffer, its extents and strides checked.

        ``strides``: None means row-major, None in it any, and () all.
        """
        check_shape("memref.cast", shape, buffer)
        if strides != ():
            wanted = Expected(
                "source", buffer.dtype, tuple(shape), strides and tuple(strides)
            )
            check_strides(buffer, wanted, "memref.cast")
        return buffer

    def rank(self, buffer: Buffer) -> int:
        """How many dimensions a buffer has."""
        return len(buffer.shape)

    def view(self, buffer: Buffer, offset: int, shape: Shape, strides: Shape) -> Buffer:
        """Another shape over the same memory, ``offset`` elements after its start."""
        if any(extent < 0 for extent in shape):
            raise errors.NegativeExtent(shape=shape)
        made = self._engine.view(buffer, offset, shape, strides)
        made.origin = buffer.base
        return made

    def reinterpret(
        self, buffer: Buffer, offset: int, shape: Shape, strides: Shape
    ) -> Buffer:
        """``memref.reinterpret_cast``: a view relative to the base buffer's start."""
        return self.view(buffer, offset - buffer.offset, shape, strides)

    def whole(self, buffer: Buffer) -> Buffer:
        """The base buffer of a view, from its first element."""
        return self.reinterpret(buffer, 0, (), ())

    def byte_view(self, buffer: Buffer, shift: int, dtype: str, shape: Shape) -> Buffer:
        """``memref.view``: other elements, from ``shift`` bytes after the first."""
        if any(extent < 0 for extent in shape):
            raise errors.NegativeExtent(shape=shape)
        made = self._engine.byte_view(buffer, shift, dtype, shape)
        if made.pointer % made.array.itemsize:
            align = made.array.itemsize
            raise errors.MisalignedAccess(align=align, buffer="the view", index=0)
        return made

    def reshape(self, buffer: Buffer, shape: Buffer) -> Buffer:
        """``memref.reshape``: all elements, in the shape that a buffer holds."""
        wanted = tuple(map(int, self._engine.contents(shape).ravel()))
        if prod(wanted) != prod(buffer.shape):
            given = f"{list(buffer.shape)} is reshaped to {list(wanted)}"
            raise errors.ShapesDisagree(problem=given)
        return self.view(buffer, 0, wanted, row_major(wanted))

    def realloc(self, buffer: Buffer, extent: int) -> Buffer:
        """``memref.realloc``: a new buffer with the common elements."""
        made = self.alloc((extent,), buffer.dtype)
        both = (min(extent, buffer.shape[0]),)
        parts = (self.view(part, 0, both, (1,)) for part in (buffer, made))
        self._engine.copy(*parts)
        self.dealloc(buffer)
        return made

    def offset(self, buffer: Buffer) -> int:
        """Elements before the first one of a view, in its base buffer."""
        return buffer.offset

    def base(self, buffer: Buffer) -> int:
        """The address of the buffer that this is a view of."""
        return buffer.base


def check_shape(what: str, shape: Sequence[int | None], buffer: Buffer) -> None:
    """Raises an error for a buffer of another shape; None stands for any extent."""
    if len(shape) != len(buffer.shape):
        raise errors.WrongArgumentRank(
            function=what,
            argument="source",
            expected=len(shape),
            actual=len(buffer.shape),
        )
    pairs = zip(shape, buffer.shape, strict=True)
    for dimension, (want, have) in enumerate(pairs):
        if want is not None and want != have:
            raise errors.WrongExtent(
                function=what,
                argument="source",
                expected=want,
                dimension=dimension,
                actual=have,
                shape=tuple(shape),
            )
