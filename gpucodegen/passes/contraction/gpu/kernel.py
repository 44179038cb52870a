"""GPU contraction kernel: shared-memory tiles and register tiles in a pipelined K loop.

    sums = C tile of the thread
    sums += products of all K tiles (`Pipeline`)
    C tile = sums

Several row, column or reduction axes form one flattened index (implicit GEMM), so a
convolution is the same kernel as a matrix product.  The K loop is double buffered:

    stage 0 = the first K tile; barrier
    for the other K tiles:
      read the K tile from global memory into registers
      sums += products of the previous stage
      store the K tile to the other stage; barrier
    sums += products of the last stage

The first K tile is the partial one: it begins before the first term and is padded with
zeros, so the other K tiles need no guard.  One barrier per K tile is enough, since one
stage is stored while the other is read.

An operand may bypass registers by asynchronous copies, one commit group per K tile.
With S stages, ``cp.async.wait_group`` leaves the S - 2 newest groups in flight:

    for the other K tiles:
      start the copies of the K tile S - 2 further on, if there is one; commit the group
      sums += products of the previous stage
      wait for all groups but the S - 2 newest; barrier

Tensor-core kernels that copy both operands asynchronously unroll the K loop by S, so
stage indices and loop ends are constants; the remaining K tiles follow one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from math import gcd

from gpucodegen.dialects.nvgpu import copies
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import Type, element_bytes, element_type
from gpucodegen.passes.contraction.gpu.axes import (
    Groups,
    Place,
    extent,
    grid,
    place,
    side_by_side,
    with_flat_result,
)
from gpucodegen.passes.contraction.gpu.masked_tiles import masked
from gpucodegen.passes.contraction.gpu.staging import (
    Chunk,
    KLoop,
    Stages,
    Staging,
    contiguity,
)
from gpucodegen.passes.contraction.gpu.tensor_cores import (
    PASSES,
    Fragments,
    FragmentTile,
    Lane,
    on_tensor_cores,
    type_of,
)
from gpucodegen.passes.contraction.gpu.thread_tile import (
    Cells,
    ExchangedTile,
    QuadTile,
    ResultTile,
    starts_last,
)
from gpucodegen.passes.contraction.operands import Operand
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.outlining.gpu_launch import KernelBody, thread_index
from gpucodegen.passes.outlining.vector_width import Definitions
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WIDEST
from gpucodegen.tiling.machine.gpu.product_tiles import (
    STAGED,
    LaneMap,
    SharedTiles,
    WarpTiles,
)
from gpucodegen.tiling.machine.gpu.shared_copies import (
    copied_width,
    fragment_copy,
    tile_copy,
)

LAST = 4
"""Terms of the last K tile that are multiplied at once.

It stays a loop: compilers sink the rest of straight code into the guards of stores.
"""
FEWEST = 2
"""Least number of remaining K tiles: a loop of one becomes straight code, whose
fragments are all loaded early and exceed the registers.
"""
Sums = Sequence[Value]


@dataclass(frozen=True, slots=True)
class Factor:
    """An operand, its stages in shared memory, and the chunks of this thread."""

    staging: Staging
    tile: Value
    chunks: Sequence[Chunk]
    stages: int
    is_direct: bool

    @staticmethod
    def of(
        b: Builder,
        side: Staging,
        thread: Index,
        stages: int,
        hint: str,
        *,
        is_direct: bool,
    ) -> Factor:
        tile = side.allocate(b, stages, hint)
        return Factor(side, tile, side.chunks(b, thread), stages, is_direct)

    def cut(self, most: int) -> list[Factor]:
        """The operand in pieces of at most ``most`` elements of chunks."""
        each = max(1, most // self.staging.copy.width)
        starts = range(0, len(self.chunks), each)
        return [replace(self, chunks=self.chunks[n : n + each]) for n in starts]

    def fetch(self, b: Builder, block: Index, *, ragged: bool = False) -> list[Value]:
        """Load a K tile into registers."""
        return self.staging.fetch(b, self.chunks, block, ragged=ragged)

    def put(self, b: Builder, values: Sequence[Value], block: Index) -> None:
        stage = block % self.stages
        self.staging.put(b, self.chunks, values, self.tile, stage)

    def start(self, b: Builder, block: Index, stage: Index) -> None:
        """Start the asynchronous copies of a K tile to a stage."""
        self.staging.start(b, self.chunks, block, self.tile, stage)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The K loop of a thread."""

    plan: SharedTiles | WarpTiles
    parts: QuadTile | Fragments
    factors: tuple[Factor, ...]
    walk: KLoop

    def summed(self, b: Builder, sums: Sums) -> Sums:
        """The sums after the products of all K tiles, at least one."""
        for block in range(1, self._further + 1):
            self._start(b, Index.of(block), Index.of(block))
        is_ragged = self.walk.before.constant != 0
        for factor in self.factors:
            values = factor.fetch(b, ZERO, ragged=is_ragged)
            factor.put(b, values, ZERO)
        b.add("gpu.barrier")
        is_of_warps = isinstance(self.plan, WarpTiles) and all(self.plan.direct)
        return self._in_rounds(b, sums) if is_of_warps else self._one_by_one(b, sums)

    @property
    def _blocks(self) -> Index:
        return self.walk.blocks

    @property
    def _further(self) -> int:
        """Commit groups in flight at a barrier."""
        return self.plan.stages - 2

    def _in_rounds(self, b: Builder, sums: Sums) -> Sums:
        """K tiles in rounds of the stage count, and the remaining ones.

        Where the K loop runs over several axes, a round starts the copies of K tiles
        from a multiple of the stages on: those of a line that these divide lie side by
        side.
        """
        stages = self.plan.stages
        head = 1 if len(self.walk.axes) > 1 else 0
        behind = max(FEWEST, 1 + self._further)
        rounds = (self._blocks - behind - head) // stages

        def whole(i: Builder, number: Value, held: Sums) -> Sums:
            for n in range(head, head + stages):
                block = Index.of(number) * stages + n
                stage = Index.of(n % stages)
                held = self._step(i, block + 1, stage, held, is_sure=True)
            return held

        def alone(i: Builder, number: Value, held: Sums) -> Sums:
            block = Index.of(number)
            return self._step(i, block + 1, block % stages, held)

        if head:
            sums = b.carried_loop(0, head, sums, alone, hint="block")
        sums = b.carried_loop(0, rounds, sums, whole, hint="round")
        left = [rounds * stages + head, Index.of(head)]
        return b.carried_loop(left, self._blocks, sums, alone, hint="block")

    def _one_by_one(self, b: Builder, sums: Sums) -> Sums:
        """The last K tile is multiplied behind the loop, without a barrier."""
        stages, depth = self.plan.stages, self.plan.depth

        def next_(i: Builder, number: Value, held: Sums) -> Sums:
            block = Index.of(number)
            is_sure = not self._further
            return self._step(i, block, (block - 1) % stages, held, is_sure=is_sure)

        each = max(self.parts.grain, gcd(depth, LAST))

        def last(i: Builder, first: Value, held: Sums) -> Sums:
            stage = (self._blocks - 1) % stages
            return self._multiplied(i, stage, Index.of(first), each, held)

        sums = b.carried_loop(1, self._blocks, sums, next_, hint="block")
        return b.carried_loop(0, depth, sums, last, step=each, hint="k0")

    def _step(
        self,
        b: Builder,
        block: Index,
        before: Index,
        sums: Sums,
        *,
        is_sure: bool = False,
    ) -> Sums:
        """A K tile arrives while the one in stage ``before`` is multiplied.

        ``is_sure``: the K tile whose copies start exists.
        """
        pieces = self._pieces
        group = None
        if any(self.plan.direct):
            coming = block + self._further
            is_told = before.constant is not None
            free = (before - 1 if is_told else coming) % self.plan.stages
            group = self._start(b, coming, free, is_sure=is_sure)
        for factor, part in zip_longest(pieces, self._spans(max(1, len(pieces)))):
            values = factor.fetch(b, block) if factor else []
            first = Index.of(part.start)
            sums = self._multiplied(b, before, first, len(part), sums)
            if factor:
                factor.put(b, values, block)
        if group:
            b.operations.append(copies.wait(group, self._further, b.location))
        b.add("gpu.barrier")
        return sums

    def _start(
        self, b: Builder, block: Index, stage: Index, *, is_sure: bool = False
    ) -> Value:
        """Start the copies of a K tile, if it exists; their group."""

        def started(i: Builder) -> None:
            for factor in self.factors:
                if factor.is_direct:
                    factor.start(i, block, stage)

        b.guard([] if is_sure else [self._blocks - 1 - block], started)
        group: Operation = copies.create_group(self.plan.stages, b.location)
        b.operations.append(group)
        return group.result

    def _multiplied(
        self, b: Builder, stage: Index, first: Index, count: int, sums: Sums
    ) -> Sums:
        left, right = (factor.tile for factor in self.factors)
        return self.parts.multiplied(b, (left, right), (stage, first), count, sums)

    @property
    def _pieces(self) -> list[Factor]:
        """The operands that go through registers, in pieces that fit in these."""
        return [
            piece
            for factor in self.factors
            if not factor.is_direct
            for piece in factor.cut(STAGED * self.parts.grain)
        ]

    def _spans(self, count: int) -> list[range]:
        """The terms of a K tile in ``count`` parts of whole instructions."""
        grain = self.parts.grain
        grains = self.plan.depth // grain
        ends = [grains * n // count * grain for n in range(count + 1)]
        return [range(*ends) for ends in pairwise(ends)]


def lower(
    b: Builder,
    contraction: Contraction,
    groups: Groups,
    plan: SharedTiles | WarpTiles,
    definitions: Definitions,
) -> KernelBody:
    """The kernel of a contraction.

    ``definitions``: the operations that define its arrays.  ``b`` holds the views that
    it reads through.
    """
    _Lowering(contraction, groups, plan, definitions).build(b)
    return KernelBody(
        tuple(b.operations),
        grid(groups, plan),
        (plan.threads, 1, 1),
        plan.resident,
    )


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
        factors = tuple(
            Factor.of(b, side, thread, plan.stages, hint, is_direct=is_direct)
            for side, hint, is_direct in zip(
                sides, ("sa", "sb"), plan.direct, strict=True
            )
        )
        walk = KLoop(self.groups.reduction, plan.depth)
        pipeline = Pipeline(plan, parts, factors, walk)

        def summed(i: Builder) -> None:
            result.store(i, pipeline.summed(i, result.load(i)))

        def whole(i: Builder) -> None:
            given = self.contraction, self.groups, where, plan, self.definitions
            unneeded = masked(*given)
            if unneeded is None:
                summed(i)
            else:
                i.guard(unneeded, lambda j: result.store(j, result.load(j)), summed)

        b.guard([extent(self.groups.reduction) - 1, *where.exists], whole)

    @property
    def _factors(self) -> tuple[Contraction, Type]:
        """The contraction with operands as shared memory holds them, and their type."""
        if not isinstance(self.plan, WarpTiles):
            return self.contraction, self.contraction.element
        found = on_tensor_cores(self.contraction)
        assert found is not None, "plans of fragments are of such contractions"
        return found, type_of(found.left)

    def _parts(
        self, b: Builder, thread: Index, where: Place, sides: tuple[Staging, Staging]
    ) -> tuple[QuadTile | Fragments, ResultTile | FragmentTile]:
        """The multiplier of a thread, and its part of the result."""
        plan, c = self.plan, self.contraction
        flat, groups = with_flat_result(b, c, self.groups)
        held = Stages(sides[0].copy), Stages(sides[1].copy)
        if isinstance(plan, WarpTiles):
            lane = Lane.of(b, plan, thread)
            types = sides[0].element, c.element
            passes = PASSES.get(c.precision, 1)
            fragments = Fragments.of(b, plan, types, lane, held, passes)
            size = element_bytes(element_type(c.result.memref.type)) or 1
            width = gcd(WIDEST // size, plan.tile_columns)
            cells = Cells(flat, groups, plan, where, width, adds_last=True)
            return fragments, FragmentTile.of(b, cells, fragments, thread, lane)
        assert isinstance(plan, SharedTiles), "warpgroups have a kernel of their own"
        quads = QuadTile.of(b, LaneMap.of(plan), c.element, thread, held, c.words)
        width = quads.lanes.columns.quad
        cells = Cells(flat, groups, plan, where, width, adds_last=starts_last(c))
        return quads, ExchangedTile.of(b, ResultTile(cells, quads), thread)

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
        """Staging whose copies are loops where they are many."""
        is_of_warps = isinstance(self.plan, WarpTiles)
        is_many = is_of_warps or side.copy.is_turned
        return replace(side, in_loops=is_many, apart=is_of_warps)

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
            KLoop(reduction, plan.depth),
            where.batch,
            first,
            copy,
            element,
        )
