"""Thread coarsening: a thread computes neighbouring windows, whose elements it shares.

    thread (i, j):                          thread (i, j):
      for k { s = f(s, x[i + k, j]) }         a = x[2 i, j], b = x[2 i + 1, j], ..
      y[i, j] = s                      =>     s0 = f(f(.., a), b), s1 = f(f(.., b), c)
                                              y[2 i, j], y[2 i + 1, j] = s0, s1

Iterations of a parallel loop that is not the contiguous one (unroll-and-jam) are
written out side by side, and so are the loops of constant length in them.  Loads then
take the value of the last access to the same element, and stores that a later one
overwrites go (scalar replacement, after Callahan, Carr and Kennedy, 1990).

The condition is that no dependence is carried by the loop: its iterations may run in
any order, and so may their operations.  Two accesses are to the same element if their
indices differ by zero, and to different ones if some index differs by another constant;
a store in between to memory that may overlap, with any other difference, ends the
life of a value.  Iterations that do not fill a group run one after the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import Dim, linear_form
from gpucodegen.ir.attributes import IntegerSetAttr
from gpucodegen.ir.operation import (
    Operation,
    Value,
    ValueMap,
    clone,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import MemRefType, element_bytes
from gpucodegen.passes.analysis.lifting.accesses import is_memref
from gpucodegen.passes.analysis.lifting.aliases import Aliases
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import (
    Index,
    Known,
    affine_over_dims,
    compact,
    from_map,
    replace_values,
    rewrite_maps,
    substituted,
)
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.interior import Interior, Ranges, interior_of
from gpucodegen.passes.gpu.nest_mapping import (
    MappedLoop,
    Nest,
    distributed_loops,
    is_wide,
    ranges_of,
    thread_per_iteration,
    trip_count,
)
from gpucodegen.passes.gpu.speculative_loads import with_speculative_loads
from gpucodegen.passes.loops.scalar_replacement import kept_in_values
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.coarsening import (
    MOST_OPERATIONS,
    memory_clocks,
    plan_coarsening,
)

LANES = 1, 2, 4, 8
"""Iterations of a thread that are tried."""


def map_windows(nest: Nest) -> list[Operation] | None:
    """A kernel whose threads compute neighbours that share loads, if it pays."""
    chain, order = distributed_loops(nest)
    counts = [trip_count(loop).constant for loop in chain]
    known = [count for count in counts if count is not None]
    if len(order) < 2 or len(known) < len(counts):
        return None
    body = inner_operations(chain[-1].operation)
    if not any(op.name == "affine.for" for op in body):
        return None
    splits, ranges = is_wide(order[-1]), ranges_of(chain)
    aliases = nest.mapper.surroundings.aliases
    along = [loop for loop in order[:-1] if _has_window(body, loop.iv)]
    if not along and _has_window(body, order[-1].iv):
        along = order[-2:-1]
    strips = {
        loop.iv: Strip(body, loop, aliases, ranges, splits=splits) for loop in along
    }
    windows, nbytes, device = prod(known), _nbytes(body), nest.mapper.device
    least = memory_clocks(windows, nbytes, device) / 3
    work = {
        (iv, lanes): cost
        for iv, strip in strips.items()
        for lanes, cost in strip.costs(least)
    }
    plan = plan_coarsening(work, windows, nbytes, device=device)
    if plan is None:
        return None
    along, lanes = plan
    loop = strips[along].loop
    group = replace(loop, step=loop.step * lanes)
    coarse, coarse_order = (
        [group if one is loop else one for one in loops] for loops in (chain, order)
    )
    build = partial(strips[along].build, lanes)
    return nest.mapper.launch(thread_per_iteration(coarse, coarse_order, build))


def _nbytes(body: Sequence[Operation]) -> int:
    """Bytes of the arrays that a body accesses."""
    accesses = (o for op in body for o in op.walk() if o.name in affine.ACCESSES)
    types = {v: v.type for op in accesses for v in op.operands if is_memref(v)}
    return sum(
        prod(n or 1 for n in ty.shape) * (element_bytes(ty.element) or 1)
        for ty in types.values()
        if isinstance(ty, MemRefType)
    )


def _has_window(body: Sequence[Operation], iv: Value) -> bool:
    """Whether a load's index moves with a loop of the body and with a variable."""
    inside = {v for op in body for o in op.walk() if o.name == "affine.for"
              for v in o.body.arguments[:1]}  # fmt: skip
    loads = (o for op in body for o in op.walk() if o.name == "affine.load")
    return any(
        iv in index.values and not inside.isdisjoint(index.values)
        for load in loads
        for index in from_map(affine.map_of(load), load.operands[1:])
    )


def _is_access(op: Operation) -> bool:
    return any(inner.name in affine.ACCESSES for inner in op.walk())


def _instructions(op: Operation) -> int:
    """An estimate: one each, and two for a limit, at the rate of integers."""
    limits = op.attributes.get("condition")
    count = len(limits.set.constraints) if isinstance(limits, IntegerSetAttr) else 0
    return sum(o.name != "affine.yield" for o in op.walk()) + 2 * count


def _most_alive(operations: Sequence[Operation]) -> int:
    """The most values that are used later, between two operations."""
    alive, most = set[Value](), 0
    for op in reversed(operations):
        alive -= set(op.results)
        alive |= {v for inner in op.walk() for v in inner.operands}
        most = max(most, len(alive))
    return most


class _Refused(Exception):
    """The body has no straight form, or too long a one."""


@dataclass(frozen=True)
class Strip:
    """Iterations of a loop, whose iterations run ``body``, in one thread."""

    body: Sequence[Operation]
    loop: MappedLoop
    aliases: Aliases
    ranges: Ranges
    """Those of the variables of the loops around the body."""
    splits: bool = False
    """Whether iterations at the borders run apart (`interior`)."""

    @cached_property
    def inner(self) -> Interior:
        """The iterations that run side by side."""
        found = interior_of(self.body, {}) if self.splits else None
        return found or Interior((), tuple(self.body))

    @cached_property
    def start(self) -> Value:
        """Stands for the variable of the loop in the first iteration."""
        return self.loop.iv.renewed()

    @cached_property
    def lanes(self) -> list[list[Operation]]:
        """The operations of each iteration, without loops; none without such a form."""
        return self._written_out(self.inner.body)

    def _written_out(self, body: Sequence[Operation]) -> list[list[Operation]]:
        made: list[list[Operation]] = []
        while len(made) < max(LANES):
            known = {self.loop.iv: Index.of(self.start) + len(made) * self.loop.step}
            try:
                made.append(_bounded(_written_out(body, {}, known)))
            except _Refused:
                return []
            if (len(made) + 1) * sum(map(_length, made[0])) > MOST_OPERATIONS:
                break
        return made

    def costs(self, least: float) -> Iterator[tuple[int, tuple[int, int, int]]]:
        """Accesses, instructions, and values alive at a time, by iterations.

        None where the accesses of one iteration take less than ``least`` clocks.
        """
        if sum(map(_is_access, next(iter(self.lanes), ()))) <= least:
            return
        for count in LANES:
            if count <= min(len(self.lanes), trip_count(self.loop).constant or 0):
                made = self.side_by_side(count)
                accesses = sum(_is_access(op) for op in made)
                instructions = sum(map(_instructions, made))
                yield count, (accesses, instructions, _most_alive(made))

    def side_by_side(self, count: int) -> list[Operation]:
        """The first iterations, an operation of all of them after the other."""
        return _merged(self.lanes[:count], self.aliases)

    def _loading_first(self, made: Sequence[Operation], count: int) -> list[Operation]:
        """Operations of several iterations, which branch around no load."""
        ranges = dict(self.ranges)
        if self.loop.iv in ranges:
            first, last = ranges[self.loop.iv]
            ranges[self.start] = first, last - (count - 1) * self.loop.step
        return with_speculative_loads(made, ranges, self.aliases)

    def build(self, lanes: int, b: Builder, places: Mapping[Value, Value]) -> None:
        """All iterations side by side; at the end one by one."""
        loop, first = self.loop, places[self.loop.iv]
        last = Index.of(first) + (lanes - 1) * loop.step

        def inside(i: Builder) -> None:
            made = self._loading_first(self.side_by_side(lanes), lanes)
            i.operations += [substitute_values(op, values) for op in made]

        def border(i: Builder) -> None:
            around = self._written_out(self.body)[:lanes]
            if len(around) < lanes:
                alone(i)
                return
            made = self._loading_first(_merged(around, self.aliases), lanes)
            i.operations += [substitute_values(op, values) for op in made]

        def alone(i: Builder) -> None:
            def iteration(i: Builder, iv: Value) -> None:
                values = {**places, loop.iv: iv}
                body = (o for op in self.body for o in kept_in_values(op, self.aliases))
                i.operations += [clone(op, values) for op in body]

            end = Index.of(first) + lanes * loop.step
            uppers = (end,) if is_whole else (*loop.uppers, end)
            i.loop(first, uppers, iteration, step=loop.step, hint=loop.iv.name)

        count = trip_count(loop).constant
        is_whole = len(loop.uppers) == 1 and count is not None and not count % lanes
        ends = [] if is_whole else [upper - 1 - last for upper in loop.uppers]
        places = {**places, loop.iv: first}
        values, limits = {**places, self.start: first}, list[Index]()
        for limit in self.inner.limits:
            for lane in (0, lanes - 1):
                moved = {old: Index.of(new) for old, new in places.items()}
                moved[loop.iv] = Index.of(first) + lane * loop.step
                limits.append(replace_values(limit, moved))
        limits = [*dict.fromkeys(limits)]
        b.guard(ends, lambda i: i.guard(limits, inside, border), alone)


def _length(op: Operation) -> int:
    return sum(1 for _ in op.walk())


def _bounded(operations: Iterator[Operation]) -> list[Operation]:
    found = list(islice(operations, MOST_OPERATIONS + 1))
    if sum(map(_length, found)) > MOST_OPERATIONS:
        raise _Refused
    return found


def _written_out(
    operations: Sequence[Operation], values: ValueMap, known: Known
) -> Iterator[Operation]:
    """Operations with their loops written out."""
    for op in operations:
        yield from _operation(op, values, known)


def _operation(op: Operation, values: ValueMap, known: Known) -> Iterator[Operation]:
    if op.name == "affine.for":
        yield from _iterations(op, values, known)
        return
    if op.name == "affine.apply":
        (index,) = from_map(affine.map_of(op), op.operands)
        moved = {v: Index.of(values[v]) for v in index.values if v in values}
        known[op.result] = substituted(index, {**moved, **known})
        return
    if not _is_simple(op):
        raise _Refused
    copy = clone(op, values)
    (copy,) = rewrite_bottom_up(copy, lambda o: [rewrite_maps(o, known)])
    if any(v in known for v in copy.used):
        raise _Refused
    yield copy


def _is_simple(op: Operation) -> bool:
    """An access, a pure operation, or a condition with a value of loads."""
    if not op.regions:
        return op.name in affine.ACCESSES or has_no_effect(op)
    inner = [o for o in op.walk() if o is not op]
    ends = {"affine.yield", "affine.load"}
    return (
        op.name == "affine.if"
        and len(op.results) == 1
        and all(o.name in ends or (not o.regions and has_no_effect(o)) for o in inner)
    )


def _iterations(op: Operation, values: ValueMap, known: Known) -> Iterator[Operation]:
    loop = affine.For(op)
    if loop.constant_bounds is None:
        raise _Refused
    current = [values.get(v, v) for v in loop.inits]
    for at in range(*loop.constant_bounds, loop.step):
        known[loop.iv] = Index.of(at)
        values.update(zip(loop.iter_args, current, strict=True))
        yield from _written_out(loop.body[:-1], values, known)
        current = [values.get(v, v) for v in loop.yielded]
        if any(v in known for v in current):
            raise _Refused
    values.update(zip(op.results, current, strict=True))


IndexKey = tuple[frozenset[Hashable], int]
"""The terms of an index, in no order, and its constant."""


@dataclass(frozen=True, slots=True)
class Place:
    """An element: a buffer and the keys of indices."""

    buffer: Value
    indices: tuple[IndexKey, ...]

    def is_apart(self, other: Place) -> bool:
        """Whether it is another element, since some index differs by a constant."""
        pairs = zip(self.indices, other.indices, strict=True)
        return self.buffer is other.buffer and any(
            terms == others and constant != another
            for (terms, constant), (others, another) in pairs
        )


class _Merged:
    """Straight code whose repeated operations and loads are made once."""

    def __init__(self, aliases: Aliases) -> None:
        self.aliases = aliases
        self.operations: list[Operation] = []
        self.values: ValueMap = {}
        self.known: dict[Hashable, Value] = {}
        """The value of pure operations, and of the element at a `Place`."""
        self.reads: dict[Hashable, frozenset[Value]] = {}
        """The buffers that a known value was read from."""

    def add(self, op: Operation) -> None:
        """Append an operation, unless its value is known."""
        op = substitute_values(op, self.values) if self.values else op
        if op.name == "affine.store":
            self._store(op)
            return
        key = _place_of(op) if op.name == "affine.load" else _key(op)
        value = self.known.get(key)
        if value is not None and value.type == op.result.type:
            self.values[op.result] = value
            return
        self.operations.append(op)
        if len(op.results) == 1:
            self.known[key] = op.result
            loads = [o for o in op.walk() if o.name == "affine.load"]
            self.reads[key] = frozenset(o.operands[0] for o in loads)

    def _store(self, op: Operation) -> None:
        place = _place_of(op)
        for key, read in [*self.reads.items()]:
            is_apart = isinstance(key, Place) and key.is_apart(place)
            if not is_apart and self._overlaps(read, place):
                del self.known[key], self.reads[key]
        self.operations.append(op)
        self.known[place] = op.operands[0]
        self.reads[place] = frozenset({place.buffer})

    def _overlaps(self, buffers: Iterable[Value], place: Place) -> bool:
        return any(self.aliases.may_overlap(b, place.buffer) for b in buffers)

    def without_overwritten(self) -> list[Operation]:
        """The operations without stores that later ones overwrite unread."""
        kept: list[Operation] = []
        overwritten: set[Place] = set()
        for op in reversed(self.operations):
            if op.name == "affine.store":
                place = _place_of(op)
                if place in overwritten:
                    continue
                overwritten.add(place)
            read = {o.operands[0] for o in op.walk() if o.name == "affine.load"}
            overwritten -= {p for p in overwritten if self._overlaps(read, p)}
            kept.append(op)
        return kept[::-1]


def _merged(lanes: Sequence[Sequence[Operation]], aliases: Aliases) -> list[Operation]:
    merged = _Merged(aliases)
    for together in zip(*lanes, strict=True):
        for op in together:
            merged.add(op)
    return merged.without_overwritten()


def _place_of(op: Operation) -> Place:
    view = affine.Load(op) if op.results else affine.Store(op)
    indices = from_map(view.map, view.map_operands)
    return Place(view.memref, tuple(map(_index_key, indices)))


def _index_key(index: Index) -> IndexKey:
    terms, constant = linear_form(index.expr)
    found: list[Hashable] = [
        (index.values[t.position] if isinstance(t, Dim) else (t, index.values), factor)
        for t, factor in terms.items()
    ]
    return frozenset(found), constant


def _key(op: Operation, inside: Mapping[Value, Hashable] | None = None) -> Hashable:
    """What an operation computes: equal for operations with the same value.

    ``inside``: the numbers of values that the condition around it defines.
    """
    numbers = dict(inside or {})
    operands = tuple(numbers.get(v, v) for v in op.operands)
    if op.name == "affine.load":
        return _place_of(op)
    attributes = tuple(sorted(op.attributes.items()))
    if not op.regions:
        return op.name, operands, attributes, tuple(v.type for v in op.results)
    condition = op.attributes["condition"]
    assert isinstance(condition, IntegerSetAttr)
    limits = frozenset(
        (_index_key(compact(Index(c.expr, tuple(op.operands)))), c.equality)
        for c in affine_over_dims(condition.set)
    )
    parts: list[Hashable] = []
    for block in op.blocks:
        for inner in block.operations:
            parts.append(_key(inner, numbers))
            numbers.update((v, len(numbers)) for v in inner.results)
        parts.append("|")
    return op.name, limits, tuple(parts)
