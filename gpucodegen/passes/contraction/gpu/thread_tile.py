"""Thread tiles: the part of a block's tile of C that a thread keeps in registers.

`QuadTile` multiplies quads (up to four consecutive rows or columns) from shared memory;
the sums are one ``quad x quad`` vector for each quad of the thread's rows and columns.
`ResultTile` reads the initial sums before the reduction and writes them after it, in
pieces: the columns of a quad that are contiguous in one row.  `ExchangedTile` writes
results whose neighbouring columns lie several elements apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise, product

from gpucodegen.dialects.gcg import Parts
from gpucodegen.ir.attributes import DenseArrayAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import (
    I64,
    FloatType,
    MemRefType,
    Type,
    VectorType,
    element_bytes,
    element_type,
)
from gpucodegen.passes.contraction.epilogue_fusion import (
    finished,
    in_element,
    outcome,
    started,
)
from gpucodegen.passes.contraction.gpu.axes import (
    Groups,
    Place,
    Positions,
    bound,
    extent,
    unflatten,
)
from gpucodegen.passes.contraction.gpu.staging import SharedLayout, Terms, Tiles
from gpucodegen.passes.contraction.recognize import Contraction, Tile
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index, replace_values
from gpucodegen.passes.outlining.gpu_launch import SHARED, WARP_SCOPE
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import SECTOR, WARP
from gpucodegen.tiling.machine.gpu.product_tiles import Candidate, LaneMap, Side

UNROLLED = 290
"""Instructions of a loop that LLVM surely unrolls fully: its limit is 300."""


@dataclass(frozen=True, slots=True)
class QuadTile:
    """The first row and column of each quad of a thread, within the block's tile.

    ``held``: both operands in shared memory.
    """

    lanes: LaneMap
    element: Type
    rows: tuple[Index, ...]
    columns: tuple[Index, ...]
    held: tuple[SharedLayout, SharedLayout]
    words: Parts | None = None

    @staticmethod
    def of(
        b: Builder,
        lanes: LaneMap,
        element: Type,
        thread: Index,
        held: tuple[SharedLayout, SharedLayout],
        words: Parts | None = None,
    ) -> QuadTile:
        """The quads of a thread; ``words``: packed types of the elements."""
        down, across = lanes.rows, lanes.columns
        group, lane = _divided(thread, down.lanes * across.lanes)
        row, column = lanes.place(lane)
        group_row, group_column = _divided(group, lanes.across)
        return QuadTile(
            lanes,
            element,
            _starts(b, down, group_row, row, "row"),
            _starts(b, across, group_column, column, "col"),
            held,
            words,
        )

    @property
    def grain(self) -> int:
        """Terms that are multiplied at once."""
        return 1

    @property
    def type(self) -> VectorType:
        """The sums of one quad of rows and one of columns."""
        return VectorType((self.lanes.rows.quad, self.lanes.columns.quad), self.element)

    def multiplied(
        self, b: Builder, tiles: Tiles, at: Terms, count: int, sums: Sequence[Value]
    ) -> tuple[Value, ...]:
        """Add the products of ``count`` terms of a stage."""
        stage, first = at
        number = Index.of(b.index(stage, "stage"))
        sides = (self.rows, self.lanes.rows), (self.columns, self.lanes.columns)

        def term(i: Builder, k: Value, acc: Sequence[Value]) -> list[Value]:
            rows, columns = (
                [
                    held.line(
                        *(i, tile, (number, first + k, at)),
                        *(VectorType((side.quad,), self.element), name),
                    )
                    for at in starts
                ]
                for held, tile, (starts, side), name in zip(
                    self.held, tiles, sides, "ab", strict=True
                )
            )
            pairs = [(row, column) for row in rows for column in columns]
            return [
                i.outerproduct(row, column, total, self.words)
                for (row, column), total in zip(pairs, acc, strict=True)
            ]

        for start, stop in pairwise(_cuts(count, UNROLLED // self._instructions)):
            sums = b.carried_loop(start, stop, sums, term, hint="k")
        return tuple(sums)

    @property
    def _instructions(self) -> int:
        """Instructions per term, as LLVM counts; three per integer product."""
        down, across = self.lanes.rows, self.lanes.columns
        products = down.quads * down.quad * across.quads * across.quad
        each = 1 if self.words or isinstance(self.element, FloatType) else 3
        return products * each + 4 + down.quads + across.quads


def _cuts(count: int, most: int) -> list[int]:
    """Start positions of stretches of at most ``most`` terms (or one), and the end.

    >>> _cuts(8, 7), _cuts(8, 8), _cuts(3, 0), _cuts(0, 8)
    ([0, 4, 8], [0, 8], [0, 1, 2, 3], [0, 0])
    """
    parts = max(1, -(-count // max(1, most)))
    return [count * n // parts for n in range(parts + 1)]


def _divided(index: Index, by: int) -> tuple[Index, Index]:
    return index // by, index % by


def _starts(
    b: Builder, side: Side, group: Index, lane: Index, hint: str
) -> tuple[Index, ...]:
    first = Index.of(b.index(group * side.span + lane * side.quad, hint))
    return tuple(first + n * side.lanes * side.quad for n in range(side.quads))


Write = Callable[[Builder, int, Value], None]
"""Takes the first element of a piece's written part, and its values."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Contiguous elements of C, from a flattened row and column on.

    ``known``: positions of the axes by offset, where some pieces share their parts.
    """

    row: Index
    column: Index
    known: tuple[Positions, ...] = ()


Limits = tuple[list[Index], list[list[Index]]]
"""Expressions >= 0 where a whole piece, and where each of its elements exists."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The block's tile of C, over its flattened groups, in pieces of ``width``."""

    contraction: Contraction
    groups: Groups
    plan: Candidate
    place: Place
    width: int
    adds_last: bool
    """Whether initial values are added in the epilogue."""

    @property
    def piece_type(self) -> VectorType:
        """The sums of a piece."""
        return VectorType((self.width,), self.contraction.element)

    def _cells(self, piece: Piece) -> Tile:
        return Tile(self._at(piece), {self.groups.columns[-1]: self.width})

    def _cell(self, piece: Piece, offset: int) -> Tile:
        return Tile(self._at(piece, offset), {})

    def known_rows(self, b: Builder, row: Index) -> Positions:
        """Positions of the axes of rows, whose divisions are operations."""
        return bound(b, unflatten(row, self.groups.rows))

    def known_columns(self, b: Builder, column: Index) -> list[Positions]:
        """Positions of the axes of columns at each offset of a piece."""
        axes = self.groups.columns
        if not self._side_by_side:
            offsets = range(self.width)
            return [bound(b, unflatten(column + n, axes)) for n in offsets]
        first, inner = bound(b, unflatten(column, axes)), axes[-1].iv
        return [first | {inner: first[inner] + n} for n in range(self.width)]

    def _at(self, piece: Piece, offset: int = 0) -> Positions:
        if piece.known:
            return self.place.batch | piece.known[offset]
        groups = self.groups
        column = piece.column + offset
        rows = unflatten(piece.row, groups.rows)
        return self.place.batch | rows | unflatten(column, groups.columns)

    @property
    def _side_by_side(self) -> bool:
        """Whether no piece continues in the next row of C's last dimension."""
        *outer, inner = self.groups.columns
        return not outer or inner.extent % self.width == 0

    def common_start(self, b: Builder) -> Value | None:
        """The initial sums of any piece if all cells start from one value."""
        if not is_filled(self.contraction):
            return None
        first = Piece(self.place.row, self.place.column)
        return self._begun(b, self._cells(first))

    def loaded(self, b: Builder, piece: Piece) -> Value:
        """The initial values of a piece's sums.

        Sums of cells that do not exist are not stored, so one value of all sums needs
        no guard.
        """
        whole, single = self._limits(piece)

        def together(i: Builder) -> Value:
            return self._begun(i, self._cells(piece))

        def nothing(i: Builder) -> Value:
            return i.constant(0, self.piece_type)

        def apart(i: Builder) -> Value:
            zero = i.constant(0, self.contraction.element)
            elements = [
                i.choose(
                    limits,
                    lambda n, o=offset: self._begun(n, self._cell(piece, o)),
                    lambda _: zero,
                )
                for offset, limits in enumerate(single)
            ]
            (made,) = i.add("vector.from_elements", elements, [self.piece_type])
            return made

        if is_filled(self.contraction):
            return together(b)
        if not self._side_by_side:
            return apart(b)
        return b.choose(whole, together, nothing if self._are_whole else apart)

    def stored(
        self,
        b: Builder,
        piece: Piece,
        row: Value,
        start: Value | None = None,
        write: Write | None = None,
    ) -> None:
        """Write the finished sums of a piece; ``start``: their initial values.

        ``write``: the destination of the epilogue's value, if not the result.
        """
        self.stored_rows(b, [(piece, row)], start, write)

    def stored_rows(
        self,
        b: Builder,
        pieces: Sequence[tuple[Piece, Value]],
        start: Value | None = None,
        write: Write | None = None,
    ) -> None:
        """Write pieces of several rows in the same columns, which are tested once."""
        (first, _), *others = pieces
        if others and self.contraction.guards:
            for one in pieces:
                self.stored_rows(b, [one], start, write)
            return
        common = self._column_limits(first) if others else self._limits(first)

        def rows(i: Builder, body: Callable[[Builder, Piece, Value], None]) -> None:
            for piece, row in pieces:
                own = self._row_limits(piece) if others else []
                i.guard(own, lambda n, p=piece, r=row: body(n, p, r))

        def end(
            i: Builder, cells: Tile, sums: Value, first: Value | None, offset: int
        ) -> None:
            found = self._ended(i, sums, first or self._begun_last(i, cells))
            if write is None:
                finished(i, self.contraction, cells, found)
            else:
                write(i, offset, outcome(i, self.contraction, cells, found))

        def together(i: Builder) -> None:
            rows(i, lambda n, piece, row: end(n, self._cells(piece), row, start, 0))

        def element(i: Builder, piece: Piece, row: Value, offset: int) -> None:
            first = start and i.element(start, offset)
            end(i, self._cell(piece, offset), i.element(row, offset), first, offset)

        def apart(i: Builder) -> None:
            for offset, limits in enumerate(common[1]):
                i.guard(
                    limits,
                    lambda n, o=offset: rows(n, lambda m, p, r: element(m, p, r, o)),
                )

        if not self._side_by_side:
            apart(b)
        elif self._are_whole:
            b.guard(common[0], together)
        else:
            b.guard(common[0], together, apart)

    @property
    def _are_whole(self) -> bool:
        """Whether all columns of a piece exist if one does."""
        return _divides(extent(self.groups.columns), self.width)

    def _begun(self, b: Builder, cells: Tile) -> Value:
        """The initial sums of some cells, in the type of sums."""
        value = started(b, self.contraction, cells)
        return in_element(b, self.contraction.element, value, "arith.extf")

    def _begun_last(self, b: Builder, cells: Tile) -> Value | None:
        """The values that the epilogue adds to the sums of some cells, or None."""
        return self._begun(b, cells) if self.adds_last else None

    def _ended(self, b: Builder, sums: Value, start: Value | None) -> Value:
        """Sums plus late initial values, in the type of the result."""
        if start is not None:
            is_float = isinstance(self.contraction.element, FloatType)
            name = "arith.addf" if is_float else "arith.addi"
            (sums,) = b.add(name, (start, sums), [sums.type], hint="total")
        element = element_type(self.contraction.result.memref.type)
        return in_element(b, element, sums, "arith.truncf")

    def _limits(self, piece: Piece) -> Limits:
        rows, (_, columns) = self._row_limits(piece), self._column_limits(piece)
        guards = self.contraction.guards
        single = [
            [*rows, *limits, *(replace_values(g, self._at(piece, n)) for g in guards)]
            for n, limits in enumerate(columns)
        ]
        return single[-1], single

    def _row_limits(self, piece: Piece) -> list[Index]:
        size = extent(self.groups.rows)
        is_whole = _divides(size, self.plan.tile_rows)
        return [] if is_whole else [size - 1 - piece.row]

    def _column_limits(self, piece: Piece) -> Limits:
        size = extent(self.groups.columns)
        is_whole = _divides(size, self.plan.tile_columns)
        single = [
            [] if is_whole else [size - 1 - (piece.column + n)]
            for n in range(self.width)
        ]
        return single[-1], single


@dataclass(frozen=True, slots=True)
class ResultTile:
    """The part of the tile that a thread holds as quads."""

    cells: Cells
    quads: QuadTile

    def _pieces(self, b: Builder) -> list[list[Piece]]:
        """The pieces of each vector of sums, a row after the other."""
        place, quads = self.cells.place, self.quads
        rows = [Index.of(b.index(place.row + r, "i")) for r in quads.rows]
        columns = [Index.of(b.index(place.column + c, "j")) for c in quads.columns]
        height, cells = quads.lanes.rows.quad, self.cells
        down = [
            [(row + n, cells.known_rows(b, row + n)) for n in range(height)]
            for row in rows
        ]
        across = [(column, cells.known_columns(b, column)) for column in columns]
        return [
            [Piece(row, column, tuple(y | x for x in xs)) for row, y in quad]
            for quad in down
            for column, xs in across
        ]

    def load(self, b: Builder) -> list[Value]:
        count = len(self.quads.rows) * len(self.quads.columns)
        if self.cells.adds_last:
            return [b.constant(0, self.quads.type)] * count
        height, start = self.quads.lanes.rows.quad, self.cells.common_start(b)
        if start is not None:
            return [self._assembled(b, [start] * height)] * count
        return [
            self._assembled(b, [self.cells.loaded(b, piece) for piece in quad])
            for quad in self._pieces(b)
        ]

    def _assembled(self, b: Builder, rows: Sequence[Value]) -> Value:
        total = b.constant(0, self.quads.type)
        for n, row in enumerate(rows):
            where = {"static_position": DenseArrayAttr(I64, (n,))}
            (total,) = b.add(
                "vector.insert", (row, total), [total.type], where, hint="acc"
            )
        return total

    def store(self, b: Builder, sums: Sequence[Value]) -> None:
        for total, quad in zip(sums, self._pieces(b), strict=True):
            rows: list[Value] = []
            for n in range(len(quad)):
                where = {"static_position": DenseArrayAttr(I64, (n,))}
                rows += b.add(
                    "vector.extract", (total,), [self.cells.piece_type], where
                )
            self.cells.stored_rows(b, list(zip(quad, rows, strict=True)))


@dataclass(frozen=True, slots=True)
class ExchangedTile(ResultTile):
    """A tile whose lanes exchange sums, so neighbours store neighbouring columns.

    A quad of columns that lie s elements apart spans 4 s elements, so each lane of a
    store touches a sector of its own.  For each row of the quads, the lanes of a group
    write their quads to a line of ``slice``, synchronise, and read back single columns:
    lane l and column l.  Each element of a line is written by one lane and read by
    one, and a barrier lies between both, and between the read and the next write.
    """

    thread: Index
    slice: Value

    @staticmethod
    def of(b: Builder, tile: ResultTile, thread: Index) -> ResultTile:
        """The tile with a new slice; the tile itself where no exchange pays."""
        lanes = tile.quads.lanes
        line, group = _line(lanes), lanes.rows.lanes * lanes.columns.lanes
        is_even = line % group == 0 or group % line == 0
        if not is_even or not _has_gaps(tile.cells):
            return tile
        groups = tile.cells.plan.threads // group
        shape = groups, lanes.rows.lanes, line + 2 * lanes.columns.quad
        ty = MemRefType(shape, tile.cells.contraction.element, None, SHARED)
        made = b.allocate("memref.alloca", ty, "sums")
        return ExchangedTile(tile.cells, tile.quads, thread, made)

    def store(self, b: Builder, sums: Sequence[Value]) -> None:
        lanes, place, single = self.quads.lanes, self.cells.place, self._single
        down, across = lanes.rows, lanes.columns
        group, lane = _divided(self.thread, down.lanes * across.lanes)
        above, left = _divided(group, lanes.across)
        row, column = lanes.place(lane)
        own = [Index.of(b.index(at, "at")) for at in (group, row, column * across.quad)]
        reads = [self._read(lane, n) for n in range(across.quad)]
        corner = place.column + left * across.span
        firsts = range(0, across.span, _line(lanes))
        columns = [
            [self._column(b, corner + at + first) for *_, at in reads]
            for first in firsts
        ]
        top = place.row + above * down.span + reads[0][0] * down.quad
        top = Index.of(b.index(top, "i"))
        ty = VectorType((across.quad,), self.cells.contraction.element)
        rows = product(range(down.quads), range(across.quads), range(down.quad))
        for number, (quad, side, n) in enumerate(rows):
            where = {"static_position": DenseArrayAttr(I64, (n,))}
            total = sums[quad * across.quads + side]
            (line,) = b.add("vector.extract", (total,), [ty], where)
            if number:
                self._meet(b)
            b.vector_store(line, self.slice, own)
            self._meet(b)
            for (first, more, at), (j, known) in zip(reads, columns[side], strict=True):
                i = top + (more * down.quad + quad * down.lanes * down.quad + n)
                piece = Piece(i, j, (single.known_rows(b, i) | known,))
                there = [own[0], first + more, at]
                one = b.affine_vector_load(self.slice, there, single.piece_type)
                single.stored(b, piece, one)

    @property
    def _single(self) -> Cells:
        return replace(self.cells, width=1)

    def _meet(self, b: Builder) -> None:
        lanes = self.quads.lanes
        is_warp = lanes.rows.lanes * lanes.columns.lanes == WARP
        b.add("gpu.barrier", attributes=WARP_SCOPE if is_warp else None)

    def _read(self, lane: Index, number: int) -> tuple[Index, int, Index]:
        """The line and the column of the ``number``-th element that a lane reads.

        Lines are counted from the first one of the lane on.
        """
        lanes = self.quads.lanes
        line, count = _line(lanes), lanes.rows.lanes * lanes.columns.lanes
        if line >= count:
            down, across = divmod(number, line // count)
            return ZERO, down, lane + across * count
        return lane // line, number * (count // line), lane % line

    def _column(self, b: Builder, column: Index) -> tuple[Index, Positions]:
        j = Index.of(b.index(column, "j"))
        (known,) = self._single.known_columns(b, j)
        return j, known


def _line(lanes: LaneMap) -> int:
    """Columns of the quads of a group's lanes that lie side by side."""
    return lanes.columns.lanes * lanes.columns.quad


def _has_gaps(cells: Cells) -> bool:
    """Whether lanes of quads touch more sectors than lanes of columns would.

    That is so while several columns of all targets lie in one sector.
    """
    inner = cells.groups.columns[-1]
    for target in cells.contraction.targets:
        step = target.coefficient(len(target.indices) - 1, inner)
        size = element_bytes(element_type(target.memref.type))
        if step <= 1 or size is None or step * size >= SECTOR:
            return False
    return cells.width > 1


def starts_last(contraction: Contraction) -> bool:
    """Whether C is added in the epilogue, which needs reassociation.

    Before the loop, addresses of the result would occupy registers in the loop.
    """
    return contraction.reassociable and not is_filled(contraction)


def is_filled(contraction: Contraction) -> bool:
    """Whether all sums start from one value: the prologue is the store of a fill."""
    start = contraction.start
    return start is not None and len(start.steps) == 1


def _divides(size: Index, tile: int) -> bool:
    return size.constant is not None and size.constant % tile == 0
