"""Subscripts with arrays of integers: NumPy's advanced indexing.

Index arrays are broadcast together. Their dimensions stand where the index arrays do,
or first if a slice is between index arrays. Negative indices count from the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python.arrays import (
    Array,
    Extents,
    Lazy,
    View,
    broadcast,
    cast,
    composed,
    copied,
    in_memory,
    lazy,
    may_share,
    positions,
    stretched,
)
from gpucodegen.python.elementwise import apply
from gpucodegen.python.nests import nest
from gpucodegen.python.range_checks import convert
from gpucodegen.python.scalars import Scalar, chosen, known
from gpucodegen.records import dataclass

Combine = Callable[[OperationList, Sequence[Scalar]], Scalar]
Index = Array | Scalar
I8 = np.dtype("i8")


@dataclass(frozen=True, slots=True)
class Gathered:
    """An array, and for each dimension an index array, or None for all positions.

    ``front``: whether the dimensions of the index arrays come first.
    """

    source: View
    indices: tuple[Index | None, ...]
    front: bool

    def _indexed(self) -> tuple[Extents, list[Lazy]]:
        """The common extents of the index arrays, and each as integers."""
        given = [lazy(i) for i in self.indices if i is not None]
        return broadcast([cast(i, int) for i in given])

    def _first(self) -> int:
        """The number of dimensions of the result before those of the index arrays."""
        if self.front:
            return 0
        return next(n for n, i in enumerate(self.indices) if i is not None)

    def _places(self) -> tuple[Extents, list[Lazy]]:
        """The result's extents, and the position in each dimension of the source."""
        own, arrays = self._indexed()
        first = self._first()
        kept = [n for n, i in enumerate(self.indices) if i is None]
        rest = [self.source.extents[n] for n in kept]
        extents = (*rest[:first], *own, *rest[first:])
        spread = iter([_placed(a, extents, first) for a in arrays])
        where = [n if n < first else n + len(own) for n in range(len(kept))]
        along = iter([positions(extents, n) for n in where])
        return extents, [
            next(along) if i is None else next(spread) for i in self.indices
        ]

    def read(self, b: OperationList) -> View:
        """A new array with the elements."""
        extents, places = self._places()

        def body(inner: OperationList, at: Sequence[Scalar]) -> Scalar:
            return self.source.element(inner, self._wrapped(inner, at))

        return copied(b, composed(self.source.dtype, extents, places, body))

    def store(
        self, b: OperationList, value: Any, combined: Combine | None = None
    ) -> None:
        """Store to the elements in order, so that the last of equal positions stays.

        ``combined``: of the element's old value and the given one.  Raises Disagree.
        """
        extents, places = self._places()
        given = stretched(lazy(value), extents)
        source = in_memory(b, given) if given.reads else None
        if source is not None and may_share(source, self.source):
            source = copied(b, source)
        wanted = [
            place if i is None else in_memory(b, place, I8)
            for i, place in zip(self.indices, places, strict=True)
        ]

        def visit(inner: OperationList, at: Sequence[Scalar]) -> None:
            found = [_at(inner, place, at) for place in wanted]
            new = given.body(inner, []) if source is None else source.element(inner, at)
            place = self._wrapped(inner, found)
            if combined is not None:
                new = combined(inner, [self.source.element(inner, place), new])
            self.source.put(inner, place, new)

        nest(b, extents, visit)

    def _wrapped(self, b: OperationList, at: Sequence[Scalar]) -> list[Scalar]:
        return [
            index if i is None else wrapped(b, convert(b, index, int), extent)
            for i, index, extent in zip(
                self.indices, at, self.source.extents, strict=True
            )
        ]


def _at(b: OperationList, place: Array, at: Sequence[Scalar]) -> Scalar:
    if isinstance(place, View):
        return place.element(b, at)
    (read,) = place.reads
    (dimension,) = read.follows
    assert dimension is not None
    return at[dimension]


def _placed(array: Lazy, extents: Extents, first: int) -> Lazy:
    """An index array over a result whose dimension ``first`` is its first."""
    reads = (
        replace(r, follows=tuple(None if d is None else d + first for d in r.follows))
        for r in array.reads
    )
    return replace(array, extents=extents, reads=tuple(reads))


def wrapped(b: OperationList, index: Scalar, extent: Scalar) -> Scalar:
    """An index that counts from the end where it is negative."""
    if index.value is None and index.constant >= 0:
        return index
    if index.is_natural:
        return index
    is_negative = apply(b, np.less, [index, known(0)])
    moved = apply(b, np.add, [index, extent])
    pair = [v.ssa(b) for v in (moved, index)]
    return Scalar(int, chosen(b, is_negative.ssa(b), *pair))
