"""A contraction as a GPU kernel: shared-memory tiles, a register tile per thread.

    sums = C tile of the thread
    sums += products of all blocks of terms (`pipeline`)
    C tile = sums

Several row, column or reduction axes are walked as one flattened index (implicit GEMM),
so a convolution is the same kernel as a matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

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
from gpucodegen.passes.contraction.gpu.held import Stages
from gpucodegen.passes.contraction.gpu.multiply import Quads
from gpucodegen.passes.contraction.gpu.pipeline import Factor, Pipeline
from gpucodegen.passes.contraction.gpu.result_tile import Cells, ResultTile, starts_last
from gpucodegen.passes.contraction.gpu.staging import Staging, contiguity
from gpucodegen.passes.contraction.gpu.views import side_by_side, with_flat_result
from gpucodegen.passes.contraction.gpu.walk import Walk
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.gpu.facts.vector_width import Definitions
from gpucodegen.passes.gpu.launches.gpu_launch import KernelBody, thread_index
from gpucodegen.tiling.machine.gpu.devices import WIDEST
from gpucodegen.tiling.machine.gpu.product_tiles import (
    LaneMap,
    SharedTiles,
    WarpTiles,
)
from gpucodegen.tiling.machine.gpu.shared_copies import (
    copied_width,
    fragment_copy,
    tile_copy,
)


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
        walk = Walk(self.groups.reduction, plan.depth)
        pipeline = Pipeline(plan, parts, factors, walk)

        def whole(i: Builder) -> None:
            result.store(i, pipeline.summed(i, result.load(i)))

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
        quads = Quads.of(b, LaneMap.of(plan), c.element, thread, held, c.words)
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
            Walk(reduction, plan.depth),
            where.batch,
            first,
            copy,
            element,
        )
