"""A contraction by warpgroups: one copies, the others multiply.

    barriers of the ring; all threads meet
    for each tile of the block:
      the last warpgroup, one thread of it, for each block of terms:
        wait until the stage is empty; expect its bytes; start the copies of its boxes
      each other one, for each block of terms:
        wait until the stage is full
        sums += its rows of one factor by the other one; wait for these products
        each warp: the stage is empty
      C tile += sums, with what is fused behind

The ring is what orders the roles: they meet nowhere else.  So copies of the next tile
are under way while the sums of this one are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from gpucodegen.passes.contraction.fragments.factors import type_of
from gpucodegen.passes.contraction.gpu.axes import Groups, extent
from gpucodegen.passes.contraction.gpu.block_order import Place
from gpucodegen.passes.contraction.gpu.result_tile import Cells
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.contraction.warpgroups.boxed_result import (
    PAIR,
    WarpBoxes,
    await_reads,
    room_of_boxes,
    see_map,
)
from gpucodegen.passes.contraction.warpgroups.boxes import LINE
from gpucodegen.passes.contraction.warpgroups.result import WarpSlices, room_of_slices
from gpucodegen.passes.contraction.warpgroups.result_boxes import ResultBoxes
from gpucodegen.passes.contraction.warpgroups.ring import Ring, Stage, Tile
from gpucodegen.passes.contraction.warpgroups.terms import Terms
from gpucodegen.passes.contraction.warpgroups.tiled import Tiled, in_boxes
from gpucodegen.passes.contraction.warpgroups.turns import Turns, grid_of
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.gpu.facts.vector_width import Definitions
from gpucodegen.passes.gpu.launches.gpu_launch import KernelBody, thread_index
from gpucodegen.tiling.machine.gpu.devices import WARP, WARPGROUP, WIDEST
from gpucodegen.tiling.machine.gpu.product_tiles import (
    SPAN,
    WARPGROUP_ROWS,
    WarpgroupTiles,
)
from gpucodegen.tiling.machine.gpu.product_work import Product
from gpucodegen.tiling.machine.gpu.warpgroups import (
    LEFT,
    TAKEN,
    WarpgroupCounts,
)


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
    stores = tiled.result if plan.tensor_stores else None
    host = Builder(contraction.location, list(b.operations))
    left, right = (each.make_map(host) for each in tiled.boxes)
    target = None if stores is None else (stores, stores.make_map(host))
    _Lowering(tiled, plan, (left, right), target).build(b)
    body = KernelBody(
        tuple(b.operations),
        grid_of(tiled.groups, plan),
        (plan.threads, 1, 1),
        plan.resident,
    )
    return host.operations, body


@dataclass(frozen=True, slots=True)
class _Lowering:
    tiled: Tiled
    plan: WarpgroupTiles
    maps: tuple[Value, Value]
    target: tuple[ResultBoxes, Value] | None
    """The boxes by which the result is stored, and their map."""

    @property
    def contraction(self) -> Contraction:
        """What is computed."""
        return self.tiled.contraction

    @property
    def groups(self) -> Groups:
        """Its axes."""
        return self.tiled.groups

    @property
    def terms(self) -> Terms:
        """The blocks of terms of a tile."""
        return Terms(self.groups.reduction, self.plan.depth)

    @property
    def element(self) -> Type:
        """The elements of both factors."""
        return type_of(self.contraction.left)

    def build(self, b: Builder) -> None:
        plan = self.plan
        thread = Index.of(thread_index(b, "thread_id", "x", "t"))
        turns = Turns.of(b, self.groups, plan)
        tiles = [
            Tile.of(b, boxes, self.element, plan.stages, hint)
            for boxes, hint in zip(self.tiled.boxes, ("sa", "sb"), strict=True)
        ]
        result = self._result(b, thread, again=turns.are_several)
        ring = Ring.of(b, plan.stages)
        consumers = plan.consumers * WARPGROUP
        warps = consumers // WARP

        def load(i: Builder, where: Place, before: Index) -> None:
            self._produce(i, ring, tiles, where, before)

        def copy(i: Builder) -> None:
            for tensor_map in self.maps:
                i.add("nvgpu.tma.fence.descriptor", (tensor_map,))
            turns.each(i, load)

        def produce(i: Builder) -> None:
            self._registers(i, "decrease", LEFT)
            i.guard([Index.of(consumers) - thread], copy)

        def multiply(i: Builder, where: Place, before: Index) -> None:
            own = result(where)
            started = own.started(i)
            total = self._consume(i, ring, tiles, thread, before)
            own.store(i, total, started)

        def consume(i: Builder) -> None:
            self._registers(i, "increase", TAKEN)
            if self.target is not None:
                see_map(i, thread, self.target[1])
            turns.each(i, multiply)
            if self.target is not None:
                await_reads(i, thread)

        def whole(i: Builder) -> None:
            i.guard([ZERO - thread], lambda n: ring.init(n, warps))
            i.add("gpu.barrier")
            i.guard([Index.of(consumers - 1) - thread], consume, produce)

        b.guard([extent(self.groups.reduction) - 1, *turns.exists], whole)

    def _result(
        self, b: Builder, thread: Index, *, again: bool
    ) -> Callable[[Place], WarpSlices | WarpBoxes]:
        """How the sums of a tile become the result, through new shared memory."""
        plan, c, groups = self.plan, self.contraction, self.groups
        if self.target is not None:
            boxes, tensor_map = self.target
            memory = room_of_boxes(b, plan, boxes)

            def by_boxes(where: Place) -> WarpBoxes:
                cells = Cells(c, groups, plan, where, PAIR, adds_last=True)
                return WarpBoxes(cells, plan, memory, thread, again, boxes, tensor_map)

            return by_boxes
        room = room_of_slices(b, plan, c.element)
        size = element_bytes(element_type(c.result.memref.type)) or 1
        width = gcd(WIDEST // size, plan.tile_columns)

        def by_slices(where: Place) -> WarpSlices:
            cells = Cells(c, groups, plan, where, width, adds_last=True)
            return WarpSlices(cells, plan, room, thread, again)

        return by_slices

    def _registers(self, b: Builder, action: str, count: int) -> None:
        """Leave registers to other warpgroups, or take what they left."""
        if WarpgroupCounts(self.plan, Product(1, 1, 1)).trades_registers:
            attributes: dict[str, Attribute] = {
                "action": OpaqueAttr(f"#nvvm.action<{action}>"),
                "regCount": IntegerAttr(count, I32),
            }
            b.add("nvvm.setmaxregister", attributes=attributes)

    def _step(self, before: Index, block: Value) -> Index:
        """Blocks of terms before one, those of so many tiles before this one too."""
        return before * self.terms.blocks + block

    def _produce(
        self,
        b: Builder,
        ring: Ring,
        tiles: Sequence[Tile],
        where: Place,
        before: Index,
    ) -> None:
        """Copy the boxes of all blocks of terms of a tile, by one thread."""
        bytes_ = (self.plan.tile_rows + self.plan.tile_columns) * SPAN
        firsts = where.row, where.column

        def block(i: Builder, number: Value) -> None:
            stage = ring.at(i, self._step(before, number))
            ring.acquire(i, stage, bytes_)
            at = where.batch | self.terms.at(Index.of(number))
            for tile, tensor_map, first in zip(tiles, self.maps, firsts, strict=True):
                lines, boxes = 0, tile.boxes
                for corner in boxes.starts(first, at):
                    target = tile.lines(i, stage, Index.of(lines), boxes.lines)
                    ring.load(i, stage, tensor_map, target, corner)
                    lines += boxes.lines

        b.loop(0, self.terms.blocks, block, hint="block")

    def _consume(
        self,
        b: Builder,
        ring: Ring,
        tiles: Sequence[Tile],
        thread: Index,
        before: Index,
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
            stage = ring.at(i, self._step(before, number))
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

        (total,) = b.carried_loop(0, self.terms.blocks, [zeros], block, hint="block")
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
