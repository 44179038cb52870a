"""Kernel of attention in one pass over the keys, on tensor cores (`mma.sync`).

A block of four warps takes a tile of rows of one batch, and walks over tiles of keys:

    wait for K[j]; start to copy V[j]         S = Q K[j]
    wait for V[j]; start to copy K[j + 1]     softmax of S; O = a O + P V[j]

(T. Dao, "FlashAttention-2", 2023.) A warp holds 16 or 32 rows. Lane t of it holds, of a
``16 x 8`` tile of sums, rows ``t / 4`` and ``t / 4 + 8`` in columns ``2 (t mod 4)`` and
the next one, which is where the left operand of the second product needs its weights:
they stay in registers. The four lanes of a row exchange their maxima after each tile,
and their sums at the end. Lines of shared memory are 16 bytes longer than the rows
that they hold, so that eight of them lie in different banks.

Tiles of keys that a causal mask hides are left out; those that it cuts, and the last
one where keys end inside, run in a second loop with masks. Rows beyond the end repeat
the last row and are not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from itertools import product
from math import inf

from gpucodegen.dialects.nvgpu import copies
from gpucodegen.ir.affine import AffineExpr, Const, Dim, leaves, linear_form
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
    OpaqueAttr,
)
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Block, Operation, Region, Value, segment_sizes
from gpucodegen.ir.types import (
    F32,
    I1,
    I32,
    I64,
    INDEX,
    MemRefType,
    Type,
    VectorType,
    element_type,
)
from gpucodegen.passes.contraction.attention.chain import (
    SCORE,
    SUM,
    Attention,
    Scores,
    batches,
    scores_of,
)
from gpucodegen.passes.contraction.attention.elements import (
    Element,
    Expression,
    Number,
    Position,
    Scalar,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.outlining.gpu_launch import SHARED
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.attention_plan import PIECE, AttentionPlan
from gpucodegen.tiling.machine.gpu.devices import WARP

ROWS, COLUMNS, TERMS = 16, 8, 16
"""Extents of one `mma.sync` of 16-bit elements."""
FAST = OpaqueAttr("#arith.fastmath<fast>")


@dataclass(frozen=True, slots=True)
class State:
    """The loop-carried values: O by fragment, and M and L by row of a lane."""

    sums: Sequence[Value]
    largest: Sequence[Value]
    totals: Sequence[Value]

    @property
    def values(self) -> list[Value]:
        return [*self.sums, *self.largest, *self.totals]


@dataclass(frozen=True, slots=True)
class Kernel:
    """The kernel's program: the problem, its plan, and the variables of a thread."""

    found: Attention
    plan: AttentionPlan
    scores: Scores
    b: Builder
    row_block: Value
    batch: Value
    thread: Value
    shared: dict[str, Value] = field(default_factory=dict[str, Value])
    groups: list[Value] = field(default_factory=list[Value])
    queries: dict[tuple[int, int], Value] = field(
        default_factory=dict[tuple[int, int], Value]
    )

    # -- places ------------------------------------------------------------------------

    @property
    def kind(self) -> Type:
        return self.found.kind

    @property
    def fragments(self) -> int:
        """Tiles of 16 rows of a warp."""
        return self.plan.rows // (ROWS * self.plan.warps)

    @property
    def lane_rows(self) -> range:
        """Numbers of the rows that a lane holds parts of."""
        return range(2 * self.fragments)

    @property
    def across(self) -> int:
        """Tiles of 8 columns of V."""
        return self.plan.columns // COLUMNS

    @property
    def left(self) -> VectorType:
        return VectorType((4, 2), self.kind)

    @property
    def right(self) -> VectorType:
        return VectorType((2, 2), self.kind)

    @property
    def cell(self) -> VectorType:
        return VectorType((2, 2), F32)

    def extent(self, axis: int) -> int:
        return self.found.extents[axis]

    def warp_row(self, inside: Index | int) -> Index:
        """A row of the block from one of the warp's."""
        warp = Index.of(self.thread) // WARP
        return warp * (ROWS * self.fragments) + inside

    def row_of(self, number: int) -> Index:
        """The row of the problem that a lane holds as its ``number``-th."""
        lane = Index.of(self.thread) % WARP // 4
        within = self.warp_row(lane + number * COLUMNS)
        return Index.of(self.row_block) * self.plan.rows + within

    def key_of(self, block: Index, number: int, half: int) -> Index:
        """The key of an element of S."""
        lane = Index.of(self.thread) % 4 * 2
        return block * self.plan.keys + lane + (number * COLUMNS + half)

    def batch_at(self, axis: int) -> Index:
        """The index along an axis of the batch."""
        inner, index = 1, Index.of(self.batch)
        for other in reversed(self.found.batch):
            if other == axis:
                break
            inner *= self.extent(other)
        position = index // inner
        outermost = axis == self.found.batch[0]
        return position if outermost else position % self.extent(axis)

    def place(self, x: Element, at: dict[int, Index]) -> list[Index]:
        """The indices of an element; ``at``: of its axes that are no batch."""
        return [self.index(expr, at) for expr in x.place]

    def index(self, expr: AffineExpr, at: dict[int, Index]) -> Index:
        dims = [d.position for d in leaves(expr) if isinstance(d, Dim)]
        if isinstance(expr, Const) or not dims:
            return Index(expr)
        known = [at.get(n) or self.batch_at(n) for n in dims]
        total = Index.of(0)
        terms, constant = linear_form(expr)
        for term, factor in terms.items():
            assert isinstance(term, Dim)
            total += known[dims.index(term.position)] * factor
        return total + constant

    # -- shared memory -----------------------------------------------------------------

    def allocate(self) -> None:
        depth, width = self.plan.depth, self.plan.columns
        for name, lines, length in (
            ("query", self.plan.rows, depth),
            ("key", self.plan.keys, depth),
            ("value", self.plan.keys, width),
        ):
            ty = MemRefType((lines, length + PIECE), self.kind, None, SHARED)
            self.shared[name] = self.b.allocate("memref.alloca", ty, name)

    def clear_edges(self) -> None:
        """Zeros in columns beyond those that copies fill."""
        axes = self.found.axes
        inner = {"query": axes.depth, "key": axes.depth, "value": axes.column}
        for name, axis in inner.items():
            lines, length = self._tile_shape(name)
            first = self.extent(axis)
            pieces = (length - PIECE - first) // PIECE
            self._clear(self.shared[name], lines, first, pieces)

    def _clear(self, tile: Value, lines: int, first: int, pieces: int) -> None:
        """Zeros in some pieces of each line of a tile."""
        b, threads = self.b, self.plan.threads
        for start in range(0, lines * pieces, threads):
            number = Index.of(self.thread) + start

            def put(i: Builder, number: Index = number) -> None:
                zeros = i.constant(0, VectorType((PIECE,), self.kind))
                at = [number // pieces, number % pieces * PIECE + first]
                i.vector_store(zeros, tile, at)

            self._among(b, lines * pieces, start, put)

    def _among(
        self, b: Builder, count: int, start: int, body: Callable[[Builder], None]
    ) -> None:
        """A body for each thread whose number from ``start`` on is below a count."""
        left = Index.of(count - 1 - start) - self.thread
        b.guard([] if start + self.plan.threads <= count else [left], body)

    def _tile_shape(self, name: str) -> tuple[int, int]:
        ty = self.shared[name].type
        assert isinstance(ty, MemRefType)
        lines, length = ty.shape
        assert lines is not None
        assert length is not None
        return lines, length

    def copy(self, b: Builder, name: str, x: Element, first: Index, axis: int) -> None:
        """Start to copy a tile whose lines begin at ``first`` along an axis."""
        inner = self.found.axes.column if name == "value" else self.found.axes.depth
        pieces = self.extent(inner) // PIECE
        lines, _ = self._tile_shape(name)
        threads, length = self.plan.threads, self.extent(axis)
        is_ragged = length % lines != 0
        for start in range(0, lines * pieces, threads):
            number = Index.of(self.thread) + start
            line, column = number // pieces, number % pieces * PIECE

            def one(i: Builder, line: Index = line, column: Index = column) -> None:
                at = first + line
                if is_ragged:
                    at = Index.of(i.smallest([at, Index.of(length - 1)], "line"))
                place = self.place(x, {axis: at, inner: column})
                source = [x.source, *map(i.index, place)]
                target = [self.shared[name], i.index(line), i.index(column)]
                i.operations.append(copies.copy(source, target, PIECE, i.location))

            self._among(b, lines * pieces, start, one)

    def commit(self, b: Builder) -> None:
        """Close the group of the copies that were started."""
        b.operations.append(copies.create_group(1, b.location))
        self.groups.append(b.operations[-1].result)

    def wait(self, b: Builder) -> None:
        """Wait for all copies of the block; a wait needs the token of any group."""
        b.operations.append(copies.wait(self.groups[0], 0, b.location))
        b.add("gpu.barrier")

    def fragment(
        self, b: Builder, tile: str, at: tuple[Index, Index], *, turned: bool = False
    ) -> Value:
        flags: dict[str, Attribute] = {
            "numTiles": IntegerAttr(4, I32),
            "transpose": IntegerAttr(int(turned), I1),
        }
        operands = [self.shared[tile], *map(b.index, at)]
        return b.add("nvgpu.ldmatrix", operands, [self.left], flags, hint="f")[0]

    # -- products ----------------------------------------------------------------------

    def query_fragment(self, b: Builder, number: int, term: int) -> Value:
        """Rows of a tile of 16 of the warp, and 16 terms."""
        if (number, term) in self.queries:
            return self.queries[number, term]
        t = Index.of(self.thread)
        row = self.warp_row(t % ROWS + number * ROWS)
        return self.fragment(b, "query", (row, t // ROWS % 2 * 8 + term * TERMS))

    def halves(self, b: Builder, pair: Value) -> list[Value]:
        """The fragments of the two right operands that one load brought."""
        made: list[Value] = []
        row = VectorType((2,), self.kind)
        for half in range(2):
            total = b.constant(0, self.right)
            for n in range(2):
                where = {"static_position": DenseArrayAttr(I64, (2 * half + n,))}
                (part,) = b.add("vector.extract", (pair,), [row], where)
                total = _inserted(b, part, total, n)
            made.append(total)
        return made

    def multiplied(self, b: Builder, left: Value, right: Value, total: Value) -> Value:
        shape = ArrayAttr(tuple(IntegerAttr(n, I64) for n in (ROWS, COLUMNS, TERMS)))
        operands = left, right, total
        return b.add("nvgpu.mma.sync", operands, [self.cell], {"mmaShape": shape})[0]

    def score_tile(self, b: Builder) -> list[list[Value]]:
        """S of the tile of keys: by 8 keys, by 16 rows."""
        zero = b.constant(0, self.cell)
        sums = [[zero] * self.fragments for _ in range(self.plan.keys // COLUMNS)]
        t = Index.of(self.thread)
        for pair in range(self.plan.depth // (2 * TERMS)):
            rows = [
                [self.query_fragment(b, n, 2 * pair + half) for half in range(2)]
                for n in range(self.fragments)
            ]
            for number, totals in enumerate(sums):
                at = t % 8 + number * COLUMNS, t // 8 % 4 * 8 + pair * 2 * TERMS
                columns = self.halves(b, self.fragment(b, "key", at))
                for half, n in product(range(2), range(self.fragments)):
                    total = self.multiplied(b, rows[n][half], columns[half], totals[n])
                    totals[n] = total
        return sums

    def added(
        self, b: Builder, sums: Sequence[Value], weights: Sequence[Sequence[Value]]
    ) -> list[Value]:
        """``sums`` and the products of weights, by row and 8 keys, and of V."""
        made = list(sums)
        t = Index.of(self.thread)
        for step in range(self.plan.keys // TERMS):
            rows = [self._weights(b, weights, n, step) for n in range(self.fragments)]
            for pair in range(self.across // 2):
                at = t % ROWS + step * TERMS, t // ROWS % 2 * 8 + pair * 2 * COLUMNS
                columns = self.halves(b, self.fragment(b, "value", at, turned=True))
                for half, n in product(range(2), range(self.fragments)):
                    place = n * self.across + 2 * pair + half
                    total = made[place]
                    made[place] = self.multiplied(b, rows[n], columns[half], total)
        return made

    def _weights(
        self, b: Builder, weights: Sequence[Sequence[Value]], number: int, step: int
    ) -> Value:
        """The left operand of 16 rows and 16 keys."""
        total = b.constant(0, self.left)
        for n, (half, row) in enumerate(product(range(2), range(2))):
            part = weights[2 * number + row][2 * step + half]
            total = _inserted(b, part, total, n)
        return total

    # -- softmax -----------------------------------------------------------------------

    def step(self, b: Builder, block: Value, state: State, *, masked: bool) -> State:
        """One tile of keys."""
        here, axes = Index.of(block), self.found.axes
        self.wait(b)
        first = here * self.plan.keys
        self.copy(b, "value", self.found.value, first, axes.key)
        self.commit(b)
        tile = self.score_tile(b)
        elements = self._elements(b, tile, here, masked=masked)
        self.wait(b)
        last = -(-self.extent(axes.key) // self.plan.keys) - 1
        after = Index.of(b.smallest([here + 1, Index.of(last)], "next"))
        self.copy(b, "key", self.found.key, after * self.plan.keys, axes.key)
        self.commit(b)
        octaves = b.constant(self.scores.scale * self.found.octaves, F32)
        factors: list[Value] = []
        largest: list[Value] = []
        totals: list[Value] = []
        weights: list[list[Value]] = []
        for row in self.lane_rows:
            most = self._largest(b, elements[row], state.largest[row])
            shift = _or_zero(b, most)
            drop = _fast(b, "arith.subf", _or_zero(b, state.largest[row]), shift)
            is_new = _compared(b, OEQ, state.largest[row], b.constant(-inf, F32))
            power = _fast(b, "math.exp2", _fast(b, "arith.mulf", drop, octaves))
            factor = _select(b, is_new, b.constant(0, F32), power)
            offset = _fast(b, "arith.mulf", shift, b.constant(-1, F32))
            offset = _fast(b, "arith.mulf", offset, octaves)
            total = _fast(b, "arith.mulf", state.totals[row], factor)
            line: list[Value] = []
            for pair in elements[row]:
                powers = [
                    _fast(b, "math.exp2", _fast(b, "math.fma", x, octaves, offset))
                    for x in pair
                ]
                for power in powers:
                    total = _fast(b, "arith.addf", total, power)
                both = b.from_elements(powers)
                narrow = VectorType((2,), self.kind)
                line.append(b.add("arith.truncf", (both,), [narrow])[0])
            factors.append(factor)
            largest.append(most)
            totals.append(total)
            weights.append(line)
        sums = self._scaled(b, state.sums, factors)
        return State(self.added(b, sums, weights), largest, totals)

    def _elements(
        self, b: Builder, tile: Sequence[Sequence[Value]], block: Index, *, masked: bool
    ) -> list[list[list[Value]]]:
        """X by row of the lane, 8 keys, and half."""
        made: list[list[list[Value]]] = []
        is_ragged = masked and self.extent(self.found.axes.key) % self.plan.keys != 0
        for row in self.lane_rows:
            line: list[list[Value]] = []
            for number, sums in enumerate(tile):
                pair: list[Value] = []
                for half in range(2):
                    score = _element(b, sums[row // 2], (row % 2, half), F32)
                    key = self.key_of(block, number, half)
                    x = self._score(b, score, row, key, masked=masked)
                    if is_ragged:
                        last = Index.of(self.extent(self.found.axes.key) - 1)
                        x = _where(b, last - key, x, b.constant(-inf, F32))
                    pair.append(x)
                line.append(pair)
            made.append(line)
        return made

    def _score(
        self, b: Builder, score: Value, row: int, key: Index, *, masked: bool
    ) -> Value:
        axes = self.found.axes
        x = self.scores.outer if masked else self.scores.inner
        if x == SCORE:
            return score
        at = {axes.row: self.row_of(row), axes.key: key}
        return self.value_of(b, x, at, {SCORE: score})

    def value_of(
        self,
        b: Builder,
        x: Expression,
        at: dict[int, Index],
        known: dict[Expression, Value],
    ) -> Value:
        """The value of an expression at an index along the axes."""
        match x:
            case Number(value, ty):
                return b.constant(value, ty)
            case Element(source) if x not in known:
                if not isinstance(source.type, MemRefType):
                    return source
                inside = {axis: self._clamped(b, axis, i) for axis, i in at.items()}
                operands = [source, *map(b.index, self.place(x, inside))]
                ty = element_type(source.type)
                return b.add("memref.load", operands, [ty])[0]
            case Scalar(name, operands, ty, attributes):
                given = [self.value_of(b, y, at, known) for y in operands]
                return b.add(name, given, [ty], dict(attributes))[0]
            case Position(expr, ty):
                value = b.index(self.index(expr, at))
                if ty == INDEX:
                    return value
                return b.add("arith.index_cast", (value,), [ty])[0]
            case _:
                return known[x]

    def _clamped(self, b: Builder, axis: int, index: Index) -> Index:
        """The index of an element that exists."""
        axes, length = self.found.axes, self.extent(axis)
        tile = {axes.row: self.plan.rows, axes.key: self.plan.keys}.get(axis, 1)
        if length % tile == 0:
            return index
        return Index.of(b.smallest([index, Index.of(length - 1)], "inside"))

    def _largest(
        self, b: Builder, elements: Sequence[Sequence[Value]], before: Value
    ) -> Value:
        """The largest score of a row until here, in all lanes that hold it."""
        found = [x for pair in elements for x in pair]
        while len(found) > 1:
            pairs = zip(found[::2], found[1::2], strict=True)
            found = [b.add("arith.maxnumf", pair, [F32])[0] for pair in pairs]
        most = self._exchanged(b, found[0], "arith.maxnumf")
        return b.add("arith.maxnumf", (most, before), [F32], hint="m")[0]

    def _exchanged(self, b: Builder, value: Value, name: str) -> Value:
        """A value combined over the four lanes of a row."""
        width = b.constant(WARP, I32)
        for distance in (1, 2):
            operands = value, b.constant(distance, I32), width
            mode = {"mode": OpaqueAttr("#gpu.shuffle_mode<xor>")}
            other, _ = b.add("gpu.shuffle", operands, [F32, I1], mode)
            (value,) = b.add(name, (value, other), [F32])
        return value

    def _scaled(
        self, b: Builder, sums: Sequence[Value], factors: Sequence[Value]
    ) -> list[Value]:
        """The sums with each row times its factor."""
        made: list[Value] = []
        for number in range(self.fragments):
            upper, lower = factors[2 * number : 2 * number + 2]
            values = upper, upper, lower, lower
            (both,) = b.add("vector.from_elements", values, [self.cell])
            part = sums[number * self.across : (number + 1) * self.across]
            made += [_fast(b, "arith.mulf", x, both) for x in part]
        return made

    # -- the whole ---------------------------------------------------------------------

    def build(self) -> None:
        b, axes = self.b, self.found.axes
        self.allocate()
        self.clear_edges()
        first = Index.of(self.row_block) * self.plan.rows
        self.copy(b, "query", self.found.query, first, axes.row)
        self.copy(b, "key", self.found.key, Index.of(0), axes.key)
        self.commit(b)
        if self.plan.holds_queries:
            self.wait(b)
            for n, term in product(
                range(self.fragments), range(self.plan.depth // TERMS)
            ):
                self.queries[n, term] = self.query_fragment(b, n, term)
        zero = b.constant(0, self.cell)
        state = State(
            [zero] * (self.fragments * self.across),
            [b.constant(-inf, F32) for _ in self.lane_rows],
            [b.constant(0, F32) for _ in self.lane_rows],
        )
        whole, end = self._bounds()
        state = self._loop(Index.of(0), whole, state, masked=False)
        state = self._loop(whole, end, state, masked=True)
        self.wait(b)
        self._store(state)

    def _bounds(self) -> tuple[Index, Index]:
        """The first tile of keys with a mask, and the end of all tiles."""
        keys, length = self.plan.keys, self.extent(self.found.axes.key)
        whole, end = Index.of(length // keys), Index.of(-(-length // keys))
        if self.scores.limit is None:
            return whole, end
        axes = self.found.axes
        row = Index.of(self.row_block) * self.plan.rows
        nearest = {axes.row: row, axes.key: Index.of(0)}
        farthest = {**nearest, axes.row: row + (self.plan.rows - 1)}
        limit = self.scores.limit
        below = (self.index(limit, nearest) + 1) // keys
        beyond = self.index(limit, farthest) // keys + 1
        inside = Index.of(self.b.smallest([below, whole], "whole"))
        return inside, Index.of(self.b.smallest([beyond, end], "tiles"))

    def _loop(self, first: Index, end: Index, state: State, *, masked: bool) -> State:
        if first == end:
            return state
        count, rows = len(state.sums), len(state.largest)

        def body(i: Builder, block: Value, values: Sequence[Value]) -> list[Value]:
            parts = values[:count], values[count : count + rows], values[count + rows :]
            return self.step(i, block, State(*parts), masked=masked).values

        made = self.b.carried_loop(first, end, state.values, body, hint="tile")
        return State(made[:count], made[count : count + rows], made[count + rows :])

    def _store(self, state: State) -> None:
        b, axes = self.b, self.found.axes
        factors: list[Value] = []
        for row in self.lane_rows:
            total = self._exchanged(b, state.totals[row], "arith.addf")
            factor = _fast(b, "arith.divf", b.constant(1, F32), total)
            if self.found.zeros:
                least = b.constant(-inf, F32)
                is_empty = _compared(b, OEQ, state.largest[row], least)
                factor = _select(b, is_empty, b.constant(0, F32), factor)
            factors.append(factor)
        sums = self._scaled(b, state.sums, factors)
        lane = Index.of(self.thread) % 4 * 2
        length, width = self.extent(axes.row), self.extent(axes.column)
        for row in self.lane_rows:
            here = self.row_of(row)
            limits = [Index.of(length - 1) - here] if length % self.plan.rows else []

            def line(i: Builder, row: int = row, here: Index = here) -> None:
                for number in range(width // COLUMNS):
                    part = sums[row // 2 * self.across + number]
                    column = lane + number * COLUMNS
                    self._put(i, part, row % 2, {axes.row: here, axes.column: column})

            b.guard(limits, line)

    def _put(self, b: Builder, part: Value, line: int, at: dict[int, Index]) -> None:
        """Store two neighbouring sums of a row."""
        out, column = self.found.out, self.found.axes.column
        values = [
            self.value_of(
                b,
                self.found.result,
                at,
                {SUM: _element(b, part, (line, half), F32)},
            )
            for half in range(2)
        ]
        if out.place[-1] == Dim(column):
            target = self.place(out, at)
            b.affine_vector_store(b.from_elements(values), out.source, target)
            return
        for half, value in enumerate(values):
            there = {**at, column: at[column] + half}
            b.store(value, out.source, self.place(out, there))


OEQ = 1
"""The predicate of `arith.cmpf` that is true of equal numbers."""


def _fast(b: Builder, name: str, *operands: Value) -> Value:
    return b.add(name, operands, [operands[0].type], {"fastmath": FAST})[0]


def _compared(b: Builder, predicate: int, left: Value, right: Value) -> Value:
    flags = {"predicate": IntegerAttr(predicate, I64)}
    return b.add("arith.cmpf", (left, right), [I1], flags)[0]


def _select(b: Builder, condition: Value, first: Value, second: Value) -> Value:
    return b.add("arith.select", (condition, first, second), [first.type])[0]


def _or_zero(b: Builder, value: Value) -> Value:
    """0 for -inf: without a score, differences from it would be NaN."""
    is_empty = _compared(b, OEQ, value, b.constant(-inf, F32))
    return _select(b, is_empty, b.constant(0, F32), value)


SGE = 5
"""The predicate of `arith.cmpi` for signed integers."""


def _where(b: Builder, index: Index, first: Value, second: Value) -> Value:
    """``first`` where an index is not negative."""
    flags = {"predicate": IntegerAttr(SGE, I64)}
    operands = b.index(index), b.constant(0, INDEX)
    (condition,) = b.add("arith.cmpi", operands, [I1], flags)
    return _select(b, condition, first, second)


def _element(b: Builder, vector: Value, at: tuple[int, int], ty: Type) -> Value:
    where = {"static_position": DenseArrayAttr(I64, at)}
    return b.add("vector.extract", (vector,), [ty], where)[0]


def _inserted(b: Builder, part: Value, total: Value, at: int) -> Value:
    where = {"static_position": DenseArrayAttr(I64, (at,))}
    return b.add("vector.insert", (part, total), [total.type], where)[0]


def launch(
    found: Attention, plan: AttentionPlan, location: Location
) -> list[Operation]:
    """The launch of the kernel, with the sizes of its grid."""
    outside = Builder(location)
    one = outside.constant(1, INDEX)
    rows = -(-found.extents[found.axes.row] // plan.rows)
    sizes = [
        *(outside.constant(n, INDEX) for n in (rows, batches(found))),
        *(one, outside.constant(plan.threads, INDEX), one, one),
    ]
    names = "bx by bz tx ty tz gx gy gz sx sy sz".split()
    inside = tuple(Value(INDEX, name, location) for name in names)
    b = Builder(location)
    scores = scores_of(found)
    kernel = Kernel(found, plan, scores, b, inside[0], inside[1], inside[3])
    kernel.build()
    b.add("gpu.terminator")
    body = Region((Block(inside, tuple(b.operations)),))
    groups: list[Sequence[Value]] = [(), *((v,) for v in sizes), (), (), (), (), ()]
    attributes = {"operandSegmentSizes": segment_sizes(groups)}
    made = Operation(
        "gpu.launch", tuple(sizes), (), attributes, (body,), location=location
    )
    return [*outside.operations, made]
