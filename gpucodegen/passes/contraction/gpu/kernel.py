"""A contraction as a GPU kernel: shared-memory tiles, a register tile per thread.

    sums = C tile of the thread
    stage 0 = the first block of terms; barrier
    for the other blocks of terms:
      read the block from global memory into registers
      sums += products of the stage before
      store the block to the other stage; barrier
    sums += products of the last stage
    C tile = sums

The first block of terms is the ragged one: it begins before the first term, with zeros,
so no other block needs a guard.  A stage is
stored while the other one is read: one barrier for each block is enough.

Several row, column or reduction axes are walked as one flattened index (implicit GEMM),
so a convolution is the same kernel as a matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.passes.contraction.gpu.axes import Groups
from gpucodegen.passes.contraction.gpu.block_order import Place, grid, place
from gpucodegen.passes.contraction.gpu.multiply import Quads
from gpucodegen.passes.contraction.gpu.result_tile import ResultTile
from gpucodegen.passes.contraction.gpu.staging import Staging
from gpucodegen.passes.contraction.gpu.walk import Walk, side_by_side
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.gpu.gpu_launch import KernelBody, thread_index
from gpucodegen.tiling.machine.gpu.candidates import SharedTiles
from gpucodegen.tiling.machine.gpu.copies import tile_copy
from gpucodegen.tiling.machine.gpu.lanes import LaneMap

STAGES = 2
Sums = Sequence[Value]
_Fetched = list[list[Value]]


def lower(
    b: Builder, contraction: Contraction, groups: Groups, plan: SharedTiles
) -> KernelBody:
    """The kernel of a contraction; ``b`` holds the views that it reads through."""
    _Lowering(contraction, groups, plan).build(b)
    return KernelBody(tuple(b.operations), grid(groups, plan), (plan.threads, 1, 1), 2)


@dataclass(frozen=True, slots=True)
class _Lowering:
    contraction: Contraction
    groups: Groups
    plan: SharedTiles

    def build(self, b: Builder) -> None:
        plan, c = self.plan, self.contraction
        thread = Index.of(thread_index(b, "thread_id", "x", "t"))
        where = place(b, self.groups, plan)
        quads = Quads.of(b, LaneMap.of(plan), c.element, thread)
        result = ResultTile(c, self.groups, plan, where, quads)
        sides = self._sides(b, where)
        tiles = [
            side.allocate(b, STAGES, hint)
            for side, hint in zip(sides, ("sa", "sb"), strict=True)
        ]
        chunks = [side.chunks(b, thread) for side in sides]

        walk = Walk(self.groups.reduction, plan.depth)
        blocks = walk.blocks

        def fetch(i: Builder, block: Index, *, ragged: bool = False) -> _Fetched:
            return [
                side.fetch(i, mine, block, ragged=ragged)
                for side, mine in zip(sides, chunks, strict=True)
            ]

        def put(i: Builder, fetched: _Fetched, block: Index) -> None:
            for side, mine, values, tile in zip(
                sides, chunks, fetched, tiles, strict=True
            ):
                side.put(i, mine, values, tile, block % STAGES)
            i.add("gpu.barrier")

        def multiply(i: Builder, block: Index, sums: Sums) -> Sums:
            both = tiles[0], tiles[1]
            return quads.multiplied(i, both, block % STAGES, plan.depth, sums)

        def step(i: Builder, number: Value, sums: Sums) -> Sums:
            block = Index.of(number)
            fetched = fetch(i, block)
            sums = multiply(i, block - 1, sums)
            put(i, fetched, block)
            return sums

        def whole(i: Builder) -> None:
            sums: Sums = result.load(i)
            put(i, fetch(i, Index.of(0), ragged=walk.before.constant != 0), Index.of(0))
            sums = i.carried_loop(1, blocks, sums, step, hint="block")
            result.store(i, multiply(i, blocks - 1, sums))

        b.guard([blocks - 1], whole)

    def _sides(self, b: Builder, where: Place) -> tuple[Staging, Staging]:
        c, groups, plan = self.contraction, self.groups, self.plan
        return (
            self._side(b, c.left, groups.rows, plan.tile_rows, where, where.row),
            self._side(
                b, c.right, groups.columns, plan.tile_columns, where, where.column
            ),
        )

    def _side(
        self,
        b: Builder,
        operand: Operand,
        axes: tuple[Axis, ...],
        size: int,
        where: Place,
        first: Index,
    ) -> Staging:
        plan = self.plan
        operand, reduction = side_by_side(b, operand, self.groups.reduction)
        last = len(operand.indices) - 1
        along_depth = (
            operand.coefficient(last, reduction[-1]) == 1
            and operand.coefficient(last, axes[-1]) != 1
        )
        copy = tile_copy(size, plan.depth, plan.threads, along_depth, 1, 4)
        return Staging(
            operand,
            axes,
            Walk(reduction, plan.depth),
            where.batch,
            first,
            copy,
            self.contraction.element,
        )
