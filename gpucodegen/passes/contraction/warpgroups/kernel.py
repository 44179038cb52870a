"""A contraction by warpgroups: one copies, the others multiply.

    barriers of the ring; all threads meet
    the last warpgroup, one thread of it, for each block of terms:
      wait until the stage is empty; expect its bytes; start the copies of its boxes
    each other one, for each block of terms:
      wait until the stage is full
      sums += its rows of one factor by the other one; wait for these products
      each warp: the stage is empty
    C tile += sums, with what is fused behind

The ring is what orders the roles: they meet nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

from gpucodegen.ir.attributes import Attribute, IntegerAttr, OpaqueAttr, UnitAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    I32,
    DialectType,
    Type,
    element_bytes,
    element_type,
)
from gpucodegen.passes.contraction.fragments.factors import on_tensor_cores, type_of
from gpucodegen.passes.contraction.gpu.axes import Groups, Positions, extent, unflatten
from gpucodegen.passes.contraction.gpu.block_order import Place, grid, place
from gpucodegen.passes.contraction.gpu.result_tile import Cells
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.contraction.warpgroups.boxes import (
    LINE,
    Boxes,
    in_few_dimensions,
)
from gpucodegen.passes.contraction.warpgroups.rectangles import in_rectangles
from gpucodegen.passes.contraction.warpgroups.result import WarpSlices
from gpucodegen.passes.contraction.warpgroups.ring import Ring, Stage, Tile
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.gpu.facts.vector_width import Definitions
from gpucodegen.passes.gpu.launches.gpu_launch import KernelBody, thread_index
from gpucodegen.tiling.machine.gpu.limits import WARP, WARPGROUP, WIDEST
from gpucodegen.tiling.machine.gpu.products.candidates import (
    SPAN,
    WARPGROUP_ROWS,
    WarpgroupTiles,
)
from gpucodegen.tiling.machine.gpu.products.product_work import Product
from gpucodegen.tiling.machine.gpu.products.warpgroups import (
    LEFT,
    TAKEN,
    WarpgroupCounts,
)


@dataclass(frozen=True, slots=True)
class Tiled:
    """A contraction in tiles of rows, and the boxes of both factors."""

    contraction: Contraction
    groups: Groups
    boxes: tuple[Boxes, Boxes]


def in_boxes(
    contraction: Contraction,
    groups: Groups,
    definitions: Definitions,
    tile: tuple[int, int] = (LINE, LINE),
    b: Builder | None = None,
) -> Tiled | None:
    """The contraction, its factors in boxes; None where copies cannot bring them.

    ``tile``: rows and columns of the result that a block computes.  ``b`` gets the
    views that they are boxes of.  The last axis of the reduction is that of the terms
    of a block.
    """
    narrow = on_tensor_cores(contraction)
    if narrow is None or len(groups.columns) > 1:
        return None
    for term in reversed(groups.reduction):
        others = (axis for axis in groups.reduction if axis is not term)
        over = replace(groups, reduction=(*others, term))
        inner = Builder(contraction.location)
        found = _in_boxes(inner, narrow, over, definitions, tile)
        if found is not None:
            (b or inner).operations += inner.operations
            return found
    return None


def _in_boxes(
    b: Builder,
    narrow: Contraction,
    groups: Groups,
    definitions: Definitions,
    tile: tuple[int, int],
) -> Tiled | None:
    """With blocks of terms of the last axis of the reduction."""
    *outer, term = groups.reduction
    lines, others = (*groups.rows, term), (*groups.batch, *outer)
    left = in_few_dimensions(b, narrow.left, lines, others)
    tiles = in_rectangles(replace(narrow, left=left), groups, tile[0])
    if tiles is None:
        return None
    found, groups = tiles
    made = {value: op for op in b.operations for value in op.results}
    terms = groups.reduction, {**definitions, **made}
    left = Boxes.of(found.left, groups.rows, *terms, tile[0])
    right = Boxes.of(found.right, groups.columns, *terms, tile[1])
    return Tiled(found, groups, (left, right)) if left and right else None


def lower(
    b: Builder,
    contraction: Contraction,
    groups: Groups,
    plan: WarpgroupTiles,
    definitions: Definitions,
) -> tuple[list[Operation], KernelBody]:
    """What the host does before the kernel of a contraction, and the kernel.

    ``definitions``: what makes its arrays; ``b`` holds the views that it reads through.
    """
    tile = plan.tile_rows, plan.tile_columns
    tiled = in_boxes(contraction, groups, definitions, tile, b)
    assert tiled is not None, "plans of warpgroups are of factors in boxes"
    host = Builder(contraction.location, list(b.operations))
    left, right = (each.make_map(host) for each in tiled.boxes)
    found, groups, boxes = tiled.contraction, tiled.groups, tiled.boxes
    element = type_of(found.left)
    _Lowering(found, groups, plan, boxes, (left, right), element).build(b)
    body = KernelBody(
        tuple(b.operations),
        grid(groups, plan),
        (plan.threads, 1, 1),
        plan.resident,
    )
    return host.operations, body


@dataclass(frozen=True, slots=True)
class _Lowering:
    contraction: Contraction
    groups: Groups
    plan: WarpgroupTiles
    boxes: tuple[Boxes, Boxes]
    maps: tuple[Value, Value]
    element: Type

    def build(self, b: Builder) -> None:
        plan = self.plan
        thread = Index.of(thread_index(b, "thread_id", "x", "t"))
        where = place(b, self.groups, plan)
        cells = self._cells(where)
        tiles = [
            Tile.of(b, boxes, self.element, plan.stages, hint)
            for boxes, hint in zip(self.boxes, ("sa", "sb"), strict=True)
        ]
        slices = WarpSlices.of(b, cells, plan, thread)
        ring = Ring.of(b, plan.stages)
        consumers = plan.consumers * WARPGROUP
        warps = consumers // WARP

        def produce(i: Builder) -> None:
            self._registers(i, "decrease", LEFT)
            one = [Index.of(consumers) - thread]
            i.guard(one, lambda n: self._produce(n, ring, tiles, where))

        def consume(i: Builder) -> None:
            self._registers(i, "increase", TAKEN)
            started = slices.started(i)
            total = self._consume(i, ring, tiles, thread)
            slices.store(i, total, started)

        def whole(i: Builder) -> None:
            i.guard([ZERO - thread], lambda n: ring.init(n, warps))
            i.add("gpu.barrier")
            i.guard([Index.of(consumers - 1) - thread], consume, produce)

        b.guard([extent(self.groups.reduction) - 1, *where.exists], whole)

    def _cells(self, where: Place) -> Cells:
        plan, c = self.plan, self.contraction
        size = element_bytes(element_type(c.result.memref.type)) or 1
        width = gcd(WIDEST // size, plan.tile_columns)
        return Cells(c, self.groups, plan, where, width, adds_last=True)

    def _registers(self, b: Builder, action: str, count: int) -> None:
        """Leave registers to other warpgroups, or take what they left."""
        if WarpgroupCounts(self.plan, Product(1, 1, 1)).trades_registers:
            attributes: dict[str, Attribute] = {
                "action": OpaqueAttr(f"#nvvm.action<{action}>"),
                "regCount": IntegerAttr(count, I32),
            }
            b.add("nvvm.setmaxregister", attributes=attributes)

    @property
    def _blocks(self) -> Index:
        """Blocks of terms."""
        return extent(self.groups.reduction[:-1]) * self._inner_blocks

    @property
    def _inner_blocks(self) -> Index:
        """Blocks of terms along the last axis of the reduction."""
        return self.groups.reduction[-1].size.ceildiv(self.plan.depth)

    def _terms(self, block: Index) -> Positions:
        """Where the axes of the reduction stand at the first term of a block."""
        *outer, inner = self.groups.reduction
        if not outer:
            return {inner.iv: block * self.plan.depth}
        each = self._inner_blocks
        place = block % each * self.plan.depth
        return {inner.iv: place} | unflatten(block // each, outer)

    def _produce(
        self, b: Builder, ring: Ring, tiles: Sequence[Tile], where: Place
    ) -> None:
        """Copy the boxes of all blocks of terms, by one thread."""
        bytes_ = (self.plan.tile_rows + self.plan.tile_columns) * SPAN
        firsts = where.row, where.column
        for tensor_map in self.maps:
            b.add("nvgpu.tma.fence.descriptor", (tensor_map,))

        def block(i: Builder, number: Value) -> None:
            stage = ring.at(i, Index.of(number))
            ring.acquire(i, stage, bytes_)
            at = where.batch | self._terms(Index.of(number))
            for tile, tensor_map, first in zip(tiles, self.maps, firsts, strict=True):
                lines, boxes = 0, tile.boxes
                for corner in boxes.starts(first, at):
                    target = tile.lines(i, stage, Index.of(lines), boxes.lines)
                    ring.load(i, stage, tensor_map, target, corner)
                    lines += boxes.lines

        b.loop(0, self._blocks, block, hint="block")

    def _consume(
        self, b: Builder, ring: Ring, tiles: Sequence[Tile], thread: Index
    ) -> Value:
        """The sums of a warpgroup."""
        group = Index.of(b.index(thread // WARPGROUP, "group"))
        columns = self.plan.tile_columns
        ty = DialectType(
            "nvgpu.warpgroup.accumulator<fragmented ="
            f" vector<{WARPGROUP_ROWS}x{columns}x{self.contraction.element}>>"
        )
        (zeros,) = b.add("nvgpu.warpgroup.mma.init.accumulator", (), [ty], hint="sum")

        def block(i: Builder, number: Value, sums: Sequence[Value]) -> list[Value]:
            stage = ring.at(i, Index.of(number))
            ring.await_(i, stage)
            left = self._factor(i, tiles[0], 0, stage, group * LINE, WARPGROUP_ROWS)
            right = self._factor(i, tiles[1], 1, stage, ZERO, columns)
            flags: dict[str, Attribute] = {}
            if not tiles[0].boxes.by_position:
                flags["transposeA"] = UnitAttr()
            if not tiles[1].boxes.by_position:
                flags["transposeB"] = UnitAttr()
            operands = (left, right, *sums)
            name = "nvgpu.warpgroup.mma"
            (total,) = i.add(name, operands, [ty], flags, hint="sum")
            i.guard([ZERO - thread % WARP], lambda n: ring.release(n, stage))
            return [total]

        (total,) = b.carried_loop(0, self._blocks, [zeros], block, hint="block")
        return total

    def _factor(
        self, b: Builder, tile: Tile, side: int, stage: Stage, first: Index, size: int
    ) -> Value:
        """The descriptor of some positions of a factor in a stage."""
        lines = tile.lines(b, stage, first, size)
        shape = f"{size}x{LINE}" if tile.boxes.by_position else f"{LINE}x{size}"
        ty = DialectType(
            f"nvgpu.warpgroup.descriptor<tensor = memref<{shape}x{self.element}, 3>>"
        )
        name = "nvgpu.warpgroup.generate.descriptor"
        (made,) = b.add(name, (lines, self.maps[side]), [ty], hint="factor")
        return made
