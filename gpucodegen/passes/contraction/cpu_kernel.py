"""The register tiles of one panel: C stays in registers for a reduction block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpucodegen.ir.operation import Value
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.contraction.blocking import Blocking
from gpucodegen.passes.contraction.packing import Left, Right
from gpucodegen.passes.contraction.ranges import (
    Positions,
    Range,
    Values,
    carried,
    nested,
)
from gpucodegen.passes.indexing import Index
from gpucodegen.passes.nests import Axis


@dataclass(frozen=True, slots=True)
class RowTiles:
    """Tiles of ``rows``, one under the other, in one panel of columns."""

    cut: Blocking
    rows: Range | None
    ranges: Sequence[Range]
    left: Left
    right: Right

    def build(self, b: Builder, at: Positions, panel: Index, columns: int) -> None:
        """Full row tiles of the block, then the rest of the last block."""
        at = at | {self.cut.column.iv: panel * self.cut.plan.columns}
        if self.rows is None:
            self._line(b, at, panel, columns)
            return
        height, row = self.cut.plan.rows, self.rows.axis
        rest = row.extent % height
        whole = row.extent - rest

        def tile(inner: Builder, first: Index | Value, count: int) -> None:
            here = at | {row.iv: Index.of(first)}
            self._tile(inner, here, panel, (count, columns), row)

        if whole:
            size = self.cut.plan.row_block
            ends = [whole] if size >= row.extent else [self.rows.uppers[0], whole]
            full = replace(self.rows, uppers=ends, stride=height)
            nested(b, [full], at, lambda i, here: tile(i, here[row.iv], height))
        if rest:
            end = Index.of(self.rows.uppers[0])
            b.guard([end - row.extent], lambda i: tile(i, Index.of(whole), rest))

    def _tile(
        self,
        b: Builder,
        at: Positions,
        panel: Index,
        shape: tuple[int, int],
        row: Axis,
    ) -> None:
        """Load C, add the outer products of a reduction block, store C."""
        result, where = self.cut.contraction.result, self.cut.contraction.result.at(at)
        dimensions = [result.dimensions_of(a)[0] for a in (row, self.cut.column)]
        accumulator = b.transfer_read(
            result.memref, where, self.cut.vector(*shape), dimensions, hint="acc"
        )

        def step(inner: Builder, here: Positions, acc: Values) -> Values:
            column = self.left.column(inner, here, shape[0])
            lanes = self.right.lanes(inner, here, panel, shape[1])
            return [inner.outerproduct(column, lanes, acc[0])]

        (total,) = carried(b, self.ranges, at, [accumulator], step)
        b.transfer_write(total, result.memref, where, dimensions)

    def _line(self, b: Builder, at: Positions, panel: Index, columns: int) -> None:
        """The same for a result of one row: multiples of the lanes are added."""
        result, ty = self.cut.contraction.result, self.cut.vector(columns)
        where = result.at(at)
        accumulator = b.vector_load(result.memref, where, ty, "acc")

        def step(inner: Builder, here: Positions, acc: Values) -> Values:
            factor = self.left.column(inner, here, 1)
            (factors,) = inner.add("vector.broadcast", (factor,), [ty], hint="a")
            lanes = self.right.lanes(inner, here, panel, columns)
            return [inner.multiply_add(factors, lanes, acc[0])]

        (total,) = carried(b, self.ranges, at, [accumulator], step)
        last = len(result.indices) - 1
        b.transfer_write(total, result.memref, where, [last])
