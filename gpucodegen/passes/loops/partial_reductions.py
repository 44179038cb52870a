"""Two reductions of a row in one pass: those of its parts, merged.

    for r { S[r] = s;  for k { S[r] += x(r, k) } }
    for r { Q[r] = q;  for k { Q[r] += (x(r, k) - m)^2 } }     m a function of S[r]

reads x twice, since m is known after all of a row.  With parts p of n elements,

    for r, p { P = sum x;  c = P / n;  E = sum (x - c);  V = sum (x - c)^2 }
    for r { S[r] = s + sum P;  Q[r] = q + sum V + 2 (c - m) E + n (c - m)^2 }

since (x - m)^2 = (x - c)^2 + 2 (c - m) (x - c) + (c - m)^2.  A part fits in the
registers of a thread group, so that x is read once.  It is the update of Chan, Golub
and LeVeque ("Algorithms for computing the sample variance", 1983) with the correction
of the two-pass algorithm: E, zero without rounding, makes it hold for any c.

The largest element and a sum of exponentials (Milakov and Gimelshein, "Online
normalizer calculation for softmax", 2018) become

    for r, p { P = max x;  V = sum exp(x - c) }                 c = P, 0 if infinite
    for r { S[r] = max(s, P..);  Q[r] = q + sum V exp(P - m) }

since exp(x - m) = exp(x - c) exp(c - m).  Where P = -inf, V = 0 and the factor is 0 as
all terms are; where P = inf, V = inf and the factor is inf, or NaN for m = inf, as a
term is.  P <= m gives factors <= 1, and any other m overflows where a term does.

Nests between the two, which store m or exp(x - m) for the sum to load, follow both; the
sum computes what they store again.

The condition: sums may be reordered, both reductions are of the same x, m and x read no
array that the nests write but S[r], and only repeatable operations are between them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from math import inf, prod
from typing import ClassVar, Self

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
ADD, MAXIMA = "arith.addf", ("arith.maximumf", "arith.maxnumf")
SQUARE = "arith.mulf", "arith.subf"
EXPONENTIAL = "math.exp", "arith.subf"
SHORTEST, LONGEST = 1 << 8, 1 << 13
"""Elements of a part: enough for a thread group, and few enough for its registers."""
Splits = Callable[[int, int], bool]
"""Whether so many rows of so many elements are split."""


@dataclass(frozen=True, slots=True)
class RowReduction:
    """``for rows { total[row] = first; for axes { total[row] += term } }``.

    ``body``: the innermost operations up to ``term``.  ``combine``: the addition, or a
    maximum in its place.
    """

    rows: tuple[Operation, ...]
    axes: tuple[Operation, ...]
    first: Operation
    body: tuple[Operation, ...]
    term: Value
    combine: Operation

    @property
    def total(self) -> Value:
        return self.first.operands[1]

    @property
    def loops(self) -> tuple[Operation, ...]:
        return (*self.rows, *self.axes)

    @staticmethod
    def of(op: Operation) -> RowReduction | None:
        """The reduction of a nest, if its terms may come in any order."""
        rows = chain_of(op) if op.name == "affine.for" else []
        first, *rest = (inner_operations(rows[-1]) if rows else ()) or (op,)
        axes = chain_of(rest[0]) if len(rest) == 1 and rest[0].name == FOR else []
        inside = inner_operations(axes[-1]) if axes else ()
        *body, combine, store = inside if len(inside) > 1 else (op, op)
        loads = [o for o in body if same_cell(o, store)]
        terms = [o for o in body if o not in loads]
        if (
            first.name != "affine.store"
            or combine.name not in (ADD, *MAXIMA)
            or (combine.name == ADD and not arith.permits(combine, "reassoc"))
            or len(loads) != 1
            or not same_cell(loads[0], first)
            or store.operands[0] is not combine.result
            or not all(o.name == "affine.load" or has_no_effect(o) for o in terms)
            or not all(map(_is_counted, axes))
            or not counts_elements(first, rows)
        ):
            return None
        others = [v for v in combine.operands if v is not loads[0].result]
        used = {v for o in terms for v in o.operands}
        if len(others) != 1 or loads[0].result in used:
            return None
        return RowReduction(
            tuple(rows), tuple(axes), first, tuple(terms), others[0], combine
        )

    def through(self, nest: Operation) -> RowReduction | None:
        """The reduction that computes what it loads of the array a nest stores.

        None unless it loads that, and the nest stores each element once, with the outer
        or all loops of the reduction around it.
        """
        chain = chain_of(nest)
        *body, store = inner_operations(chain[-1]) or (nest,)
        if (
            store.name != "affine.store"
            or not all(o.name == "affine.load" or has_no_effect(o) for o in body)
            or not counts_elements(store, chain)
            or extents(chain) != extents(self.loops)[: len(chain)]
        ):
            return None
        known = dict(zip(map(_iv, chain), map(_iv, self.loops), strict=False))
        made = [clone(op, known) for op in (*body, store)]
        stored = made.pop()
        loads = [op for op in self.body if same_cell(op, stored)]
        known = {op.results[0]: stored.operands[0] for op in loads}
        made += [clone(op, known) for op in self.body if op not in loads]
        term = known.get(self.term, self.term)
        return replace(self, body=tuple(made), term=term) if loads else None


def _is_counted(op: Operation) -> bool:
    """Whether a loop counts from 0 to a constant."""
    loop = affine.For(op)
    lower, upper = loop.constant_bounds or (0, 0)
    return lower == 0 < upper and loop.step == 1


def extents(loops: Sequence[Operation]) -> list[int]:
    return [affine.For(op).trip_count or 0 for op in loops]


@dataclass(frozen=True, slots=True)
class PartTerms:
    """The ``size`` elements of a part.

    ``over`` reduces several terms of each by a combination of that name.
    """

    b: Builder
    size: int
    over: Callable[
        [str, int, Callable[[Builder, Value], list[Value]]], tuple[Value, ...]
    ]


@dataclass(frozen=True, slots=True)
class PartValues:
    """The values of a part of ``size`` elements, by their numbers."""

    b: Builder
    size: int
    at: Callable[[int], Value]


@dataclass(frozen=True, slots=True)
class Pair(ABC):
    """Two reductions of a row; ``shift``: the operations that make ``m``, from S[r].

    ``last``: the operation that makes the second one's terms from x - m.  A part has
    values with ``names``; the first of them is what it adds to the first reduction.
    """

    names: ClassVar[tuple[str, ...]]
    first: RowReduction
    second: RowReduction
    shift: tuple[Operation, ...]
    m: Value
    last: Operation

    @classmethod
    def of(
        cls, one: RowReduction, other: RowReduction, aliases: Aliases
    ) -> Self | None:
        """The pair, if the second one's terms are of x - m."""
        made = {v: op for op in (*one.body, *other.body) for v in op.results}
        last = made.get(other.term, one.first)
        far = made.get(last.operands[0], one.first)
        counts = [[extents(s.rows), extents(s.axes)] for s in (one, other)]
        if counts[0] != counts[1] or not cls.is_of(one, other, last, far):
            return None
        same = dict(zip(map(_iv, other.loops), map(_iv, one.loops), strict=True))
        axes = {_iv(op) for op in other.axes}
        for x, m in cls.sides(far):
            shift = tuple(slice_of(other.body, [m]))
            found = cls(one, other, shift, m, last)
            if (
                _is_same(one.term, x, made, same)
                and all(axes.isdisjoint(op.operands) for op in shift)
                and found._reads_apart(aliases, same)
            ):
                return found
        return None

    @classmethod
    @abstractmethod
    def is_of(
        cls, one: RowReduction, other: RowReduction, last: Operation, far: Operation
    ) -> bool:
        """Whether these are the operations of such a pair."""

    @classmethod
    @abstractmethod
    def sides(cls, far: Operation) -> Iterable[tuple[Value, Value]]:
        """What may be x and m of a difference."""

    @abstractmethod
    def values(self, part: PartTerms) -> Sequence[Value]:
        """The values of a part, as many as ``names``."""

    @abstractmethod
    def of_second(self, part: PartValues) -> Value:
        """What a part adds to the second reduction."""

    def _reads_apart(self, aliases: Aliases, same: Mapping[Value, Value]) -> bool:
        """Whether x, and m but for S[r], are of arrays that no nest writes."""
        total, written = self.first.total, (self.first.total, self.second.total)
        return not aliases.may_overlap(*written) and not any(
            aliases.may_overlap(op.operands[0], array)
            for op in (*self.first.body, *self.second.body)
            if op.name == "affine.load"
            for array in written
            if array is not total
            or op not in self.shift
            or not same_cell(clone(op, dict(same)), self.first.first)
        )


class Variance(Pair):
    """A sum, and that of squared distances from m."""

    names = "sums", "distances", "squares"

    @classmethod
    def is_of(
        cls, one: RowReduction, other: RowReduction, last: Operation, far: Operation
    ) -> bool:
        names = one.combine.name, other.combine.name, last.name, far.name
        return names == (ADD, ADD, *SQUARE) and last.operands[0] is last.operands[1]

    @classmethod
    def sides(cls, far: Operation) -> Iterable[tuple[Value, Value]]:
        x, m = far.operands
        return (x, m), (m, x)

    def values(self, part: PartTerms) -> Sequence[Value]:
        (total,) = part.over(ADD, 1, lambda _, x: [x])
        center = _mean(part.b, total, part.size)

        def terms(i: Builder, x: Value) -> list[Value]:
            far = _arith(i, "sub", x, center)
            return [far, _arith(i, "mul", far, far)]

        return [total, *part.over(ADD, 2, terms)]

    def of_second(self, part: PartValues) -> Value:
        b = part.b
        shift = _arith(b, "sub", _mean(b, part.at(0), part.size), self.m)
        n, two = (b.constant(v, shift.type) for v in (part.size, 2))
        inside = _arith(b, "mul", two, part.at(1))
        both = _arith(b, "add", inside, _arith(b, "mul", n, shift))
        return _arith(b, "add", part.at(2), _arith(b, "mul", shift, both))


class Exponentials(Pair):
    """The largest element, and the sum of exponentials of distances from m."""

    names = "largest", "sums"

    @classmethod
    def is_of(
        cls, one: RowReduction, other: RowReduction, last: Operation, far: Operation
    ) -> bool:
        names = other.combine.name, last.name, far.name
        return one.combine.name in MAXIMA and names == (ADD, *EXPONENTIAL)

    @classmethod
    def sides(cls, far: Operation) -> Iterable[tuple[Value, Value]]:
        x, m = far.operands
        return ((x, m),)

    def values(self, part: PartTerms) -> Sequence[Value]:
        b = part.b
        (largest,) = part.over(self.first.combine.name, 1, lambda _, x: [x])
        size_of = b.add("math.absf", (largest,), [largest.type])[0]
        zero, infinite = (b.constant(v, largest.type) for v in (0, inf))
        is_finite = arith.compare("arith.cmpf", "one", size_of, infinite)
        chosen = arith.select(is_finite.result, largest, zero)
        b.operations += [is_finite, chosen]
        center = chosen.result

        def terms(i: Builder, x: Value) -> list[Value]:
            return [self._exponential(i, x, center)]

        return [largest, *part.over(ADD, 1, terms)]

    def _exponential(self, b: Builder, x: Value, m: Value) -> Value:
        far = _arith(b, "sub", x, m)
        return b.add(self.last.name, (far,), [x.type], self.last.attributes)[0]

    def of_second(self, part: PartValues) -> Value:
        factor = self._exponential(part.b, part.at(0), self.m)
        return _arith(part.b, "mul", part.at(1), factor)


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


def with_partial_reductions(
    operations: Sequence[Operation], aliases: Aliases, splits: Splits
) -> tuple[list[Operation], set[Operation]]:
    """The block with such pairs in one pass, and the new nests."""
    current, made = list(operations), set[Operation]()
    found = {op: one for op in operations if (one := RowReduction.of(op))}
    for (op, one), (other, two) in combinations(found.items(), 2):
        if not {op, other} <= {*current}:
            continue
        first, second = current.index(op), current.index(other)
        between = current[first + 1 : second]
        sizes = prod(extents(one.rows)), prod(extents(one.axes))
        pair = _pair(one, two, between, aliases) if splits(*sizes) else None
        if pair is None:
            continue
        nests, stored = _nests(pair), [o for o in between if o.name == FOR]
        made.update(o for o in nests if o.name == FOR)
        if nests:
            passed = [o for o in between if o.name != FOR]
            current[first : second + 1] = [*passed, *nests, *stored]
    return current, made


def _pair(
    one: RowReduction,
    other: RowReduction,
    between: Sequence[Operation],
    aliases: Aliases,
) -> Pair | None:
    """The pair of two reductions; nests between may store what the second one loads."""
    stored, seen = [op for op in between if op.name == FOR], other
    for nest in reversed(stored):
        if (found := seen.through(nest)) is None:
            return None
        seen = found
    arrays = [op.operands[0] for op in (*one.body, *seen.body) if _is_load(op)]
    targets = [inner_operations(chain_of(op)[-1])[-1].operands[1] for op in stored]
    if any(map(_has_effect, (op for op in between if op not in stored))) or any(
        aliases.may_overlap(array, target)
        for array in (*arrays, one.total, seen.total)
        for target in targets
    ):
        return None
    return Variance.of(one, seen, aliases) or Exponentials.of(one, seen, aliases)


def _is_load(op: Operation) -> bool:
    return op.name == "affine.load"


def _has_effect(op: Operation) -> bool:
    """Whether it may not be passed by the nests."""
    return bool(op.regions) or not (has_no_effect(op) or op.name in ALLOCATIONS)


def _nests(pair: Pair) -> list[Operation]:
    """The nest of the parts and that of the rows; none without even parts."""
    one = pair.first
    body = (*slice_of(one.body, [one.term]), affine.yield_())
    flat, rows = flat_nest(chain_of(rebuilt(one.loops, body))), len(one.rows)
    if flat is None or element_bytes(one.term.type) not in (4, 8):
        return []
    for at in reversed(range(rows, len(one.loops) - 1)):
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

    pair: Pair
    loops: tuple[Operation, ...]
    counts: tuple[int, ...]
    size: int

    def operations(self) -> list[Operation]:
        first, second = self.pair.first, self.pair.second
        b = Builder(first.first.location)
        shape = (*extents(first.rows), prod(self.counts))
        ty = MemRefType(shape, first.term.type)
        buffers = [b.allocate("memref.alloc", ty, name) for name in self.pair.names]
        for found, body in ((first, self._parts), (second, self._rows)):
            i = Builder(b.location)
            body(i, [*map(_iv, found.rows)], buffers)
            end = affine.yield_(location=b.location)
            b.operations.append(rebuilt(found.rows, (*i.operations, end)))
        for buffer in buffers:
            b.add("memref.dealloc", (buffer,))
        return b.operations

    def _parts(self, b: Builder, row: list[Value], buffers: Sequence[Value]) -> None:

        def part(i: Builder, p: Value) -> None:
            over = partial(self._over_part, i, p)
            found = self.pair.values(PartTerms(i, self.size, over))
            for value, buffer in zip(found, buffers, strict=True):
                i.store(value, buffer, [*row, p])

        b.loop(0, prod(self.counts), part, hint="part")

    def _over_part(
        self,
        b: Builder,
        part: Value,
        combine: str,
        count: int,
        terms: Callable[[Builder, Value], list[Value]],
    ) -> tuple[Value, ...]:
        """So many reductions of terms of each element of a part."""
        variables, term = [*map(_iv, self.loops)], self.pair.first.term
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
            return [_combined(i, combine, total, more) for total, more in found]

        start = b.constant(0 if combine == ADD else -inf, term.type)
        return b.carried_loop(0, self.size, [start] * count, body, hint="k")

    def _rows(self, b: Builder, row: list[Value], buffers: Sequence[Value]) -> None:
        """Both reductions of a row, from the values of its parts."""
        pair = self.pair
        for found, term in ((pair.first, _first), (pair.second, pair.of_second)):
            to, name = found.first.operands, found.combine.name

            def body(
                i: Builder,
                p: Value,
                kept: Sequence[Value],
                term: Callable[[PartValues], Value] = term,
                name: str = name,
            ) -> list[Value]:
                part = PartValues(i, self.size, lambda n: i.load(buffers[n], [*row, p]))
                return [_combined(i, name, kept[0], term(part))]

            ends = b.carried_loop(0, prod(self.counts), to[:1], body, hint="part")
            store = found.first.with_(operands=(*ends, *to[1:]))
            same = dict(zip(map(_iv, found.rows), row, strict=True))
            b.operations.append(clone(store, same))
            if found is pair.first:
                b.operations += pair.shift


def _first(part: PartValues) -> Value:
    return part.at(0)


def _mean(b: Builder, total: Value, size: int) -> Value:
    return _arith(b, "div", total, b.constant(size, total.type))


def _arith(b: Builder, name: str, one: Value, other: Value) -> Value:
    return b.add(f"arith.{name}f", (one, other), [one.type])[0]


def _combined(b: Builder, name: str, total: Value, term: Value) -> Value:
    return b.add(name, (total, term), [total.type], {"fastmath": REASSOCIABLE})[0]
