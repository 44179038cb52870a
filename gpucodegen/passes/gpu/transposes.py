"""Transpose kernels: shared-memory tiles make both loads and stores contiguous.

    for i, j { B[j, i] = f(A[i, j]) }

A block takes a tile of iterations.  Its threads load groups of neighbours along ``j``
and store them to shared memory, transposed in squares if that makes groups along ``i``;
after a barrier they take groups along ``i`` and run the body, which stores neighbours.
All other loops are a batch:

    put:   tile[j, i] = A[i, j]    groups along ``j``, or transposed squares of these
    use:   the body, groups along ``i``

Partial tiles go element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value, clone, substitute_values
from gpucodegen.ir.types import MemRefType, VectorType, element_bytes
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, as_map, from_map, replace_values
from gpucodegen.passes.gpu.elementwise import (
    Grouped,
    Moved,
    Sweep,
    iterations,
    moved,
    sweeps,
)
from gpucodegen.passes.gpu.nest_mapping import MappedLoop, Nest, Rows, trip_count
from gpucodegen.passes.outlining.gpu_launch import SHARED, KernelBody, thread_index
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import GpuDevice
from gpucodegen.tiling.machine.gpu.streams import TransposeTile, plan_tile
from gpucodegen.tiling.machine.plan_space import Choose


@dataclass(frozen=True, slots=True)
class Side:
    """A loop of the tile: ``size`` iterations from ``start`` on.

    ``first``: the offset of the first tile from the loop's start, not positive.
    """

    loop: MappedLoop
    start: Value
    size: int
    first: int

    def limits(self, low: Index, high: Index) -> list[Index]:
        """Expressions >= 0 where the iterations from ``low`` to ``high`` exist."""
        ends = [upper - 1 - high for upper in self.loop.uppers]
        return [*ends, *([low - self.loop.lower] if self.first else [])]

    @property
    def is_full(self) -> list[Index]:
        """Expressions >= 0 where all iterations of the tile exist."""
        count = trip_count(self.loop).constant
        fills = count is not None and not self.first and count % self.size == 0
        low = Index.of(self.start)
        limits = self.limits(low, low + (self.size - 1))
        return limits[1:] if fills else limits


@dataclass(frozen=True, slots=True)
class TransposeTiles:
    """The tiles of a block; pairs are of the loops of transposed loads and of stores.

    ``down`` and ``across``: the nest along these loops.  ``tiles``: by load.
    ``places``: variables of the other loops.  ``exists``: >= 0 where these exist.
    """

    down: Sweep
    across: Sweep
    plan: TransposeTile
    sides: tuple[Side, Side]
    tiles: Mapping[Operation, Value]
    places: Mapping[Value, Value]
    exists: Sequence[Index]

    def load(self, b: Builder, thread: Index) -> None:
        """Copy groups of the transposed loads, along their loop, into shared memory."""
        body: list[Operation] = []
        for op in self.down.body:
            if op in self.tiles:
                body += [op, self._put(op)]
            elif op.name == "affine.apply":
                body.append(op)
        sweep = replace(self.down, body=tuple(body))
        self._run(b, sweep, thread, self.sides, self.plan.down, self.plan.square)

    def use(self, b: Builder, thread: Index) -> None:
        """The body, along the loop of the stores."""
        body = tuple(map(self._taken, self.across.body))
        sweep = replace(self.across, body=body)
        self._run(b, sweep, thread, self.sides[::-1], self.plan.across)

    def _cell(self) -> list[Index]:
        """The place of the iteration's element in the tile."""
        row, column = (Index.of(side.loop.iv) - side.start for side in self.sides)
        square = self.plan.square
        return [row // square, row % square * self.plan.columns + column]

    def _put(self, op: Operation) -> Operation:
        map_, operands = as_map(self._cell())
        return affine.store(op.result, self.tiles[op], map_, operands)

    def _taken(self, op: Operation) -> Operation:
        if op not in self.tiles:
            return op
        map_, operands = as_map(self._cell())
        return affine.load(self.tiles[op], map_, operands).with_(results=op.results)

    def _run(
        self,
        b: Builder,
        sweep: Sweep,
        thread: Index,
        sides: tuple[Side, ...],
        width: int,
        square: int = 1,
    ) -> None:
        """A body for all groups along the first side, in lines of the other.

        Lines of a thread are adjacent as far as they form a ``square``.
        """
        along, other = sides
        groups = along.size // width
        line, step = thread // groups * square, self.plan.threads // groups * square
        start = b.index(thread % groups * width + along.start, along.loop.iv.name)
        first = b.index(line + other.start, other.loop.iv.name)
        rounds = other.size // step
        accesses = moved(sweep, width) | self._wide_uses(sweep)

        def place(i: Builder, ahead: int) -> dict[Value, Value]:
            at = i.index(Index.of(first) + ahead, other.loop.iv.name)
            return {**self.places, along.loop.iv: start, other.loop.iv: at}

        def full(i: Builder) -> None:
            if square > 1:
                for n in range(rounds):
                    lines = [place(i, n * step + k) for k in range(square)]
                    self._square(i, sweep, lines, accesses)
                return
            lines = [place(i, n * step) for n in range(rounds)]
            Grouped(along.loop.iv, sweep.body, width, accesses).build(i, lines)

        def ragged(i: Builder) -> None:
            i.loop(
                0,
                rounds * square,
                lambda j, n: j.loop(0, width, one(n), hint="lane"),
                hint="line",
            )

        def one(number: Value) -> Callable[[Builder, Value], None]:
            def at(i: Builder, lane: Value) -> None:
                iv = i.index(Index.of(start) + lane, along.loop.iv.name)
                ahead = Index.of(number) // square * step + Index.of(number) % square
                here = i.index(ahead + first, other.loop.iv.name)
                known = {**self.places, along.loop.iv: iv, other.loop.iv: here}
                body = [substitute_values(op, known) for op in sweep.body]
                limits = along.limits(Index.of(iv), Index.of(iv))
                limits += other.limits(Index.of(here), Index.of(here))
                i.guard([*self.exists, *limits], lambda n: n.operations.extend(body))

            return at

        b.guard([*self.exists, *along.is_full, *other.is_full], full, ragged)

    def _wide_uses(self, sweep: Sweep) -> dict[Operation, Moved]:
        """Vector loads from tiles that transposed squares have filled."""
        square, tiles = self.plan.square, self.tiles.values()
        return {
            op: Moved(square * (element_bytes(op.result.type) or 1))
            for op in sweep.body
            if square > 1 and op.results and op.operands and op.operands[0] in tiles
        }

    def _square(
        self,
        b: Builder,
        sweep: Sweep,
        lines: Sequence[Mapping[Value, Value]],
        accesses: Mapping[Operation, Moved],
    ) -> None:
        """Load groups of as many lines, and store each of their columns at once."""
        copies = [dict(line) for line in lines]
        first, along = lines[0], self.sides[0].loop.iv
        for op in sweep.body:
            if not op.results:
                continue
            if op not in self.tiles:
                b.operations += [clone(op, copy) for copy in copies]
                continue
            view, width = affine.Load(op), len(lines)
            ty = VectorType((width,), op.result.type)
            groups: list[Value] = []
            for copy in copies:
                known = {v: Index.of(copy.get(v, v)) for v in view.map_operands}
                given = from_map(view.map, view.map_operands)
                where = [replace_values(index, known) for index in given]
                alignment = accesses[op].alignment
                groups.append(b.vector_load(view.memref, where, ty, "", alignment))
            for n in range(width):
                column = b.from_elements([b.element(group, n) for group in groups])
                iv = b.index(Index.of(first[along]) + n, along.name)
                known = {
                    along: Index.of(iv),
                    self.sides[1].loop.iv: Index.of(first[self.sides[1].loop.iv]),
                }
                cell = [replace_values(index, known) for index in self._cell()]
                bytes_ = width * (element_bytes(op.result.type) or 1)
                b.vector_store(column, self.tiles[op], cell, bytes_)


def map_transposes(nest: Nest) -> list[Operation] | None:
    """The kernel of a transposing nest, or None."""
    found = list(
        sweeps(
            nest.op,
            nest.analysis,
            nest.mapper.definitions,
            nest.mapper.surroundings.aliases,
        )
    )
    pairs = [
        _Turned(down, across)
        for across in found
        if _stores_run_along(across)
        for down in found
        if down.number != across.number and _turned_loads(down, across)
    ]
    mapped = [pair for pair in pairs if Rows(pair.batch).is_counted]
    if not mapped:
        return None
    best = max(mapped, key=lambda pair: (pair.bytes, pair.across.number))
    plan = best.plan(nest.mapper.device, nest.mapper.plans.of("turned"))
    return nest.mapper.launch(_kernel(best, plan))


def _stores_run_along(sweep: Sweep) -> bool:
    stores = [op for op in sweep.addresses if not op.results]
    return bool(stores) and all(sweep.distance(op) == 1 for op in stores)


def _turned_loads(down: Sweep, across: Sweep) -> list[Operation]:
    """Loads that are contiguous along ``down`` only, before all stores."""
    found: list[Operation] = []
    for op in down.addresses:
        if not op.results:
            break
        if down.distance(op) == 1 and across.distance(op) not in (0, 1):
            found.append(op)
    return found


@dataclass(frozen=True)
class _Turned:
    """A nest along the loop of its transposed loads, and along that of stores."""

    down: Sweep
    across: Sweep

    @property
    def loops(self) -> tuple[MappedLoop, MappedLoop]:
        """The loops along which transposed loads and stores are contiguous."""
        return self.down.loop, self.across.loop

    @property
    def loads(self) -> list[Operation]:
        return _turned_loads(self.down, self.across)

    @property
    def batch(self) -> list[MappedLoop]:
        """The other loops, the innermost first."""
        return [loop for loop in self.across.rows if loop is not self.down.loop]

    @property
    def elements(self) -> list[int]:
        """Bytes of an element of each transposed load."""
        known = (self.down.addresses[op] for op in self.loads)
        return [address.element for address in known if address is not None]

    @property
    def bytes(self) -> int:
        """Bytes per iteration of the transposed loads."""
        return sum(self.elements)

    @property
    def moved(self) -> int:
        """Bytes of an iteration in global memory."""
        known = self.across.addresses.values()
        return sum(address.element for address in known if address is not None)

    def plan(self, device: GpuDevice, choose: Choose) -> TransposeTile:
        stores = [op for op in self.across.addresses if not op.results]
        widths = (
            max(_width(self.down, op) for op in self.loads),
            max(_width(self.across, op) for op in stores),
        )
        batch = prod(map(iterations, self.batch))
        rows, columns = iterations(self.down.loop), iterations(self.across.loop)
        extents = batch, rows, columns
        return plan_tile(
            self.elements, extents, widths, self.moved, device=device, choose=choose
        )


def _width(sweep: Sweep, op: Operation) -> int:
    """The best vector width of the accesses."""
    return max((most for _, most in sweep.stream(op).widths), default=1)


def _kernel(turned: _Turned, plan: TransposeTile) -> KernelBody:
    loops = turned.loops
    b = Builder(loops[0].operation.location)
    tiles = {
        op: b.allocate("memref.alloca", _tile_type(op, plan), "tile")
        for op in turned.loads
    }
    thread = Index.of(thread_index(b, "thread_id", "x", "t"))
    firsts = turned.down.first(plan.down), turned.across.first(plan.across)
    sizes = plan.rows, plan.columns
    sides: list[Side] = []
    blocks: list[Index] = []
    for loop, name, size, first in zip(loops, "yx", sizes, firsts, strict=True):
        block = Index.of(thread_index(b, "block_id", name, f"b{name}"))
        start = b.index(loop.lower + block * size + first, loop.iv.name)
        sides.append(Side(loop, start, size, first))
        blocks.append((trip_count(loop) - first).ceildiv(size))
    places: dict[Value, Value] = {}
    batch, exists = Rows(turned.batch), list[Index]()
    if turned.batch:
        number = Index.of(thread_index(b, "block_id", "z", "bz"))
        exists = batch.place(b, number, places)
    pair = sides[0], sides[1]
    tile = TransposeTiles(turned.down, turned.across, plan, pair, tiles, places, exists)
    tile.load(b, thread)
    b.add("gpu.barrier")
    tile.use(b, thread)
    grid = blocks[1], blocks[0], batch.count
    return KernelBody((*turned.down.views, *b.operations), grid, (plan.threads, 1, 1))


def _tile_type(op: Operation, plan: TransposeTile) -> MemRefType:
    return MemRefType(plan.shape, op.result.type, None, SHARED)
