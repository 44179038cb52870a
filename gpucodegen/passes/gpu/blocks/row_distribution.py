"""Row distribution: a thread group shares a row, a few neighbours per member at a time.

    for i = lower + member * width .. by size * width:  iterations i .. i + width - 1

* `Interleaved` runs ``width`` consecutive iterations in one thread.  Loads and stores
  of neighbours become ``vector.load`` and ``vector.store``; values that are equal in
  all iterations are computed once, all others once per iteration.
* `KeptElements` keeps array elements in registers from one loop over the row to the
  next: a second load takes the value, and a store that is overwritten before it is read
  is dropped.  Rows that fit in registers are walked without a loop.
* `with_loads_hoisted` moves loads before stores, since compilers do not move a load
  across a store that may alias and would expose the latency of each load.  Arrays that
  the program does not write are read first.
* A `LaneGroup` is the thread group: a warp, a block or the whole grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from math import prod

from gpucodegen.dialects import affine, arith
from gpucodegen.dialects.shared.combiners import GPU_KINDS, Combiner
from gpucodegen.ir.attributes import Attribute, OpaqueAttr
from gpucodegen.ir.operation import Operation, Region, Value, clone
from gpucodegen.ir.types import (
    INDEX,
    FloatType,
    IntegerType,
    Type,
    VectorType,
    element_bytes,
    element_type,
)
from gpucodegen.passes.analysis.lifting.aliases import Aliases
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect, is_pure
from gpucodegen.passes.framework.indexing import (
    Index,
    bounds_of,
    compact,
    from_map,
    substituted,
)
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.outlining.gpu_launch import WARP_SCOPE
from gpucodegen.passes.outlining.vector_width import address_of, vector_width
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.thread_groups import DIMENSIONS, split


@dataclass(frozen=True, slots=True)
class LaneGroup:
    """Threads by their positions, with the count of each, the slowest first.

    ``is_warp``: it is one of several warps of a block.  ``arrived``: the word of the
    grid barrier, if there are several blocks.
    """

    positions: tuple[tuple[Index, int], ...]
    is_warp: bool = False
    arrived: Value | None = None

    @property
    def size(self) -> int:
        return prod(count for _, count in self.positions)

    @property
    def number(self) -> Index:
        """A thread's linear index in the group."""
        return _joined(self.positions)[0]

    def meet(self, b: Builder) -> None:
        """Append a barrier of the group."""
        if self.arrived is not None:
            b.add("gcg.grid_barrier", (self.arrived,))
            return
        b.add("gpu.barrier", (), (), WARP_SCOPE if self.is_warp else None)

    def combined(self, b: Builder, value: Value, kind: Combiner) -> Value:
        """The reduction of a value over all members, known to each of them."""
        attributes: dict[str, Attribute] = {
            "op": OpaqueAttr(f"#gpu.all_reduce_op<{kind.kind}>")
        }
        name = "gpu.subgroup_reduce" if self.is_warp else "gpu.all_reduce"
        regions = () if self.is_warp else (Region(),)
        (total,) = b.add(
            name, (value,), [value.type], attributes, regions, hint=value.name
        )
        return total

    def lanes(
        self, extents: Sequence[int | None], most: int = DIMENSIONS
    ) -> list[tuple[Index, int]]:
        """Positions along each of some nested loops, outermost first, and their counts.

        >>> team = LaneGroup(tuple((Index.of(0), n) for n in (132, 16, 32)))
        >>> [[n for _, n in team.lanes(e)] for e in ([None], [9, 900], [9, 9, 9, 9])]
        [[67584], [132, 512], [1, 132, 16, 32]]
        """
        parts = split(extents, [count for _, count in self.positions], most)
        return [_joined(self.positions[part]) for part in parts]


def _joined(positions: Sequence[tuple[Index, int]]) -> tuple[Index, int]:
    """Several positions flattened to one."""
    number, size = Index.of(0), 1
    for position, count in positions:
        number, size = number * count + position, size * count
    return compact(number), size


def combines(kind: Combiner, ty: Type) -> bool:
    """Whether thread groups can combine values of a type with an operation."""
    return kind.kind in GPU_KINDS and isinstance(ty, FloatType | IntegerType)


MOST = 256
"""Bytes of loads in flight per member, besides kept elements: 64 registers."""
_LOADS = frozenset({"affine.load", "vector.load"})
_KNOWN = frozenset({"affine.store", "vector.store", "affine.if", "affine.yield"})


def with_loads_hoisted(
    parts: Sequence[Sequence[Operation]], may_change: Callable[[Value], bool]
) -> list[Operation]:
    """The parts of a program in order, with loads hoisted over stores.

    ``may_change``: whether the program may store to a buffer.
    """

    def is_early(op: Operation) -> bool:
        return op.name in _LOADS and not may_change(op.operands[0])

    found: list[Operation] = []
    for group in _groups(parts, is_early):
        found += _sorted(group, is_early) if all(map(_is_known, group)) else group
    return found


def _groups(
    parts: Sequence[Sequence[Operation]], is_early: Callable[[Operation], bool]
) -> Iterator[list[Operation]]:
    """Adjacent parts whose hoisted loads fit in the registers."""
    group, size = list[Operation](), 0
    for part in parts:
        more = sum(_loaded_bytes(op) for op in part if is_early(op))
        if group and size + more > MOST:
            yield group
            group, size = [], 0
        group, size = [*group, *part], size + more
    yield group


def _loaded_bytes(load: Operation) -> int:
    ty = load.result.type
    count = prod(ty.shape) if isinstance(ty, VectorType) else 1
    return count * (element_bytes(element_type(ty)) or 1)


def _is_known(op: Operation) -> bool:
    """Whether an operation only loads, computes or stores."""
    return all(is_pure(o) or o.name in _KNOWN for o in op.walk())


def _sorted(
    operations: Sequence[Operation], is_early: Callable[[Operation], bool]
) -> list[Operation]:
    """Hoistable, unguarded loads with the operations that they need; the others."""
    wanted, early = set[Value](), set[int]()
    for op in reversed(operations):
        if is_early(op) or not wanted.isdisjoint(op.results):
            if not (is_early(op) or has_no_effect(op)):
                return list(operations)
            early.add(id(op))
            wanted.update(op.used)
    return [
        *(op for op in operations if id(op) in early),
        *(op for op in operations if id(op) not in early),
    ]


Span = tuple[tuple[Index, ...], tuple[Index, ...], int]
"""Lower bounds, upper bounds and step of a loop."""


@dataclass(frozen=True, slots=True)
class Element:
    """An array element that a thread accesses in its ``slot``-th iterations.

    ``span``: the range of the loop. Threads have the same iterations of two loops, and
    as many, only if these have one range.
    """

    memref: Value
    place: tuple[Index, ...]
    slot: int
    span: Span


Values = tuple[Value, ...]
"""The values of consecutive elements."""


@dataclass(slots=True)
class KeptElements:
    """Known register values of elements at a point of a straight program.

    ``is_on``: iterations are straight code, not in loops.  ``written``: buffers that
    the program stores to.
    """

    aliases: Aliases = field(default_factory=Aliases)
    is_on: bool = False
    written: frozenset[Value] = frozenset()
    values: dict[Element, Values] = field(default_factory=dict[Element, Values])
    pending: dict[Element, Sequence[Operation]] = field(
        default_factory=dict[Element, Sequence[Operation]]
    )
    """Stores that nothing has read yet."""
    dead: set[int] = field(default_factory=set[int])
    """Dead stores, by identity."""
    position: Value = field(default_factory=lambda: Value(INDEX, "position"))

    def position_of(self, index: Index, along: Value) -> Index:
        """An index with the variable of any row in place of that of one loop."""
        known = {v: Index.of(v) for v in index.values}
        return substituted(index, {**known, along: Index.of(self.position)})

    def loaded(self, element: Element) -> Values | None:
        """The known values of an element, or None."""
        return self.values.get(element) if self.is_on else None

    def note_load(self, element: Element, values: Values) -> None:
        """Record a load: it reads all stores that it may overlap."""
        self.note_read(element.memref)
        self.values[element] = values

    def note_read(self, memref: Value) -> None:
        for other in [e for e in self.pending if self._overlaps(e.memref, memref)]:
            del self.pending[other]

    def note_store(
        self, element: Element, values: Values, operations: Sequence[Operation]
    ) -> None:
        """Record a store: values that it may overlap become unknown."""
        self.dead.update(id(op) for op in self.pending.pop(element, ()))
        self.note_write(element.memref, element)
        self.values[element] = values
        self.pending[element] = operations

    def note_write(self, memref: Value, element: Element | None = None) -> None:
        """Record a write to a buffer, of an element if that is known.

        Parallel iterations of one range write to different elements at one place.
        """
        for other in list(self.values):
            is_same = (
                element is not None
                and other.memref is memref
                and (other.place, other.span) == (element.place, element.span)
            )
            if not is_same and self._overlaps(other.memref, memref):
                del self.values[other]

    def may_change(self, memref: Value) -> bool:
        return any(self._overlaps(memref, other) for other in self.written)

    def forget(self) -> None:
        """Forget all values: any memory may have been read and written."""
        self.values.clear()
        self.pending.clear()

    def drop(self, buffers: Sequence[Value]) -> None:
        """Drop unread stores to buffers that nothing reads after the program."""
        for element, operations in self.pending.items():
            if element.memref in buffers:
                self.dead.update(map(id, operations))

    def _overlaps(self, one: Value, other: Value) -> bool:
        return one is other or self.aliases.may_overlap(one, other)


Lane = dict[Value, Value]
"""The values of the body in one iteration."""


def shared_width(
    body: Iterable[Operation],
    along: Value,
    first: Index,
    definitions: Mapping[Value, Operation],
) -> int:
    """The common vector width of all accesses to neighbours along a variable.

    ``first``: the value of the variable from which iterations are counted.  0 where no
    access is to neighbours.
    """
    places = {along: first}
    found = [
        vector_width(op, along, definitions, places)
        for op in body
        if op.name in affine.ACCESSES and _is_contiguous(op, along, definitions)
    ]
    return min(found, default=0)


def _is_contiguous(
    op: Operation, along: Value, definitions: Mapping[Value, Operation]
) -> bool:
    address = address_of(op, definitions)
    return address is not None and address.factor(along) == 1


@dataclass(frozen=True, slots=True)
class Interleaved:
    """Emits bodies for several values of the variable ``along``.

    ``kept``: elements that earlier bodies left in registers; ``slot`` identifies the
    iterations of a thread, and ``span`` their loop.  ``limits`` are >= 0 where the
    iterations exist: loads from read-only buffers are always valid, others and stores
    are guarded.
    """

    along: Value
    definitions: Mapping[Value, Operation]
    kept: KeptElements = field(default_factory=KeptElements)
    slot: int = 0
    limits: tuple[Index, ...] = ()
    span: Span = ((), (), 1)

    def emit(self, b: Builder, body: Sequence[Operation], lanes: list[Lane]) -> None:
        """Append the body; ``lanes`` get its definitions."""
        for op in body:
            if op.name == "affine.load":
                self._load(b, op, lanes)
            elif op.name == "affine.store":
                self._store(b, op, lanes)
            else:
                _each(b, op, lanes)

    def _load(self, b: Builder, op: Operation, lanes: list[Lane]) -> None:
        element = self._element(op, lanes)
        values = self.kept.loaded(element)
        if values is None:
            values = self._loaded(b, op, lanes)
            self.kept.note_load(element, values)
        for lane, value in zip(lanes, values, strict=True):
            lane[op.result] = value

    def _loaded(
        self, b: Builder, op: Operation, lanes: list[Lane]
    ) -> tuple[Value, ...]:
        memref, ty = affine.Load(op).memref, op.result.type
        if len(lanes) > 1 and _is_contiguous(op, self.along, self.definitions):
            vector = VectorType((len(lanes),), ty)
            place, bytes_ = _place(op, lanes[0]), _vector_bytes(vector)
            wide = self._where_it_exists(
                b,
                memref,
                vector,
                lambda i: i.vector_load(memref, place, vector, "", bytes_),
            )
            return tuple(b.element(wide, at) for at in range(len(lanes)))
        if _is_same(op, lanes):
            lanes = lanes[:1] * len(lanes)
        found: dict[int, Value] = {}
        for lane in lanes:
            if id(lane) not in found:
                place = _place(op, lane)
                found[id(lane)] = self._where_it_exists(
                    b, memref, ty, lambda i, p=place: i.load(memref, p, op.result.name)
                )
        return tuple(found[id(lane)] for lane in lanes)

    def _where_it_exists(
        self, b: Builder, memref: Value, ty: Type, load: Callable[[Builder], Value]
    ) -> Value:
        """A load, guarded if other threads may store to the element."""
        waits = self.limits if self.kept.may_change(memref) else ()
        return b.choose(waits, load, lambda i: i.constant(0, ty))

    def _store(self, b: Builder, op: Operation, lanes: list[Lane]) -> None:
        element, start = self._element(op, lanes), len(b.operations)
        values = tuple(lane.get(op.operands[0], op.operands[0]) for lane in lanes)
        b.guard(self.limits, lambda inner: self._stored(inner, op, values, lanes))
        self.kept.note_store(element, values, b.operations[start:])

    def _stored(
        self, b: Builder, op: Operation, values: tuple[Value, ...], lanes: list[Lane]
    ) -> None:
        if len(lanes) == 1 or not _is_contiguous(op, self.along, self.definitions):
            b.operations += [clone(op, dict(lane)) for lane in lanes]
            return
        vector = VectorType((len(lanes),), values[0].type)
        (wide,) = b.add("vector.from_elements", values, [vector])
        place = _place(op, lanes[0])
        b.vector_store(wide, affine.Store(op).memref, place, _vector_bytes(vector))

    def _element(self, op: Operation, lanes: list[Lane]) -> Element:
        """The accessed element, as a function of thread and iteration."""
        view = affine.Load(op) if op.results else affine.Store(op)
        known = {
            old: Index.of(new) for old, new in lanes[0].items() if old is not self.along
        }
        place = from_map(view.map, view.map_operands)
        return Element(
            view.memref,
            tuple(
                self.kept.position_of(substituted(i, known), self.along) for i in place
            ),
            self.slot,
            self.span,
        )


def _place(op: Operation, lane: Lane) -> list[Index]:
    view = affine.Load(op) if op.results else affine.Store(op)
    known = {old: Index.of(new) for old, new in lane.items()}
    return [substituted(i, known) for i in from_map(view.map, view.map_operands)]


def _vector_bytes(vector: VectorType) -> int:
    return vector.shape[0] * (element_bytes(element_type(vector)) or 1)


def _each(b: Builder, op: Operation, lanes: list[Lane]) -> None:
    """The operation for each lane, or once if it is the same in all."""
    if not op.regions and _is_same(op, lanes):
        mapping = dict(lanes[0])
        b.operations.append(clone(op, mapping))
        for lane in lanes:
            lane.update((v, mapping[v]) for v in op.results)
        return
    b.operations += [clone(op, lane) for lane in lanes]


def _is_same(op: Operation, lanes: list[Lane]) -> bool:
    first, *others = lanes
    return bool(op.results) and all(
        lane.get(v, v) is first.get(v, v) for lane in others for v in op.operands
    )


Totals = Sequence[Value]


@dataclass(frozen=True, slots=True)
class Row:
    """A distributed loop, with its carried values before and after an iteration."""

    iv: Value
    lowers: tuple[Index, ...]
    uppers: tuple[Index, ...]
    step: int
    body: tuple[Operation, ...]
    befores: tuple[Value, ...] = ()
    afters: tuple[Value, ...] = ()

    @property
    def trips(self) -> int | None:
        """The number of iterations, if known."""
        if len(self.lowers) != 1 or len(self.uppers) != 1:
            return None
        span = compact(self.uppers[0] - self.lowers[0]).constant
        return None if span is None else max(0, -(-span // self.step))


def row_of(
    op: Operation,
    befores: Sequence[Value] = (),
    afters: Sequence[Value] = (),
    known: Mapping[Value, Index] | None = None,
) -> Row:
    """An ``affine.for`` as a row; ``known``: values of outer variables."""
    loop = affine.For(op)
    lowers, uppers = bounds_of(loop)
    return Row(
        loop.iv,
        tuple(substituted(index, known or {}) for index in lowers),
        tuple(substituted(index, known or {}) for index in uppers),
        loop.step,
        inner_operations(op),
        tuple(befores),
        tuple(afters),
    )


@dataclass(frozen=True, slots=True)
class RowDistribution:
    """Distribution of rows: ``width`` neighbours to a member at a time."""

    team: LaneGroup
    definitions: Mapping[Value, Operation] = field(
        default_factory=dict[Value, Operation]
    )
    width: int = 1
    kept: KeptElements = field(default_factory=KeptElements)
    together: int = 1
    """Elements of a member whose loads are in flight together, at least ``width``."""

    @property
    def lanes(self) -> int:
        """A member's partial totals of each carried total."""
        return self.width

    @property
    def takes_neighbours(self) -> bool:
        """Whether a member's iterations are not merely strided by ``size``."""
        return self.width > 1 or self.together > 1 or self.kept.is_on

    def run(
        self, b: Builder, row: Row, totals: Totals, outer: Mapping[Value, Index]
    ) -> Totals:
        """The member's iterations; totals are those of each of ``width`` lanes.

        ``outer``: values of the enclosing loops' variables.
        """
        if self.kept.is_on:
            return self._straight(b, row, totals, outer)
        first, distance = self.team.number * self.width, self.team.size * self.width
        chunks, trips = self.together // self.width, row.trips or 0
        whole = trips // (chunks * distance) * chunks * distance if chunks > 1 else 0
        starts = [lower + first * row.step for lower in row.lowers]

        def several(i: Builder, iv: Value, values: Totals) -> Totals:
            parts: list[list[Operation]] = []
            for number in range(chunks):
                part = Builder(i.location)
                parts.append(part.operations)
                at = Index.of(iv) + number * distance * row.step
                values = self.chunk(part, row, at, values, outer, number)
            i.operations += with_loads_hoisted(parts, self.kept.may_change)
            return values

        if whole:
            step = chunks * distance * row.step
            ends = [lower + whole * row.step for lower in row.lowers]
            totals = b.carried_loop(
                starts, ends, totals, several, step=step, hint=row.iv.name
            )
            starts = [start + whole * row.step for start in starts]
        slot = chunks if whole else 0
        return b.carried_loop(
            starts,
            row.uppers,
            totals,
            lambda i, iv, values: self.chunk(i, row, Index.of(iv), values, outer, slot),
            step=distance * row.step,
            hint=row.iv.name,
        )

    def _straight(
        self, b: Builder, row: Row, totals: Totals, outer: Mapping[Value, Index]
    ) -> Totals:
        trips, (lower,), (upper,) = row.trips or 0, row.lowers, row.uppers
        whole, parts = self.team.size * self.width, list[list[Operation]]()
        for slot in range(-(-trips // whole)):
            part = Builder(b.location)
            parts.append(part.operations)
            position = (self.team.number + slot * self.team.size) * self.width
            at = lower + position * row.step
            if (slot + 1) * whole <= trips:
                totals = self.chunk(part, row, at, totals, outer, slot)
                continue
            last = compact(upper - self.width)
            inside = Index.of(part.smallest([at, last], row.iv.name))
            limits = (compact(last - at),)
            new = self.chunk(part, row, inside, totals, outer, slot, limits)
            totals = self._chosen(part, at, last, new, totals)
        b.operations += with_loads_hoisted(parts, self.kept.may_change)
        return totals

    def _chosen(
        self, b: Builder, at: Index, last: Index, new: Totals, old: Totals
    ) -> Totals:
        """The new totals where the iterations exist."""
        if not new:
            return new
        compared = arith.compare("arith.cmpi", "sle", b.index(at), b.index(last))
        b.operations.append(compared)
        return [
            b.add("arith.select", (compared.result, one, other), [one.type])[0]
            for one, other in zip(new, old, strict=True)
        ]

    def chunk(
        self,
        b: Builder,
        row: Row,
        first: Index,
        totals: Totals,
        outer: Mapping[Value, Index],
        slot: int = 0,
        limits: tuple[Index, ...] = (),
    ) -> Totals:
        """The iterations of all lanes from ``first`` on."""
        count = len(row.befores)
        around = {iv: b.index(place, iv.name) for iv, place in outer.items()}
        lanes = self.places(b, row, first, around)
        for number, lane in enumerate(lanes):
            own = totals[number * count : (number + 1) * count]
            lane.update(zip(row.befores, own, strict=True))
        along = self.varying(row)
        span = row.lowers, row.uppers, row.step
        given = along, self.definitions, self.kept, slot, limits, span
        iterations = Interleaved(*given)
        iterations.emit(b, row.body, lanes)
        return [lane.get(v, v) for lane in lanes for v in row.afters]

    def varying(self, row: Row) -> Value:
        """The loop variable that differs between lanes."""
        return row.iv

    def places(self, b: Builder, row: Row, first: Index, around: Lane) -> list[Lane]:
        """Values of the loops' variables in each lane: ``width`` neighbours."""
        at = (first + lane * row.step for lane in range(self.width))
        return [{**around, row.iv: b.index(place, row.iv.name)} for place in at]
