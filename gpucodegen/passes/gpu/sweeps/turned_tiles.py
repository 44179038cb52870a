"""What a block does with tiles that it turns around in shared memory.

    put:   tile[j, i] = A[i, j]    groups along ``j``, or squares of these turned around
    use:   the body, groups along ``i``

Tiles that are not whole go element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value, clone, substitute_values
from gpucodegen.ir.types import VectorType, element_bytes
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, as_map, from_map, replace_values
from gpucodegen.passes.gpu.facts.mapped_loops import MappedLoop, trip_count
from gpucodegen.passes.gpu.sweeps.groups import Grouped, Moved
from gpucodegen.passes.gpu.sweeps.sweep import Sweep, moved
from gpucodegen.tiling.machine.gpu.streams import TransposeTile


@dataclass(frozen=True, slots=True)
class Side:
    """A loop of the tile: ``size`` iterations from ``start`` on.

    ``first``: by how many the tiles begin before the loop's first iteration, negative.
    """

    loop: MappedLoop
    start: Value
    size: int
    first: int

    def limits(self, low: Index, high: Index) -> list[Index]:
        """What is >= 0 where the iterations from ``low`` to ``high`` exist."""
        ends = [upper - 1 - high for upper in self.loop.uppers]
        return [*ends, *([low - self.loop.lower] if self.first else [])]

    @property
    def is_full(self) -> list[Index]:
        """What is >= 0 where all iterations of the tile exist."""
        count = trip_count(self.loop).constant
        fills = count is not None and not self.first and count % self.size == 0
        low = Index.of(self.start)
        limits = self.limits(low, low + (self.size - 1))
        return limits[1:] if fills else limits


@dataclass(frozen=True, slots=True)
class TurnedTiles:
    """The tiles of a block; pairs are of the turned loads' loop and of the stores'.

    ``down`` and ``across``: the nest as seen along these loops.  ``tiles``: by load.
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
        """Groups of the turned loads, along their loop, into shared memory."""
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
        """Where the iteration's element lies in the tile."""
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

        Lines of a thread lie beside each other as far as they are a ``square``.
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
        """Loads of groups from tiles that squares have filled."""
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
        """Loads groups of as many lines, and puts each of their columns at once."""
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
