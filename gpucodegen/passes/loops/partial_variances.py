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
from itertools import combinations
from math import prod

from gpucodegen.dialects import affine, arith
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import MemRefType, element_bytes
from gpucodegen.passes.analysis.lifting.aliases import Aliases
from gpucodegen.passes.analysis.lifting.reductions import same_cell
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import Index, rewrite_maps
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.loops.coalesce import flat_nest
from gpucodegen.passes.loops.selection_keys import counts_elements
from gpucodegen.passes.nests.loop_ranges import chain_of, rebuilt
from gpucodegen.passes.prepare.linalg_to_affine import REASSOCIABLE
from gpucodegen.passes.vectorize.accumulations import slice_of
from gpucodegen.records import dataclass

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
        first, *rest = (inner_operations(rows[-1]) if rows else ()) or (op,)
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
    operations: Sequence[Operation], aliases: Aliases, splits: Splits
) -> tuple[list[Operation], set[Operation]]:
    """The block with variances in one pass, and the new nests."""
    current, made = list(operations), set[Operation]()
    sums = {op: found for op in operations if (found := RowSum.of(op))}
    for (op, mean), (other, squares) in combinations(sums.items(), 2):
        if not {op, other} <= {*current}:
            continue
        first, second = current.index(op), current.index(other)
        between, pair = current[first + 1 : second], Variance.of(mean, squares, aliases)
        sizes = prod(extents(mean.rows)), prod(extents(mean.axes))
        if pair is None or not splits(*sizes) or not all(map(_may_pass, between)):
            continue
        nests = _nests(pair)
        made.update(o for o in nests if o.name == FOR)
        if nests:
            current[first : second + 1] = [*between, *nests]
    return current, made


def _may_pass(op: Operation) -> bool:
    return not op.regions and (has_no_effect(op) or op.name in ALLOCATIONS)


def _nests(pair: Variance) -> list[Operation]:
    """The nest of the parts and that of the rows; none without even parts."""
    mean = pair.mean
    body = (*slice_of(mean.axes[-1], [mean.term]), affine.yield_())
    flat, rows = flat_nest(chain_of(rebuilt(mean.loops, body))), len(mean.rows)
    if flat is None or element_bytes(mean.term.type) not in (4, 8):
        return []
    for at in reversed(range(rows, len(mean.loops) - 1)):
        flat = flat.merged(at) or flat
    *views, nest = flat.operations()
    terms = chain_of(nest)[rows:]
    *others, last = extents(terms)
    sizes = range(min(LONGEST, last), SHORTEST - 1, -1)
    size = next((n for n in sizes if last % n == 0), 0)
    if not size:
        return []
    parts = _Parts(pair, tuple(terms), (*others, last // size), size)
    return [*views, *parts.operations()]


@dataclass(frozen=True, slots=True)
class _Parts:
    """``loops`` around the terms; ``counts``: parts along each, of ``size`` terms."""

    pair: Variance
    loops: tuple[Operation, ...]
    counts: tuple[int, ...]
    size: int

    def operations(self) -> list[Operation]:
        mean, squares = self.pair.mean, self.pair.squares
        b = Builder(mean.first.location)
        shape = (*extents(mean.rows), prod(self.counts))
        ty = MemRefType(shape, mean.term.type)
        names = "sums", "distances", "squares"
        buffers = [b.allocate("memref.alloc", ty, name) for name in names]
        for found, body in ((mean, self._parts), (squares, self._rows)):
            i = Builder(b.location)
            body(i, [*map(_iv, found.rows)], *buffers)
            end = affine.yield_(location=b.location)
            b.operations.append(rebuilt(found.rows, (*i.operations, end)))
        for buffer in buffers:
            b.add("memref.dealloc", (buffer,))
        return b.operations

    def _parts(self, b: Builder, row: list[Value], *buffers: Value) -> None:
        """The sums of each part of a row."""

        def part(i: Builder, p: Value) -> None:
            (total,) = self._over_part(i, p, 1, lambda _, x: [x])
            center = self._mean(i, total)

            def terms(j: Builder, x: Value) -> list[Value]:
                far = _arith(j, "sub", x, center)
                return [far, _arith(j, "mul", far, far)]

            found = total, *self._over_part(i, p, 2, terms)
            for value, buffer in zip(found, buffers, strict=True):
                i.store(value, buffer, [*row, p])

        b.loop(0, prod(self.counts), part, hint="part")

    def _over_part(
        self,
        b: Builder,
        part: Value,
        count: int,
        terms: Callable[[Builder, Value], list[Value]],
    ) -> tuple[Value, ...]:
        """The sums of so many terms of each element of a part."""
        variables, term = [*map(_iv, self.loops)], self.pair.mean.term
        known, rest = dict[Value, Index](), Index.of(part)
        for iv, pieces in reversed([*zip(variables, self.counts, strict=True)]):
            known[iv] = rest if iv is variables[0] else rest % pieces
            rest = rest // pieces

        def body(i: Builder, k: Value, totals: Sequence[Value]) -> list[Value]:
            here = {**known, variables[-1]: known[variables[-1]] * self.size + k}
            values: dict[Value, Value] = {}
            for op in inner_operations(self.loops[-1]):
                i.operations.append(clone(rewrite_maps(op, here), values))
            found = zip(totals, terms(i, values.get(term, term)), strict=True)
            return [_added(i, total, more) for total, more in found]

        zero = b.constant(0, term.type)
        return b.carried_loop(0, self.size, [zero] * count, body, hint="k")

    def _mean(self, b: Builder, total: Value) -> Value:
        return _arith(b, "div", total, b.constant(self.size, total.type))

    def _rows(
        self, b: Builder, row: list[Value], sums: Value, far: Value, squares: Value
    ) -> None:
        """The sum and the squares of a row, from those of its parts."""
        pair = self.pair

        def total(i: Builder, p: Value) -> Value:
            return i.load(sums, [*row, p])

        def square(i: Builder, p: Value) -> Value:
            shift = _arith(i, "sub", self._mean(i, i.load(sums, [*row, p])), pair.m)
            n, two = (i.constant(v, shift.type) for v in (self.size, 2))
            inside = _arith(i, "mul", two, i.load(far, [*row, p]))
            both = _arith(i, "add", inside, _arith(i, "mul", n, shift))
            cross = _arith(i, "mul", shift, both)
            return _arith(i, "add", i.load(squares, [*row, p]), cross)

        for found, term in ((pair.mean, total), (pair.squares, square)):
            to = found.first.operands

            def body(
                i: Builder, p: Value, kept: Sequence[Value], term: Term = term
            ) -> list[Value]:
                return [_added(i, kept[0], term(i, p))]

            ends = b.carried_loop(0, prod(self.counts), to[:1], body, hint="part")
            store = found.first.with_(operands=(*ends, *to[1:]))
            b.operations.append(
                clone(store, dict(zip(map(_iv, found.rows), row, strict=True)))
            )
            if found is pair.mean:
                b.operations += pair.shift


Term = Callable[[Builder, Value], Value]


def _arith(b: Builder, name: str, one: Value, other: Value) -> Value:
    return b.add(f"arith.{name}f", (one, other), [one.type])[0]


def _added(b: Builder, total: Value, term: Value) -> Value:
    flags = {"fastmath": REASSOCIABLE}
    return b.add("arith.addf", (total, term), [total.type], flags)[0]
