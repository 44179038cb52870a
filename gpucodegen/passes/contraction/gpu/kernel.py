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

A factor that goes past the registers is copied by the hardware instead, a group of
copies for each block of terms.  With S stages, S - 2 later groups may be under way when
the threads meet:

    for the other blocks of terms:
      start the copies of the block S - 2 further on, if there is one; close their group
      sums += products of the stage before
      wait for all groups but S - 2; barrier

Several row, column or reduction axes are walked as one flattened index (implicit GEMM),
so a convolution is the same kernel as a matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from math import gcd

from gpucodegen.dialects.nvgpu import copies
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import Type, element_bytes, element_type
from gpucodegen.passes.contraction.fragments.factors import (
    PASSES,
    on_tensor_cores,
    type_of,
)
from gpucodegen.passes.contraction.fragments.multiply import Fragments, Lane
from gpucodegen.passes.contraction.fragments.result import FragmentTile
from gpucodegen.passes.contraction.gpu.axes import Groups, extent
from gpucodegen.passes.contraction.gpu.block_order import Place, grid, place
from gpucodegen.passes.contraction.gpu.multiply import Quads
from gpucodegen.passes.contraction.gpu.result_tile import Cells, ResultTile, starts_last
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
from gpucodegen.tiling.machine.gpu.limits import WIDEST
from gpucodegen.tiling.machine.gpu.products.candidates import (
    STAGED,
    SharedTiles,
    WarpTiles,
)
from gpucodegen.tiling.machine.gpu.products.copies import (
    copied_width,
    fragment_copy,
    tile_copy,
)
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
    plan: SharedTiles | WarpTiles,
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
    stages: int
    is_direct: bool

    def cut(self, most: int) -> list[_Factor]:
        """The factor by chunks that hold so many elements together at most."""
        each = max(1, most // self.staging.copy.width)
        starts = range(0, len(self.chunks), each)
        return [replace(self, chunks=self.chunks[n : n + each]) for n in starts]

    def fetch(self, b: Builder, block: Index, *, ragged: bool = False) -> list[Value]:
        return self.staging.fetch(b, self.chunks, block, ragged=ragged)

    def put(self, b: Builder, values: Sequence[Value], block: Index) -> None:
        stage = block % self.stages
        self.staging.put(b, self.chunks, values, self.tile, stage)

    def start(self, b: Builder, block: Index, stage: Index) -> None:
        self.staging.start(b, self.chunks, block, self.tile, stage)


@dataclass(frozen=True, slots=True)
class _Lowering:
    contraction: Contraction
    groups: Groups
    plan: SharedTiles | WarpTiles
    definitions: Definitions

    def build(self, b: Builder) -> None:
        plan = self.plan
        thread = Index.of(thread_index(b, "thread_id", "x", "t"))
        where = place(b, self.groups, plan)
        sides = self._sides(b, where)
        parts, result = self._parts(b, thread, where, sides)
        walk = Walk(self.groups.reduction, plan.depth)
        blocks, is_ragged = walk.blocks, walk.before.constant != 0
        factors = [
            _Factor(
                side,
                side.allocate(b, plan.stages, hint),
                side.chunks(b, thread),
                plan.stages,
                is_direct,
            )
            for side, hint, is_direct in zip(
                sides, ("sa", "sb"), plan.direct, strict=True
            )
        ]
        direct = [factor for factor in factors if factor.is_direct]
        pieces = [
            piece
            for factor in factors
            if not factor.is_direct
            for piece in factor.cut(STAGED * parts.grain)
        ]
        count = max(1, len(pieces))
        grains = plan.depth // parts.grain
        ends = [grains * n // count * parts.grain for n in range(count + 1)]
        spans = [range(*ends) for ends in pairwise(ends)]
        further = plan.stages - 2

        def start(i: Builder, block: Index, stage: Index, *, exists: bool) -> Value:
            def started(n: Builder) -> None:
                for factor in direct:
                    factor.start(n, block, stage)

            i.guard([] if exists else [blocks - 1 - block], started)
            i.operations.append(group := copies.create_group(plan.stages, i.location))
            return group.result

        def multiply(
            i: Builder, stage: Index, first: Index, count: int, sums: Sums
        ) -> Sums:
            both = factors[0].tile, factors[1].tile
            return parts.multiplied(i, both, stage, first, count, sums)

        def step(
            i: Builder, block: Index, before: Index, sums: Sums, *, exists: bool
        ) -> Sums:
            """Block of terms after the one in stage ``before``, which is multiplied."""
            group = None
            if direct:
                free = (before + plan.stages - 1) % plan.stages
                group = start(i, block + further, free, exists=exists)
            for factor, part in zip_longest(pieces, spans):
                values = factor.fetch(i, block) if factor else []
                first = Index.of(part.start)
                sums = multiply(i, before, first, len(part), sums)
                if factor:
                    factor.put(i, values, block)
            if group:
                i.operations.append(copies.wait(group, further, i.location))
            i.add("gpu.barrier")
            return sums

        def steps(i: Builder, sums: Sums) -> Sums:
            """All blocks of terms but the first one."""

            def one(n: Builder, number: Value, held: Sums) -> Sums:
                block = Index.of(number)
                before = (block - 1) % plan.stages
                return step(n, block, before, held, exists=not further)

            if not (isinstance(plan, WarpTiles) and all(plan.direct)):
                return i.carried_loop(1, blocks, sums, one, hint="block")
            rounds = (blocks - 1 - further) // plan.stages

            def whole_round(n: Builder, number: Value, held: Sums) -> Sums:
                for stage in range(plan.stages):
                    block = number_of(number) + stage + 1
                    held = step(n, block, Index.of(stage), held, exists=True)
                return held

            def number_of(number: Value) -> Index:
                return Index.of(number) * plan.stages

            sums = i.carried_loop(0, rounds, sums, whole_round, hint="round")
            rest = rounds * plan.stages
            return i.carried_loop(rest + 1, blocks, sums, one, hint="block")

        each = max(parts.grain, gcd(plan.depth, LAST))

        def last(i: Builder, first: Value, sums: Sums) -> Sums:
            stage = (blocks - 1) % plan.stages
            return multiply(i, stage, Index.of(first), each, sums)

        def whole(i: Builder) -> None:
            sums: Sums = result.load(i)
            first = Index.of(0)
            for block in range(1, further + 1):
                start(i, Index.of(block), Index.of(block), exists=False)
            for factor in factors:
                values = factor.fetch(i, first, ragged=is_ragged)
                factor.put(i, values, first)
            i.add("gpu.barrier")
            sums = steps(i, sums)
            sums = i.carried_loop(0, plan.depth, sums, last, step=each, hint="k0")
            result.store(i, sums)

        b.guard([extent(self.groups.reduction) - 1, *where.exists], whole)

    @property
    def _factors(self) -> tuple[Contraction, Type]:
        """The contraction with factors as shared memory holds them, and their type."""
        if not isinstance(self.plan, WarpTiles):
            return self.contraction, self.contraction.element
        found = on_tensor_cores(self.contraction)
        assert found is not None, "plans of fragments are of such contractions"
        return found, type_of(found.left)

    def _parts(
        self, b: Builder, thread: Index, where: Place, sides: tuple[Staging, Staging]
    ) -> tuple[Quads | Fragments, ResultTile | FragmentTile]:
        """What a thread multiplies, and how its sums come to the result."""
        plan, c = self.plan, self.contraction
        flat, groups = with_flat_result(b, c, self.groups)
        if isinstance(plan, WarpTiles):
            lane = Lane.of(b, plan, thread)
            types, copies = (
                (sides[0].element, c.element),
                (sides[0].copy, sides[1].copy),
            )
            passes = PASSES.get(c.precision, 1)
            fragments = Fragments.of(b, plan, types, lane, copies, passes)
            size = element_bytes(element_type(c.result.memref.type)) or 1
            width = gcd(WIDEST // size, plan.tile_columns)
            cells = Cells(flat, groups, plan, where, width, adds_last=True)
            return fragments, FragmentTile.of(b, cells, fragments, thread, lane)
        assert isinstance(plan, SharedTiles), "warpgroups have a kernel of their own"
        quads = Quads.of(b, LaneMap.of(plan), c.element, thread, c.words)
        width = quads.lanes.columns.quad
        cells = Cells(flat, groups, plan, where, width, adds_last=starts_last(c))
        return quads, ResultTile(cells, quads)

    def _sides(self, b: Builder, where: Place) -> tuple[Staging, Staging]:
        (c, _), groups, plan = self._factors, self.groups, self.plan
        direct = plan.direct
        left = self._side(
            b, c.left, groups.rows, plan.tile_rows, where, where.row, direct[0]
        )
        right = self._side(
            *(b, c.right, groups.columns, plan.tile_columns),
            *(where, where.column, direct[1]),
        )
        return self._in_loops(left), self._in_loops(right)

    def _in_loops(self, side: Staging) -> Staging:
        """With copies in loops where they are many: of fragments, and turned ones."""
        is_many = isinstance(self.plan, WarpTiles) or side.copy.is_turned
        return replace(side, in_loops=is_many)

    def _side(
        self,
        b: Builder,
        operand: Operand,
        axes: tuple[Axis, ...],
        size: int,
        where: Place,
        first: Index,
        is_direct: bool,
    ) -> Staging:
        plan, (_, element) = self.plan, self._factors
        operand, reduction = side_by_side(b, operand, self.groups.reduction)
        made = {value: op for op in b.operations for value in op.results}
        definitions = {**self.definitions, **made}
        along_depth, width = contiguity(operand, axes, reduction, definitions)
        tiled = fragment_copy
        if not isinstance(plan, WarpTiles):
            tiled = tile_copy
            width = copied_width(width, turned=along_depth, is_direct=is_direct)
        copy = tiled(
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
