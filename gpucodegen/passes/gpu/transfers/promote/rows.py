"""A copy as transfers: which dimensions loops walk, and what one transfer moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects.shared.memory import MemorySpace, meaning
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.gpu.transfers.promote.copies import Held, Span, span
from gpucodegen.tiling.schedule.promotion import ScannedRange


def has_runs(held: Held, ranges: Sequence[ScannedRange]) -> bool:
    """Whether rows of the array are runs in memory that begin at one place each."""
    ty = held.memref.type
    assert isinstance(ty, MemRefType)
    is_slow = meaning(ty.memory_space) is MemorySpace.GLOBAL
    return is_slow and ty.layout is None and len(ranges[-1].lowers) == 1


@dataclass(frozen=True, slots=True)
class RowTransfers:
    """Transfers of one row each, or of a full box of ``height`` rows at once.

    ``looped``: the ranges of the dimensions with one transfer per index.
    """

    held: Held
    looped: tuple[ScannedRange, ...]
    last: ScannedRange
    height: int

    @staticmethod
    def of(held: Held, ranges: Sequence[ScannedRange]) -> RowTransfers:
        """One strided transfer for the last two dimensions where both are full."""
        *outer, last = ranges
        extents = held.tile.extents
        full = len(outer) > 0 and all(
            _is_full(held, range_, d, extents[d])
            for d, range_ in list(enumerate(ranges))[-2:]
        )
        looped, height = (outer[:-1], extents[-2]) if full else (outer, 1)
        return RowTransfers(held, tuple(looped), last, height)

    def span(self, at: Sequence[Value]) -> Span:
        """Where the row at these indices begins and ends."""
        full = self.height > 1
        indices = at if not full else [*at, 0]
        return span(self.held, self.last, len(indices), indices)

    def lengths(self, b: Builder, at: Sequence[Value]) -> list[Value]:
        """The count, and for several rows stride and run."""
        scope = self.held.scope
        if self.height > 1:
            run, memref = self.held.tile.extents[-1], self.held.memref
            stride = scope.extent(memref, len(self.held.tile.extents) - 1)
            return [scope.constant(self.height * run), stride, scope.constant(run)]
        bounds = self.span(at)
        (first,) = bounds.lowers
        counts = [compact(upper - first) for upper in bounds.uppers]
        counts += self._left_of_row(first)
        if len(counts) == 1 and counts[0].constant is not None:
            return [scope.constant(counts[0].constant)]
        return [b.smallest(counts, "count")]

    def _left_of_row(self, first: Index) -> list[Index]:
        """The elements from there to the end of the array's row, if no number is.

        The bounds of the loops stay within, but the text of a run has to show it.
        """
        memref, last = self.held.memref, len(self.held.corner) - 1
        assert isinstance(memref.type, MemRefType)
        if last == 0 or memref.type.shape[last] is not None:
            return []
        end = Index.of(self.held.scope.extent(memref, last))
        return [compact(end - self.held.corner[last] - first)]


def _is_full(held: Held, range_: ScannedRange, d: int, extent: int) -> bool:
    """Whether a dimension always runs from 0 to the buffer's extent."""
    names = {name for bound in (*range_.lowers, *range_.uppers) for name in bound.names}
    if any(name.startswith("c") and name[1:].isdigit() for name in names):
        return False
    bounds = span(held, range_, d, ())
    lowers = {bound.constant for bound in bounds.lowers}
    uppers = {bound.constant for bound in bounds.uppers}
    return lowers == {0} and uppers == {extent}
