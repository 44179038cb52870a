"""The tile of C that one thread of a GPU contraction holds in registers.

Comes in: the contraction, its groups and plan, and where the thread's tile begins.
Goes out: operations that read the tile before the reduction and write it after it;
flattened groups go through private memory, element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType, VectorType
from gpucodegen.passes.contraction.fusion.pointwise import Tile
from gpucodegen.passes.contraction.fusion.start import finished, started
from gpucodegen.passes.contraction.gpu.axes import Groups, Positions, extent, unflatten
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.tiling.machine.gpu.candidates import SharedTiles


@dataclass(frozen=True, slots=True)
class ResultTile:
    """The thread's tile of C, read and written through its flattened groups."""

    contraction: Contraction
    groups: Groups
    plan: SharedTiles
    batch: Positions
    row: Index
    column: Index

    @property
    def _type(self) -> VectorType:
        plan = self.plan
        shape = (plan.thread_rows, plan.thread_columns)
        return VectorType(shape, self.contraction.element)

    @property
    def _direct(self) -> bool:
        """Whether rows and columns are plain dimensions of C."""
        groups, c = self.groups, self.contraction
        is_plain = c.start is None and c.epilogue is None
        return is_plain and len(groups.rows) == len(groups.columns) == 1

    def _at(self, row: Index, column: Index) -> Positions:
        rows, columns = self.groups.rows, self.groups.columns
        return self.batch | unflatten(row, rows) | unflatten(column, columns)

    def _where(self, row: Index, column: Index) -> list[Index]:
        return self.contraction.result.at(self._at(row, column))

    def _dimensions(self) -> list[int]:
        groups, result = self.groups, self.contraction.result
        return [result.dimensions_of(g[0])[0] for g in (groups.rows, groups.columns)]

    @property
    def _exact(self) -> bool:
        plan, groups = self.plan, self.groups
        return (
            extent(groups.rows) % plan.tile_rows == 0
            and extent(groups.columns) % plan.tile_columns == 0
        )

    def load(self, b: Builder) -> Value:
        """The accumulators' initial values."""
        memref = self.contraction.result.memref
        if self._direct:
            return b.transfer_read(
                memref,
                self._where(self.row, self.column),
                self._type,
                self._dimensions(),
                in_bounds=self._exact,
                hint="acc",
            )
        private = self._private(b)

        def element(i: Builder, cell: Tile, place: list[Value]) -> None:
            i.store(started(i, self.contraction, cell), private, place)

        self._each(b, element)
        return b.transfer_read(private, [0, 0], self._type, [0, 1], hint="acc")

    def store(self, b: Builder, total: Value) -> None:
        """Write the accumulators back."""
        memref = self.contraction.result.memref
        if self._direct:
            b.transfer_write(
                total,
                memref,
                self._where(self.row, self.column),
                self._dimensions(),
                in_bounds=self._exact,
            )
            return
        private = self._private(b)
        b.transfer_write(total, private, [0, 0], [0, 1])

        def element(i: Builder, cell: Tile, place: list[Value]) -> None:
            finished(i, self.contraction, cell, i.load(private, place))

        self._each(b, element)

    def _private(self, b: Builder) -> Value:
        shape = self._type.shape
        return b.allocate(
            "memref.alloca", MemRefType(shape, self._type.element), "part"
        )

    def _each(
        self,
        b: Builder,
        body: Callable[[Builder, Tile, list[Value]], None],
    ) -> None:
        """Every element of the tile that lies inside C."""
        rows, columns = self._type.shape
        groups = self.groups

        def element(i: Builder, r: Value, s: Value) -> None:
            row, column = self.row + r, self.column + s
            limits = [
                Index.of(extent(axes) - 1) - index
                for axes, index in ((groups.rows, row), (groups.columns, column))
            ]
            inside = [] if self._exact else limits
            i.guard(inside, lambda n: body(n, Tile(self._at(row, column), {}), [r, s]))

        b.loop(
            0,
            rows,
            lambda i, r: i.loop(0, columns, lambda n, s: element(n, r, s), hint="s"),
            hint="r",
        )
