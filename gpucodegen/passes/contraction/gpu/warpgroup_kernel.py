"""Warp-specialised GEMM kernel: one warpgroup copies by TMA, the others multiply.

    initialise the mbarriers of the ring; all threads synchronise
    for each tile of the block:
      the producer, one thread of the last warpgroup, for each K tile:
        wait until the stage is empty; expect its bytes; start the copies of its boxes
      each consumer warpgroup, for each K tile:
        wait until the stage is full
        sums += its rows of one operand by the other one; wait for these products
        each warp: the stage is empty
      C tile += sums, with the fused epilogue

Producer and consumers synchronise through a ring of shared-memory stages only, so
copies for the next tile run while the sums of this one are stored.  Each stage has two
mbarriers:

    full[s]    one arrival, and the bytes of both tiles: a stage may be read
    empty[s]   an arrival of each warp that read it: a stage may be written

Use r of a stage is phase r of both.  The producer waits for phase r - 1 of ``empty``
(a new mbarrier takes the parity of that phase as completed at first), a consumer for
phase r of ``full``.

A persistent block computes several tiles of the result one after the other:

    blocks of the grid   G = ceil(tiles / tiles per block)
    block b              tiles b, b + G, b + 2 G, ..

so concurrent blocks work on neighbouring tiles in the order of bands.  The K tiles of
all tiles of a block are counted through, so the ring continues from tile to tile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from gpucodegen.ir.attributes import (
    Attribute,
    IntegerAttr,
    OpaqueAttr,
    StridedLayoutAttr,
    UnitAttr,
)
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Operation, Value, segment_counts
from gpucodegen.ir.types import (
    I1,
    I32,
    I64,
    INDEX,
    DialectType,
    MemRefType,
    element_bytes,
    element_type,
)
from gpucodegen.passes.contraction.gpu.axes import (
    Groups,
    Place,
    Positions,
    extent,
    grid,
    numbered,
    place,
    tiles,
    unflatten,
)
from gpucodegen.passes.contraction.gpu.tensor_boxes import (
    Boxes,
    ResultBoxes,
    Tiled,
    in_boxes,
)
from gpucodegen.passes.contraction.gpu.thread_tile import Cells
from gpucodegen.passes.contraction.gpu.warpgroup_results import (
    PAIR,
    WarpBoxes,
    WarpSlices,
    await_reads,
    room_of_boxes,
    room_of_slices,
    see_map,
)
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.outlining.gpu_launch import SHARED, KernelBody, thread_index
from gpucodegen.passes.outlining.vector_width import Definitions
from gpucodegen.passes.prepare.flatten_elements import with_columns
from gpucodegen.records import dataclass
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

TICKS = 10_000_000
"""Suspend-time hint of one ``mbarrier.try_wait``, in nanoseconds."""
EQUAL = IntegerAttr(0, I64)
"""The predicate of ``arith.cmpi eq``."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage in one round."""

    number: Value
    round: Index


@dataclass(frozen=True, slots=True)
class Ring:
    """The mbarriers of a block's ring."""

    stages: int
    full: Value
    empty: Value

    @staticmethod
    def of(b: Builder, stages: int) -> Ring:
        """New barriers, not initialised."""
        ty = DialectType(
            "nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>,"
            f" num_barriers = {stages}>"
        )
        full, empty = (
            b.add("nvgpu.mbarrier.create", (), [ty], hint=hint)[0]
            for hint in ("full", "empty")
        )
        return Ring(stages, full, empty)

    def init(self, b: Builder, readers: int) -> None:
        """Initialise the mbarriers in one thread; ``readers``: warps per stage."""

        def one(i: Builder, stage: Value) -> None:
            for barriers, count in ((self.full, 1), (self.empty, readers)):
                number = i.constant(count, INDEX)
                i.add("nvgpu.mbarrier.init", (barriers, number, stage))

        b.loop(0, self.stages, one, hint="s")

    def at(self, b: Builder, step: Index) -> Stage:
        number = b.index(step % self.stages, "stage")
        return Stage(number, step // self.stages)

    def acquire(self, b: Builder, stage: Stage, size: int) -> None:
        """Wait until a stage may be written, and expect its bytes."""
        self._wait(b, self.empty, stage, stage.round + 1)
        bytes_ = b.constant(size, INDEX)
        operands = (self.full, bytes_, stage.number)
        b.add("nvgpu.mbarrier.arrive.expect_tx", operands)

    def await_(self, b: Builder, stage: Stage) -> None:
        self._wait(b, self.full, stage, stage.round)

    def release(self, b: Builder, stage: Stage) -> None:
        """Arrive at ``empty``, once per warp."""
        token = DialectType("nvgpu.mbarrier.token")
        operands = (self.empty, stage.number)
        b.add("nvgpu.mbarrier.arrive", operands, [token], hint="token")

    def _wait(self, b: Builder, barriers: Value, stage: Stage, phase: Index) -> None:
        """Wait for the end of a phase; ``phase`` has its parity."""
        parity, one = b.index(phase % 2, "turn"), b.constant(1, INDEX)
        (odd,) = b.add(
            "arith.cmpi", (parity, one), [I1], {"predicate": EQUAL}, hint="p"
        )
        ticks = b.constant(TICKS, INDEX)
        operands = (barriers, odd, ticks, stage.number)
        b.add("nvgpu.mbarrier.try_wait.parity", operands)

    def load(
        self,
        b: Builder,
        stage: Stage,
        tensor_map: Value,
        target: Value,
        corner: Sequence[Index],
    ) -> None:
        """``nvgpu.tma.async.load`` of a box, which arrives at ``full``."""
        coordinates = [b.index(at, "at") for at in corner]
        sizes = segment_counts(1, 1, 1, len(coordinates), 1, 0, 0)
        operands = (target, self.full, tensor_map, *coordinates, stage.number)
        b.add("nvgpu.tma.async.load", operands, (), {OPERAND_SEGMENTS: sizes})


@dataclass(frozen=True, slots=True)
class Tile:
    """The stages of one operand: lines of boxes, one behind the other."""

    boxes: Boxes
    memory: Value

    @staticmethod
    def of(b: Builder, boxes: Boxes, stages: int, hint: str) -> Tile:
        shape = stages, boxes.size, boxes.line
        ty = MemRefType(shape, boxes.element, None, SHARED)
        return Tile(boxes, b.allocate("memref.alloca", ty, hint))

    def lines(self, b: Builder, stage: Stage, first: Index, count: int) -> Value:
        ty = self.memory.type
        assert isinstance(ty, MemRefType)
        line = self.boxes.line
        layout = StridedLayoutAttr((line, 1), None)
        part = MemRefType((count, line), ty.element, layout, SHARED)
        known = first.constant
        start = b.index(first, "line") if known is None else known
        (view,) = b.add("memref.subview", (self.memory,), [part], hint="lines")
        columns = [stage.number, start, 0], [1, count, line], [1, 1, 1]
        b.operations[-1] = with_columns(b.operations[-1], columns)
        return view


@dataclass(frozen=True, slots=True)
class KTiles:
    """The axes of a reduction, ``depth`` terms of the last one at a time."""

    axes: tuple[Axis, ...]
    depth: int

    @property
    def blocks(self) -> Index:
        return extent(self.axes[:-1]) * self._inner

    @property
    def _inner(self) -> Index:
        """K tiles along the last axis."""
        return self.axes[-1].size.ceildiv(self.depth)

    def at(self, block: Index) -> Positions:
        """Positions of the axes at the first term of a K tile."""
        *outer, inner = self.axes
        if not outer:
            return {inner.iv: block * self.depth}
        place = block % self._inner * self.depth
        return {inner.iv: place} | unflatten(block // self._inner, outer)


EachTile = Callable[[Builder, Place, Index], None]
"""Processes a tile, given the number of the block's tiles before it."""


@dataclass(frozen=True, slots=True)
class TileSequence:
    """The tiles of the executing block."""

    groups: Groups
    plan: WarpgroupTiles
    block: Value | None
    only: Place | None
    """The tile of a block that has just one."""

    @staticmethod
    def of(b: Builder, groups: Groups, plan: WarpgroupTiles) -> TileSequence:
        """The sequence for the block's index."""
        if plan.turns == 1:
            return TileSequence(groups, plan, None, place(b, groups, plan))
        return TileSequence(groups, plan, thread_index(b, "block_id", "x", "bx"), None)

    @property
    def exists(self) -> tuple[Index, ...]:
        """Expressions that are >= 0 if the block has a tile."""
        return () if self.only is None else self.only.exists

    @property
    def are_several(self) -> bool:
        """Whether the block may have more than one tile."""
        return self.only is None

    def each(self, b: Builder, body: EachTile) -> None:
        """Run the body for all of the block's tiles, in order."""
        if self.only is not None:
            body(b, self.only, ZERO)
            return
        assert self.block is not None
        blocks, first = blocks_of(self.groups, self.plan), Index.of(self.block)

        def turn(i: Builder, number: Value) -> None:
            tile = Index.of(i.index(first + Index.of(number) * blocks, "tile"))
            body(i, numbered(i, self.groups, self.plan, tile), Index.of(number))

        count = (Index.of(tiles(self.groups, self.plan)) - first).ceildiv(blocks)
        b.loop(0, count, turn, hint="turn")


def blocks_of(groups: Groups, plan: WarpgroupTiles) -> int:
    """Blocks of the grid where each has several tiles."""
    return -(-tiles(groups, plan) // plan.turns)


def grid_of(groups: Groups, plan: WarpgroupTiles) -> tuple[Index, Index, Index]:
    if plan.turns == 1:
        return grid(groups, plan)
    return Index.of(blocks_of(groups, plan)), Index.of(1), Index.of(1)


def lower(
    b: Builder,
    contraction: Contraction,
    groups: Groups,
    plan: WarpgroupTiles,
    definitions: Definitions,
) -> tuple[list[Operation], KernelBody]:
    """Host operations before the kernel of a contraction, and the kernel.

    ``definitions``: the operations that define its arrays; ``b`` holds the views that
    it reads through.
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
    """The boxes by which the result is stored, and their tensor map."""

    @property
    def contraction(self) -> Contraction:
        return self.tiled.contraction

    @property
    def groups(self) -> Groups:
        return self.tiled.groups

    @property
    def terms(self) -> KTiles:
        """The K tiles of a tile of the result."""
        return KTiles(self.groups.reduction, self.plan.depth)

    def build(self, b: Builder) -> None:
        plan = self.plan
        thread = Index.of(thread_index(b, "thread_id", "x", "t"))
        turns = TileSequence.of(b, self.groups, plan)
        tiles = [
            Tile.of(b, boxes, plan.stages, hint)
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
        """The store of a tile's sums to the result, through new shared memory."""
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
        """``setmaxnreg``: release registers to other warpgroups, or claim them."""
        if WarpgroupCounts(self.plan, Product(1, 1, 1)).trades_registers:
            attributes: dict[str, Attribute] = {
                "action": OpaqueAttr(f"#nvvm.action<{action}>"),
                "regCount": IntegerAttr(count, I32),
            }
            b.add("nvvm.setmaxregister", attributes=attributes)

    def _step(self, before: Index, block: Value) -> Index:
        """The number of a K tile, counted over all previous tiles of the block."""
        return before * self.terms.blocks + block

    def _produce(
        self,
        b: Builder,
        ring: Ring,
        tiles: Sequence[Tile],
        where: Place,
        before: Index,
    ) -> None:
        """Copy the boxes of all K tiles of a tile, by one thread."""
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
            first = group * WARPGROUP_ROWS
            left = self._factor(i, tiles[0], 0, stage, first, WARPGROUP_ROWS)
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
        """The shared-memory descriptor of some positions of an operand in a stage."""
        lines = tile.lines(b, stage, first, size)
        boxes = tile.boxes
        extents = (size, boxes.line) if boxes.by_position else (boxes.line, size)
        shape = "x".join(map(str, (*extents, boxes.element)))
        ty = DialectType(f"nvgpu.warpgroup.descriptor<tensor = memref<{shape}, 3>>")
        name = "nvgpu.warpgroup.generate.descriptor"
        (made,) = b.add(name, (lines, self.maps[side]), [ty], hint="factor")
        return made
