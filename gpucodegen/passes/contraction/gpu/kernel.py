"""A contraction as a GPU kernel: shared-memory tiles, a register tile per thread.

    grid (column tiles, row tiles, batch); block of threads_y x threads_x threads
    acc = C tile of the thread
    for k0 in K step depth:
      all threads copy  A tile -> shared a[depth][tile_rows],
                        B tile -> shared b[depth][tile_columns]
      barrier
      for k in depth: acc += a[k][rows of the thread] (x) b[k][columns of the thread]
      barrier
    C tile = acc

Several row, column or reduction axes are walked as one flattened index (implicit GEMM),
so a convolution is the same kernel as a matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType, VectorType
from gpucodegen.passes.contraction.gpu.axes import (
    Groups,
    Positions,
    extent,
    grid,
    unflatten,
)
from gpucodegen.passes.contraction.gpu.result_tile import ResultTile
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.gpu.gpu_launch import SHARED, KernelBody, thread_index
from gpucodegen.tiling.machine.gpu.candidates import SharedTiles


def lower(contraction: Contraction, groups: Groups, plan: SharedTiles) -> KernelBody:
    """The kernel of a contraction."""
    builder = Builder(contraction.location)
    _Lowering(contraction, groups, plan).build(builder)
    blocks = tuple(Index.of(n) for n in grid(groups, plan))
    return KernelBody(tuple(builder.operations), blocks, (plan.threads, 1, 1))


@dataclass(frozen=True, slots=True)
class _Side:
    """One operand with its shared tile and the group that indexes it besides K."""

    operand: Operand
    axes: tuple[Axis, ...]
    size: int
    tile: Value
    first: Index


@dataclass(frozen=True, slots=True)
class _Lowering:
    contraction: Contraction
    groups: Groups
    plan: SharedTiles

    def build(self, b: Builder) -> None:
        plan, groups, c = self.plan, self.groups, self.contraction
        left_tile = b.allocate("memref.alloca", self._tile_type(plan.tile_rows), "sa")
        right_tile = b.allocate(
            "memref.alloca", self._tile_type(plan.tile_columns), "sb"
        )
        thread = Index.of(thread_index(b, "thread_id", "x", "t"))
        block_x = Index.of(thread_index(b, "block_id", "x", "bx"))
        block_y = Index.of(thread_index(b, "block_id", "y", "by"))
        batch: Positions = {}
        if groups.batch:
            block_z = thread_index(b, "block_id", "z", "bz")
            batch = unflatten(Index.of(block_z), groups.batch)
        left = _Side(
            c.left, groups.rows, plan.tile_rows, left_tile, block_y * plan.tile_rows
        )
        right = _Side(
            c.right,
            groups.columns,
            plan.tile_columns,
            right_tile,
            block_x * plan.tile_columns,
        )
        threads_x = plan.tile_columns // plan.thread_columns
        row = b.index((thread // threads_x) * plan.thread_rows, "row")
        column = b.index((thread % threads_x) * plan.thread_columns, "col")
        where = ResultTile(
            c, groups, plan, batch, left.first + row, right.first + column
        )
        accumulator = where.load(b)

        def block(i: Builder, k0: Value, acc: Sequence[Value]) -> list[Value]:
            self._copy(i, thread, left, Index.of(k0), batch)
            self._copy(i, thread, right, Index.of(k0), batch)
            i.add("gpu.barrier")
            total = i.carried_loop(
                0,
                plan.depth,
                acc,
                lambda n, k, a: [self._step(n, k, a[0], row, column, left, right)],
                hint="k",
            )
            i.add("gpu.barrier")
            return list(total)

        (total,) = b.carried_loop(
            0,
            extent(groups.reduction),
            [accumulator],
            block,
            step=plan.depth,
            hint="k0",
        )
        where.store(b, total)

    def _tile_type(self, size: int) -> MemRefType:
        return MemRefType(
            (self.plan.depth, size), self.contraction.element, None, SHARED
        )

    def _step(
        self,
        b: Builder,
        k: Value,
        acc: Value,
        row: Value,
        column: Value,
        left: _Side,
        right: _Side,
    ) -> Value:
        element = self.contraction.element
        a = b.vector_load(
            left.tile, [k, row], VectorType((self.plan.thread_rows,), element), "a"
        )
        lanes = b.vector_load(
            right.tile,
            [k, column],
            VectorType((self.plan.thread_columns,), element),
            "b",
        )
        return b.outerproduct(a, lanes, acc)

    def _copy(
        self, b: Builder, thread: Index, side: _Side, k0: Index, batch: Positions
    ) -> None:
        """All threads copy one tile; neighbours take neighbouring addresses."""
        total = self.plan.depth * side.size
        last = self.groups.reduction[-1]
        operand = side.operand
        k_fastest = operand.coefficient(len(operand.indices) - 1, last) == 1

        def element(i: Builder, number: Value) -> None:
            flat = thread + Index.of(number)
            if k_fastest:
                k, position = flat % self.plan.depth, flat // self.plan.depth
            else:
                k, position = flat // side.size, flat % side.size
            depth = i.index(k, "k")
            place = i.index(position, "p")
            self._copy_element(i, side, k0, depth, place, batch)

        def guarded(i: Builder, number: Value) -> None:
            inside = Index.of(total - 1) - thread - number
            exact = total % self.plan.threads == 0
            i.guard([] if exact else [inside], lambda n: element(n, number))

        b.loop(0, total, guarded, step=self.plan.threads, hint="e")

    def _copy_element(
        self,
        b: Builder,
        side: _Side,
        k0: Index,
        depth: Value,
        place: Value,
        batch: Positions,
    ) -> None:
        k, position = k0 + depth, side.first + place
        at = (
            batch | unflatten(k, self.groups.reduction) | unflatten(position, side.axes)
        )
        limits = [
            Index.of(total - 1) - index
            for total, index, size in (
                (extent(self.groups.reduction), k, self.plan.depth),
                (extent(side.axes), position, side.size),
            )
            if total % size
        ]

        def inside(i: Builder) -> None:
            value = side.operand.value(i, at)
            i.store(value, side.tile, [depth, place])

        def outside(i: Builder) -> None:
            i.store(i.constant(0, self.contraction.element), side.tile, [depth, place])

        b.guard(limits, inside, outside)
