"""What zero points add to a contraction of integers: once to each row, to each column.

    sum_k (a - x) (b + s - y) =   sum_k a b
                                + (s - y) sum_k a             (an offset of the row)
                                - x sum_k (b + s - y)         (an offset of the column)

where the b that is multiplied lies ``s`` below that of the program.  Both are vectors,
summed up before the contraction and added where its sums start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I32, MemRefType
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.contraction.operands import Operand
from gpucodegen.passes.contraction.pointwise import Pointwise, Step
from gpucodegen.passes.contraction.ranges import grid
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.indexing import Index
from gpucodegen.passes.nests import Axis

Term = Callable[[Builder, Sequence[Index]], Value]
"""Builds an i32 of an element of an array."""


@dataclass(frozen=True, slots=True)
class Sums:
    """``sum over reduction of term``, for every place of the other dimensions.

    ``walked``: the axis of each dimension that the reduction walks.
    """

    shape: tuple[int, ...]
    indices: tuple[Index, ...]
    walked: dict[int, Axis]
    parallel: bool

    @staticmethod
    def over(
        source: Operand, reduction: Sequence[Axis], *, parallel: bool
    ) -> Sums | None:
        """The sums of a factor; None where an index mixes what is summed with others.

        Each axis of the reduction has to have a dimension of its own.
        """
        ty = source.memref.type
        walked = {
            d: axis
            for axis in reduction
            for d in source.dimensions_of(axis)
            if source.indices[d] == Index.of(axis.iv)
        }
        places = [d for axis in reduction for d in source.dimensions_of(axis)]
        if not isinstance(ty, MemRefType) or sorted(places) != sorted(walked):
            return None
        if len(walked) != len(reduction) or len(walked) == ty.rank:
            return None
        shape = tuple(extent or 0 for extent in ty.shape)
        return Sums(shape, source.indices, walked, parallel)

    @property
    def kept(self) -> list[int]:
        """The dimensions that are not summed over."""
        return [d for d in range(len(self.shape)) if d not in self.walked]

    def build(self, b: Builder, term: Term, scale: Value) -> Operand:
        """A new buffer of ``scale`` times each sum, and what of it an offset is."""
        kept = self.kept
        ty = MemRefType(tuple(self.shape[d] for d in kept), I32)
        buffer = b.allocate("memref.alloc", ty, "offsets")
        if len(self.shape) - 1 in self.walked:
            self._along(b, buffer, term, scale)
        else:
            self._across(b, buffer, term, scale)
        return Operand(buffer, tuple(self.indices[d] for d in kept))

    def _along(self, b: Builder, buffer: Value, term: Term, scale: Value) -> None:
        """Sums of neighbours: each in a register."""

        def one(i: Builder, ivs: Sequence[Value]) -> None:
            at = dict(zip(self.kept, map(Index.of, ivs), strict=True))
            zero = i.constant(0, I32)
            total = self._total(i, at, list(self.walked), zero, term)
            (value,) = i.add("arith.muli", (scale, total), [I32], hint="offset")
            i.store(value, buffer, list(at.values()))

        hints = [f"i{d}" for d in self.kept]
        shape = [self.shape[d] for d in self.kept]
        grid(b, shape, one, hints, parallel=self.parallel)

    def _total(
        self,
        b: Builder,
        at: dict[int, Index],
        dimensions: Sequence[int],
        total: Value,
        term: Term,
    ) -> Value:
        if not dimensions:
            place = [at[d] for d in range(len(self.shape))]
            operands = (total, term(b, place))
            return b.add("arith.addi", operands, [I32], hint="sum")[0]
        first, *rest = dimensions

        def body(i: Builder, iv: Value, now: Sequence[Value]) -> Sequence[Value]:
            return [self._total(i, at | {first: Index.of(iv)}, rest, now[0], term)]

        extent = self.walked[first].extent
        return b.carried_loop(0, [extent], [total], body, hint="k")[0]

    def _across(self, b: Builder, buffer: Value, term: Term, scale: Value) -> None:
        """Sums of lines: line after line is added to them."""
        kept = self.kept
        shape = [self.shape[d] for d in kept]
        hints = [f"i{d}" for d in kept]

        def clear(i: Builder, ivs: Sequence[Value]) -> None:
            i.store(i.constant(0, I32), buffer, [Index.of(iv) for iv in ivs])

        def add(i: Builder, ivs: Sequence[Value]) -> None:
            at = dict(zip([*self.walked, *kept], map(Index.of, ivs), strict=True))
            cell = [at[d] for d in kept]
            value = term(i, [at[d] for d in range(len(self.shape))])
            (value,) = i.add("arith.muli", (scale, value), [I32], hint="term")
            operands = (i.load(buffer, cell, "sum"), value)
            (value,) = i.add("arith.addi", operands, [I32], hint="sum")
            i.store(value, buffer, cell)

        lines = [axis.extent for axis in self.walked.values()]
        names = [axis.name for axis in self.walked.values()]
        grid(b, shape, clear, hints, parallel=False)
        grid(b, [*lines, *shape], add, [*names, *hints], parallel=False)


def with_offset(contraction: Contraction, offset: Operand) -> Contraction:
    """The contraction whose sums start that much higher."""
    result = contraction.result
    old, more, new = (Value(I32, name) for name in ("old", "offset", "new"))
    steps: tuple[Step, ...] = (
        (Operation("affine.load", (result.memref,), (old,)), result),
        (Operation("affine.load", (offset.memref,), (more,)), offset),
        (Operation("arith.addi", (old, more), (new,)), None),
        (Operation("affine.store", (new, result.memref)), result),
    )
    start = contraction.start or Pointwise((), (result,))
    return replace(contraction, start=replace(start, steps=(*start.steps, *steps)))
