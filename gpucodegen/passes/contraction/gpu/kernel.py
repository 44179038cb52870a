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
from dataclasses import dataclass, replace
from itertools import pairwise
from math import gcd

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import element_bytes
from gpucodegen.passes.contraction.gpu.axes import Groups, extent
from gpucodegen.passes.contraction.gpu.block_order import Place, grid, place
from gpucodegen.passes.contraction.gpu.multiply import Quads
from gpucodegen.passes.contraction.gpu.result_tile import ResultTile
from gpucodegen.passes.contraction.gpu.staging import Chunk, Staging, contiguity
from gpucodegen.passes.contraction.gpu.views import side_by_side, with_flat_result
from gpucodegen.passes.contraction.gpu.walk import Walk
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.gpu.facts.vector_width import Definitions
from gpucodegen.passes.gpu.launches.gpu_launch import KernelBody, thread_index
from gpucodegen.tiling.machine.gpu.products.candidates import (
    STAGED,
    STAGES,
    SharedTiles,
)
from gpucodegen.tiling.machine.gpu.products.copies import tile_copy
from gpucodegen.tiling.machine.gpu.products.lanes import LaneMap

LAST = 4
"""Terms of the last block that are multiplied at once.

It stays a loop: compilers move what is left of straight code into the guards of stores.
"""
Sums = Sequence[Value]


def lower(
    b: Builder,
    contraction: Contraction,
    groups: Groups,
    plan: SharedTiles,
    definitions: Definitions,
) -> KernelBody:
    """The kernel of a contraction; ``definitions``: what makes its arrays.

    ``b`` holds the views that it reads through.
    """
    _Lowering(contraction, groups, plan, definitions).build(b)
    return KernelBody(
        tuple(b.operations),
        grid(groups, plan),
        (plan.threads, 1, 1),
        plan.resident,
    )


@dataclass(frozen=True, slots=True)
class _Factor:
    """A factor, its stages in shared memory, and the chunks of this thread."""

    staging: Staging
    tile: Value
    chunks: Sequence[Chunk]

    def cut(self, most: int) -> list[_Factor]:
        """The factor by chunks that hold so many elements together at most."""
        each = max(1, most // self.staging.copy.width)
        starts = range(0, len(self.chunks), each)
        return [replace(self, chunks=self.chunks[n : n + each]) for n in starts]

    def fetch(self, b: Builder, block: Index, *, ragged: bool = False) -> list[Value]:
        return self.staging.fetch(b, self.chunks, block, ragged=ragged)

    def put(self, b: Builder, values: Sequence[Value], block: Index) -> None:
        self.staging.put(b, self.chunks, values, self.tile, block % STAGES)


@dataclass(frozen=True, slots=True)
class _Lowering:
    contraction: Contraction
    groups: Groups
    plan: SharedTiles
    definitions: Definitions

    def build(self, b: Builder) -> None:
        plan, c = self.plan, self.contraction
        thread = Index.of(thread_index(b, "thread_id", "x", "t"))
        where = place(b, self.groups, plan)
        quads = Quads.of(b, LaneMap.of(plan), c.element, thread)
        result = ResultTile(*with_flat_result(b, c, self.groups), plan, where, quads)
        walk = Walk(self.groups.reduction, plan.depth)
        blocks, is_ragged = walk.blocks, walk.before.constant != 0
        factors = [
            _Factor(side, side.allocate(b, STAGES, hint), side.chunks(b, thread))
            for side, hint in zip(self._sides(b, where), ("sa", "sb"), strict=True)
        ]
        pieces = [piece for factor in factors for piece in factor.cut(STAGED)]
        ends = [plan.depth * n // len(pieces) for n in range(len(pieces) + 1)]
        parts = [range(*ends) for ends in pairwise(ends)]

        def multiply(
            i: Builder, block: Index, first: Index, count: int, sums: Sums
        ) -> Sums:
            both = factors[0].tile, factors[1].tile
            return quads.multiplied(i, both, block % STAGES, first, count, sums)

        def step(i: Builder, number: Value, sums: Sums) -> Sums:
            block = Index.of(number)
            for factor, part in zip(pieces, parts, strict=True):
                values = factor.fetch(i, block)
                first = Index.of(part.start)
                sums = multiply(i, block - 1, first, len(part), sums)
                factor.put(i, values, block)
            i.add("gpu.barrier")
            return sums

        each = gcd(plan.depth, LAST)

        def last(i: Builder, first: Value, sums: Sums) -> Sums:
            return multiply(i, blocks - 1, Index.of(first), each, sums)

        def whole(i: Builder) -> None:
            sums: Sums = result.load(i)
            first = Index.of(0)
            for factor in factors:
                values = factor.fetch(i, first, ragged=is_ragged)
                factor.put(i, values, first)
            i.add("gpu.barrier")
            sums = i.carried_loop(1, blocks, sums, step, hint="block")
            sums = i.carried_loop(0, plan.depth, sums, last, step=each, hint="k0")
            result.store(i, sums)

        b.guard([extent(self.groups.reduction) - 1], whole)

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
        plan, element = self.plan, self.contraction.element
        operand, reduction = side_by_side(b, operand, self.groups.reduction)
        made = {value: op for op in b.operations for value in op.results}
        definitions = {**self.definitions, **made}
        along_depth, width = contiguity(operand, axes, reduction, definitions)
        copy = tile_copy(
            size,
            plan.depth,
            plan.threads,
            along_depth,
            width,
            element_bytes(element) or 1,
        )
        return Staging(
            operand,
            axes,
            Walk(reduction, plan.depth),
            where.batch,
            first,
            copy,
            element,
        )
