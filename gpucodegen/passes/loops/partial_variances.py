"""Variances in one pass: the squared distances of parts of a row, merged.

    for r { S[r] = s;  for k { S[r] += x(r, k) } }
    for r { Q[r] = q;  for k { Q[r] += (x(r, k) - m)^2 } }     m a function of S[r]

reads x twice, since m is known after all of a row.  With parts p of n elements,

    for r, p { P = sum x;  c = P / n;  E = sum (x - c);  V = sum (x - c)^2 }
    for r { S[r] = s + sum P;  Q[r] = q + sum V + 2 (c - m) E + n (c - m)^2 }

since (x - m)^2 = (x - c)^2 + 2 (c - m) (x - c) + (c - m)^2.  A part fits in the
registers of a thread group, so that x is read once.  It is the update of Chan, Golub
and LeVeque ("Algorithms for computing the sample variance", 1983) with the correction
of the two-pass algorithm: E, zero without rounding, makes it hold for any c.

The condition: both sums may be reordered, both add the same x, m and x read no array
that the nests write but S[r], and only repeatable operations are between the nests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from gpucodegen.dialects import affine, arith
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import MemRefType, element_bytes
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.lifting.aliases import Aliases
from gpucodegen.passes.analysis.lifting.reductions import same_cell
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import Index, rewrite_maps
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.loops.coalesce import FlatNest, flat_nest
from gpucodegen.passes.loops.selection_keys import counts_elements
from gpucodegen.passes.nests.loop_ranges import chain_of, rebuilt
from gpucodegen.passes.prepare.linalg_to_affine import REASSOCIABLE
from gpucodegen.passes.vectorize.accumulations import slice_of

FOR = "affine.for"
SQUARE = "arith.mulf", "arith.subf"
SHORTEST, LONGEST = 1 << 8, 1 << 13
"""Elements of a part: enough for a thread group, and few enough for its registers."""
Splits = Callable[[int, int], bool]
"""Whether so many rows of so many elements are split."""


@dataclass(frozen=True, slots=True)
class RowSum:
    """``for rows { total[row] = first; for axes { total[row] += term } }``.

    ``body``: the innermost operations up to ``term``.
    """

    rows: tuple[Operation, ...]
    axes: tuple[Operation, ...]
    first: Operation
    body: tuple[Operation, ...]
    term: Value

    @property
    def total(self) -> Value:
        return self.first.operands[1]

    @property
    def loops(self) -> tuple[Operation, ...]:
        return (*self.rows, *self.axes)

    @staticmethod
    def of(op: Operation) -> RowSum | None:
        """The sum that a nest computes, if its terms may come in any order."""
        rows = chain_of(op) if op.name == "affine.for" else []
        first, *rest = inner_operations(rows[-1]) if rows else (op,)
        axes = chain_of(rest[0]) if len(rest) == 1 and rest[0].name == FOR else []
        inside = inner_operations(axes[-1]) if axes else ()
        *body, add, store = inside if len(inside) > 1 else (op, op)
        loads = [o for o in body if same_cell(o, store)]
        terms = [o for o in body if o not in loads]
        if (
            first.name != "affine.store"
            or add.name != "arith.addf"
            or not arith.permits(add, "reassoc")
            or len(loads) != 1
            or not same_cell(loads[0], first)
            or store.operands[0] is not add.result
            or not all(o.name == "affine.load" or has_no_effect(o) for o in terms)
            or not all(map(_is_counted, axes))
            or not counts_elements(first, rows)
        ):
            return None
        others = [v for v in add.operands if v is not loads[0].result]
        used = {v for o in terms for v in o.operands}
        if len(others) != 1 or loads[0].result in used:
            return None
        return RowSum(tuple(rows), tuple(axes), first, tuple(terms), others[0])


def _is_counted(op: Operation) -> bool:
    """Whether a loop counts from 0 to a constant."""
    loop = affine.For(op)
    lower, upper = loop.constant_bounds or (0, 0)
    return lower == 0 < upper and loop.step == 1


def extents(loops: Sequence[Operation]) -> list[int]:
    return [affine.For(op).trip_count or 0 for op in loops]


@dataclass(frozen=True, slots=True)
class Variance:
    """Two sums of one row; ``shift``: the operations that make ``m``, from S[r]."""

    mean: RowSum
    squares: RowSum
    shift: tuple[Operation, ...]
    m: Value

    @staticmethod
    def of(one: RowSum, other: RowSum, aliases: Aliases) -> Variance | None:
        """The pair, if the terms are x and the square of its distance from m."""
        made = {v: op for op in (*one.body, *other.body) for v in op.results}
        square = made.get(other.term, one.first)
        far = made.get(square.operands[0], one.first)
        counts = [[extents(s.rows), extents(s.axes)] for s in (one, other)]
        if counts[0] != counts[1] or (square.name, far.name) != SQUARE:
            return None
        same = dict(zip(map(_iv, other.loops), map(_iv, one.loops), strict=True))
        axes = {_iv(op) for op in other.axes}
        for x, m in (far.operands, far.operands[::-1]):
            shift = tuple(slice_of(other.axes[-1], [m]))
            found = Variance(one, other, shift, m)
            if (
                square.operands[0] is square.operands[1]
                and _is_same(one.term, x, made, same)
                and all(axes.isdisjoint(op.operands) for op in shift)
                and found._reads_apart(aliases, same)
            ):
                return found
        return None

    def _reads_apart(self, aliases: Aliases, same: Mapping[Value, Value]) -> bool:
        """Whether x, and m but for S[r], are of arrays that no nest writes."""
        total, written = self.mean.total, (self.mean.total, self.squares.total)
        return not aliases.may_overlap(*written) and not any(
            aliases.may_overlap(op.operands[0], array)
            for op in (*self.mean.body, *self.squares.body)
            if op.name == "affine.load"
            for array in written
            if array is not total
            or op not in self.shift
            or not same_cell(clone(op, dict(same)), self.mean.first)
        )


def _iv(op: Operation) -> Value:
    return affine.For(op).iv


def _is_same(
    one: Value,
    other: Value,
    made: Mapping[Value, Operation],
    renamed: Mapping[Value, Value],
) -> bool:
    """Whether two values are computed alike, with other loop variables."""
    a, b = made.get(one), made.get(other)
    if a is None or b is None:
        return renamed.get(other, other) is one
    return (
        (a.name, a.attributes, len(a.operands))
        == (b.name, b.attributes, len(b.operands))
        and a.results.index(one) == b.results.index(other)
        and not (a.regions or b.regions)
        and all(
            _is_same(x, y, made, renamed)
            for x, y in zip(a.operands, b.operands, strict=True)
        )
    )


def with_partial_variances(
    operations: Sequence[Operation], surroundings: Surroundings, splits: Splits
) -> tuple[list[Operation], set[Operation]]:
    """The block with variances in one pass, and the new nests."""
    current, made = list(operations), set[Operation]()
    sums = {at: s for at, op in enumerate(current) if (s := RowSum.of(op))}
    for at, squares in sums.items():
        for first in (n for n in sums if n < at):
            pair = Variance.of(sums[first], squares, surroundings.aliases)
            between = current[first + 1 : at]
            if pair is None or not all(map(_may_pass, between)):
                continue
            rows, axes = pair.mean.rows, pair.mean.axes
            nests = None
            if splits(prod(extents(rows)), prod(extents(axes))):
                nests = _nests(pair)
            if nests is not None:
                after = current[at + 1 :]
                current = [*current[:first], *between, *nests, *after]
                made.update(op for op in nests if op.name == "affine.for")
                more, new = with_partial_variances(current, surroundings, splits)
                return more, made | new
    return current, made


def _may_pass(op: Operation) -> bool:
    return not op.regions and (has_no_effect(op) or op.name in ALLOCATIONS)


def _nests(pair: Variance) -> list[Operation] | None:
    """The nest of the parts and that of the rows; None without even parts."""
    flat = _merged(pair.mean)
    rows = len(pair.mean.rows)
    if flat is None:
        return None
    *before, nest = flat.operations()
    chain = chain_of(nest)
    *others, last = extents(chain[rows:])
    size = _part(last)
    if size is None or element_bytes(pair.mean.term.type) not in (4, 8):
        return None
    return _Parts(
        pair, tuple(before), tuple(chain), (*others, last // size), size
    ).all()


def _part(extent: int) -> int | None:
    """The largest part that divides a loop's iterations."""
    sizes = range(min(LONGEST, extent), SHORTEST - 1, -1)
    return next((n for n in sizes if extent % n == 0), None)


def _merged(found: RowSum) -> FlatNest | None:
    """The terms alone, with the loops over contiguous memory merged."""
    terms = slice_of(found.axes[-1], [found.term])
    end = affine.yield_(location=found.first.location)
    flat = flat_nest(chain_of(rebuilt(found.loops, (*terms, end))))
    rows = len(found.rows)
    for at in reversed(range(rows, len(found.loops) - 1)):
        flat = flat and (flat.merged(at) or flat)
    return flat


@dataclass(frozen=True, slots=True)
class _Parts:
    """``chain``: loops around the terms; ``counts``: parts along each after the rows.

    ``views``: operations that the terms need.
    """

    pair: Variance
    views: tuple[Operation, ...]
    chain: tuple[Operation, ...]
    counts: tuple[int, ...]
    size: int

    def all(self) -> list[Operation]:
        mean = self.pair.mean
        b = Builder(mean.first.location)
        shape = (*extents(mean.rows), prod(self.counts))
        ty = MemRefType(shape, mean.term.type)
        names = "sums", "distances", "squares"
        buffers = [b.allocate("memref.alloc", ty, name) for name in names]
        self._over_rows(b, lambda i, at: self._parts(i, at, buffers))
        self._over_rows(b, lambda i, at: self._rows(i, at, buffers))
        for buffer in buffers:
            b.add("memref.dealloc", (buffer,))
        return [*self.views, *b.operations]

    def _over_rows(
        self, b: Builder, body: Callable[[Builder, list[Value]], None]
    ) -> None:
        def level(i: Builder, at: list[Value]) -> None:
            if len(at) == len(self.pair.mean.rows):
                body(i, at)
                return
            (count,) = extents(self.pair.mean.rows[len(at) :][:1])
            i.loop(0, count, lambda j, iv: level(j, [*at, iv]), hint="r")

        level(b, [])

    def _parts(self, b: Builder, at: list[Value], buffers: Sequence[Value]) -> None:
        def part(i: Builder, p: Value) -> None:
            zero = i.constant(0, self.pair.mean.term.type)
            (total,) = self._over_part(i, at, p, [zero], lambda _, x: [x])
            center = self._divided(i, total)

            def terms(j: Builder, x: Value) -> list[Value]:
                far = _arith(j, "sub", x, center)
                return [far, _arith(j, "mul", far, far)]

            found = self._over_part(i, at, p, [zero, zero], terms)
            for value, buffer in zip((total, *found), buffers, strict=True):
                i.store(value, buffer, [*at, p])

        b.loop(0, prod(self.counts), part, hint="part")

    def _over_part(
        self,
        b: Builder,
        at: list[Value],
        part: Value,
        start: list[Value],
        terms: Callable[[Builder, Value], list[Value]],
    ) -> tuple[Value, ...]:
        """Sums over the elements of a part."""
        mean = self.pair.mean
        variables = [affine.For(op).iv for op in self.chain]
        known = dict(zip(variables, map(Index.of, at), strict=False))
        rest = Index.of(part)
        pieces = variables[len(at) :]
        for iv, count in reversed([*zip(pieces, self.counts, strict=True)]):
            known[iv] = rest if iv is pieces[0] else rest % count
            rest = rest // count

        def body(i: Builder, k: Value, totals: Sequence[Value]) -> list[Value]:
            here = {**known, pieces[-1]: known[pieces[-1]] * self.size + k}
            values: dict[Value, Value] = {}
            for op in inner_operations(self.chain[-1]):
                i.operations.append(clone(rewrite_maps(op, here), values))
            x = values[mean.term]
            pairs = zip(totals, terms(i, x), strict=True)
            return [_added(i, total, term) for total, term in pairs]

        return b.carried_loop(0, self.size, start, body, hint="k")

    def _divided(self, b: Builder, total: Value) -> Value:
        return _arith(b, "div", total, b.constant(self.size, total.type))

    def _rows(self, b: Builder, at: list[Value], buffers: Sequence[Value]) -> None:
        sums, distances, squares = buffers
        pair, count = self.pair, prod(self.counts)

        def known(found: RowSum) -> dict[Value, Value]:
            return dict(zip((affine.For(o).iv for o in found.rows), at, strict=True))

        def total(i: Builder, p: Value, values: Sequence[Value]) -> list[Value]:
            return [_added(i, values[0], i.load(sums, [*at, p]))]

        first = pair.mean.first.operands[0]
        found = b.carried_loop(0, count, [first], total, hint="part")
        mean = pair.mean.first.with_(operands=(*found, *pair.mean.first.operands[1:]))
        b.operations.append(clone(mean, known(pair.mean)))
        values = known(pair.squares)
        b.operations += [clone(op, values) for op in pair.shift]
        m = values.get(pair.m, pair.m)

        def square(i: Builder, p: Value, values: Sequence[Value]) -> list[Value]:
            center = self._divided(i, i.load(sums, [*at, p]))
            far = _arith(i, "sub", center, m)
            n, two = (i.constant(v, far.type) for v in (self.size, 2))
            inside = _arith(i, "mul", two, i.load(distances, [*at, p]))
            both = _arith(i, "add", inside, _arith(i, "mul", n, far))
            cross = _arith(i, "mul", far, both)
            term = _arith(i, "add", i.load(squares, [*at, p]), cross)
            return [_added(i, values[0], term)]

        start = pair.squares.first.operands[0]
        found = b.carried_loop(0, count, [start], square, hint="part")
        store = pair.squares.first
        store = store.with_(operands=(*found, *store.operands[1:]))
        b.operations.append(clone(store, known(pair.squares)))


def _arith(b: Builder, name: str, one: Value, other: Value) -> Value:
    return b.add(f"arith.{name}f", (one, other), [one.type])[0]


def _added(b: Builder, total: Value, term: Value) -> Value:
    flags = {"fastmath": REASSOCIABLE}
    return b.add("arith.addf", (total, term), [total.type], flags)[0]
