"""Epilogue of the warp-specialised kernel: each warp stores its own sums.

By TMA (`WarpBoxes`):

    for each part of the columns of a tile:
      wait until the copies of the previous part have read their boxes; sync the warp
      store the epilogue's results to the boxes, two elements at a time
      fence: orders these stores before the copies; sync the warp
      one lane starts the copies of all boxes, and commits their group

A line of a box has eight 16-byte pieces; piece c of line r lies at place c xor r (mod
8), the swizzle of the tensor map, so the stores of a warp hit different banks.

By ordinary stores (`WarpSlices`): a lane holds two elements of a row.  A warp writes
eight rows of some columns to a slice of shared memory, synchronises, and each lane
stores contiguous elements with the fused epilogue.  Initial values are read one slice
ahead, those of the first slice before the products.  The producer warps take no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from gpucodegen.ir.attributes import (
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
    OpaqueAttr,
    StridedLayoutAttr,
    UnitAttr,
)
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Value, segment_counts
from gpucodegen.ir.types import I32, I64, MemRefType, Type, VectorType, element_type
from gpucodegen.passes.contraction.gpu.tensor_boxes import ResultBoxes
from gpucodegen.passes.contraction.gpu.thread_tile import Cells, Piece
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index, divided
from gpucodegen.passes.outlining.gpu_launch import SHARED, WARP_SCOPE
from gpucodegen.passes.prepare.flatten_elements import with_columns
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP, WARPGROUP, WIDEST
from gpucodegen.tiling.machine.gpu.fragments import COLUMNS, ROWS, gap_of
from gpucodegen.tiling.machine.gpu.product_tiles import (
    WarpgroupTiles,
)
from gpucodegen.tiling.machine.gpu.shared_copies import OCTET
from gpucodegen.tiling.machine.gpu.warpgroups import SLICE_COLUMNS, boxed_columns


def room_of_slices(b: Builder, plan: WarpgroupTiles, element: Type) -> Value:
    """New shared memory, eight rows for each warp."""
    warps = plan.consumers * WARPGROUP // WARP
    shape = warps * OCTET, gap_of(_columns(plan))
    return b.allocate("memref.alloca", MemRefType(shape, element, None, SHARED), "sums")


@dataclass(frozen=True, slots=True)
class WarpSlices:
    """The slices of shared memory of all consumer warps."""

    cells: Cells
    plan: WarpgroupTiles
    memory: Value
    thread: Index
    is_again: bool
    """Whether there may be tiles before this one."""

    @property
    def warp(self) -> Index:
        return self.thread // WARP

    @property
    def lane(self) -> Index:
        return self.thread % WARP

    @property
    def _slices(self) -> list[tuple[int, int]]:
        """The first column of each slice, and which of a lane's two rows it holds."""
        firsts = range(0, self.plan.tile_columns, _columns(self.plan))
        return [(first, half) for first in firsts for half in range(ROWS // OCTET)]

    def started(self, b: Builder, number: int = 0) -> list[Value]:
        """The initial values of a lane's pieces in a slice."""
        pieces = range(OCTET * self._across // WARP)
        return [self.cells.loaded(b, self._piece(b, number, n)) for n in pieces]

    def store(self, b: Builder, total: Value, started: Sequence[Value]) -> None:
        """Write a warpgroup's sums; ``started``: initial values of the first slice."""
        for number, (first, half) in enumerate(self._slices):
            self._put(b, total, first, half)
            b.add("gpu.barrier", attributes=WARP_SCOPE)
            is_last = number + 1 == len(self._slices)
            following = [] if is_last else self.started(b, number + 1)
            self._take(b, number, started)
            if not is_last or self.is_again:
                b.add("gpu.barrier", attributes=WARP_SCOPE)
            started = following

    def _take(self, b: Builder, number: int, started: Sequence[Value]) -> None:
        """Copy the slice to the result in a loop that carries the initial values.

        A loop leaves the proof a single piece to compare.
        """

        def piece(i: Builder, n: Value, left: Sequence[Value]) -> list[Value]:
            at = self.warp * OCTET + self._down(n), self._column
            sums = i.vector_load(self.memory, at, self.cells.piece_type)
            self.cells.stored(i, self._piece(i, number, n), sums, left[0])
            return [*left[1:], left[0]]

        b.carried_loop(ZERO, len(started), started, piece, hint="piece")

    def _piece(self, b: Builder, number: int, n: Value | int) -> Piece:
        """The ``n``-th piece of a lane in a slice."""
        place, (first, half) = self.cells.place, self._slices[number]
        down = self.warp * ROWS + half * OCTET + self._down(n)
        column = place.column + self._column + first
        return Piece(place.row + down, Index.of(b.index(column, "j")))

    @property
    def _across(self) -> int:
        """Pieces per row of a slice, a divisor of the lanes of a warp."""
        return _columns(self.plan) // self.cells.width

    @property
    def _column(self) -> Index:
        """The column of a lane's pieces in a slice."""
        return self.thread % self._across * self.cells.width

    def _down(self, n: Value | int) -> Index:
        """The row of a lane's ``n``-th piece."""
        return self.lane // self._across + Index.of(n) * (WARP // self._across)

    def _put(self, b: Builder, total: Value, first: int, half: int) -> None:
        """Store one of the two rows of each fragment to the slice."""
        element = self.cells.contraction.element
        fragment, pair = VectorType((2, 2), element), VectorType((2,), element)
        where = {"static_position": DenseArrayAttr(I64, (half,))}
        row = Index.of(b.index(self.warp * OCTET + self.lane // 4, "at"))
        start = Index.of(b.index(self.lane % 4 * 2, "at"))
        for n in range(0, _columns(self.plan), COLUMNS):
            number = IntegerAttr((first + n) // COLUMNS, I64)
            place = {"row": IntegerAttr(0, I64), "column": number}
            (held,) = b.add("gcg.fragment", (total,), [fragment], place)
            (sums,) = b.add("vector.extract", (held,), [pair], where)
            b.vector_store(sums, self.memory, [row, start + n])


def _columns(plan: WarpgroupTiles) -> int:
    return min(SLICE_COLUMNS, plan.tile_columns)


PAIR = 2
"""Contiguous elements that a lane has of each row of a fragment."""
AHEAD = 64
"""Columns whose initial values a lane reads at once."""
FENCE: dict[str, Attribute] = {
    "kind": OpaqueAttr("#nvvm.proxy_kind<async.shared>"),
    "space": OpaqueAttr("#nvvm.shared_space<cta>"),
}
"""Attributes of a fence between threads and TMA copies of shared memory."""


def room_of_boxes(b: Builder, plan: WarpgroupTiles, boxes: ResultBoxes) -> Value:
    """New shared memory, boxes for a part of the columns for each warp."""
    warps = plan.consumers * WARPGROUP // WARP
    count = warps * boxed_columns(plan, boxes.size) // boxes.line
    element = element_type(boxes.operand.memref.type)
    ty = MemRefType((count, *boxes.box), element, None, SHARED)
    return b.allocate("memref.alloca", ty, "boxes")


def see_map(b: Builder, thread: Index, tensor_map: Value) -> None:
    """Acquire fence: the copying lane of each warp sees the host's tensor map."""

    def see(i: Builder) -> None:
        i.add("nvgpu.tma.fence.descriptor", (tensor_map,))

    b.guard([ZERO - thread % WARP], see)


def await_reads(b: Builder, thread: Index) -> None:
    """Wait until the copies that a lane of each warp started have read their boxes."""

    def wait(i: Builder) -> None:
        none_open = {"group": IntegerAttr(0, I32), "read": UnitAttr()}
        i.add("nvvm.cp.async.bulk.wait_group", attributes=none_open)

    b.guard([ZERO - thread % WARP], wait)


@dataclass(frozen=True, slots=True)
class Fragment:
    """Two rows of eight columns of a warp's sums, from a column of the tile on."""

    column: int
    half: int


@dataclass(frozen=True, slots=True)
class WarpBoxes:
    """The boxes of all consumer warps."""

    cells: Cells
    plan: WarpgroupTiles
    memory: Value
    thread: Index
    is_again: bool
    """Whether there may be tiles before this one."""
    boxes: ResultBoxes
    tensor_map: Value

    @property
    def lane(self) -> Index:
        return self.thread % WARP

    @property
    def _columns(self) -> int:
        return boxed_columns(self.plan, self.boxes.size)

    @property
    def _each(self) -> int:
        return self._columns // self.boxes.line

    def _chunks(self, first: int) -> list[list[Fragment]]:
        """The fragments of a part, in chunks whose initial values are read at once."""
        ahead = min(AHEAD, self._columns)
        return [
            [
                Fragment(column, half)
                for column in range(start, start + ahead, COLUMNS)
                for half in range(ROWS // OCTET)
            ]
            for start in range(first, first + self._columns, ahead)
        ]

    def started(self, b: Builder) -> list[Value]:
        """The initial values of the first chunk of sums."""
        return self._started(b, self._chunks(0)[0])

    def _started(self, b: Builder, chunk: Sequence[Fragment]) -> list[Value]:
        return [self.cells.loaded(b, self._piece(b, each)) for each in chunk]

    def store(self, b: Builder, total: Value, started: Sequence[Value]) -> None:
        """Write a warpgroup's sums; ``started``: initial values of the first chunk."""
        firsts = range(0, self.plan.tile_columns, self._columns)
        chunks = list(chain.from_iterable(map(self._chunks, firsts)))
        following = iter([*chunks[1:], []])
        for first in firsts:
            if first or self.is_again:
                await_reads(b, self.thread)
                b.add("gpu.barrier", attributes=WARP_SCOPE)
            for chunk in self._chunks(first):
                after = self._started(b, next(following))
                for fragment, start in zip(chunk, started, strict=True):
                    self._put(b, total, fragment, start)
                started = after
            b.add("nvvm.fence.proxy", attributes=FENCE)
            b.add("gpu.barrier", attributes=WARP_SCOPE)
            b.guard([ZERO - self.lane], lambda i, n=first: self._copy(i, n))

    def _piece(self, b: Builder, fragment: Fragment) -> Piece:
        """The two elements of this lane in a row of a fragment."""
        place = self.cells.place
        row = self.thread // WARP * ROWS + fragment.half * OCTET + self.lane // 4
        column = place.column + self.lane % 4 * PAIR + fragment.column
        return Piece(place.row + row, Index.of(b.index(column, "j")))

    def _put(self, b: Builder, total: Value, fragment: Fragment, start: Value) -> None:
        """Store the epilogue's value of two sums of this lane to its place in a box."""
        element = self.cells.contraction.element
        held_type, pair = VectorType((2, PAIR), element), VectorType((PAIR,), element)
        number = IntegerAttr(fragment.column // COLUMNS, I64)
        place = {"row": IntegerAttr(0, I64), "column": number}
        (held,) = b.add("gcg.fragment", (total,), [held_type], place)
        where = {"static_position": DenseArrayAttr(I64, (fragment.half,))}
        (sums,) = b.add("vector.extract", (held,), [pair], where)
        *outer, column = self._inside(fragment)

        def write(i: Builder, offset: int, value: Value) -> None:
            at = [*outer, column + offset]
            if isinstance(value.type, VectorType):
                i.vector_store(value, self.memory, at)
            else:
                i.store(value, self.memory, at)

        self.cells.stored(b, self._piece(b, fragment), sums, start, write)

    def _inside(self, fragment: Fragment) -> list[Index]:
        """The box, position and place of this lane's elements of a fragment."""
        number, along = divmod(fragment.column % self._columns, self.boxes.line)
        box = self.thread // WARP * self._each + number
        left, rows = self.lane // 4 + fragment.half * OCTET, list[Index]()
        for extent in reversed(self.boxes.box[1:-1]):
            left, place = divided(left, extent)
            rows.append(place)
        return [box, left, *reversed(rows), self._swizzled(along)]

    def _swizzled(self, along: int) -> Index:
        """The place in a line of this lane's elements, ``along`` it in the first lane.

        Bit i of the piece's place is that of its number plus that of the line, mod 2.
        """
        piece = WIDEST // self.boxes.size
        own, inside = divided(self.lane % 4 * PAIR, piece)
        found, line = inside, self.lane // 4
        for bit in (1, 2, 4):
            crossed = (own // bit + line // bit) % 2
            is_set = along // piece // bit % 2
            found += (Index.of(1) - crossed if is_set else crossed) * (bit * piece)
        return found

    def _copy(self, b: Builder, first: int) -> None:
        """Start the copies of the boxes of a part, and commit their group."""
        place = self.cells.place
        row = place.row + self.thread // WARP * ROWS
        for number in range(self._each):
            source = self._box(b, number)
            column = place.column + (first + number * self.boxes.line)
            corner = self.boxes.start(row, column, place.batch)
            coordinates = [b.index(at, "at") for at in corner]
            sizes = segment_counts(1, 1, len(coordinates), 0)
            operands = (source, self.tensor_map, *coordinates)
            b.add("nvgpu.tma.async.store", operands, (), {OPERAND_SEGMENTS: sizes})
        b.add("nvvm.cp.async.bulk.commit.group")

    def _box(self, b: Builder, number: int) -> Value:
        box, memory = self.boxes.box, self.memory.type
        assert isinstance(memory, MemRefType)
        strides = [1]
        for extent in reversed(box[1:]):
            strides.insert(0, strides[0] * extent)
        layout = StridedLayoutAttr(tuple(strides), None)
        ty = MemRefType(box, memory.element, layout, SHARED)
        which = b.index(self.thread // WARP * self._each + number, "box")
        (view,) = b.add("memref.subview", (self.memory,), [ty], hint="box")
        columns = (
            [which, *[0] * len(box)],
            [1, *box],
            [1] * (len(box) + 1),
        )
        b.operations[-1] = with_columns(b.operations[-1], columns)
        return view
