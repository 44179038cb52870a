"""Elementwise kernels: each thread processes groups of neighbours by 16-byte accesses.

The loop with the most contiguous bytes runs along x, the next one along y, and all
outer ones, flattened, along z.  Partial blocks at the ends of x go element by element.
Groups begin at multiples of their width from an aligned element, which may lie before
the first iteration.

Each operation of the body is repeated for all iterations of a group before the next
one, so later loads do not wait for earlier ones:

    x = A[i]            a = A[i .. i + 1]           (one access)
    B[i] = f(x)   =>    f0 = f(a[0]); f1 = f(a[1])
                        B[i .. i + 1] = f0, f1

This is legal because iterations of a parallel loop are independent.  Accesses inside
operations with regions stay scalar.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.operation import Operation, Value, clone, substitute_values
from gpucodegen.ir.types import VectorType, element_type
from gpucodegen.passes.analysis.lifting.aliases import Aliases
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, from_map, replace_values
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.nest_mapping import (
    LOOPS,
    MappedLoop,
    Nest,
    Rows,
    parallel_chain,
    ranges_of,
    trip_count,
)
from gpucodegen.passes.gpu.speculative_loads import with_speculative_loads
from gpucodegen.passes.loops.coalesce import flat_nest
from gpucodegen.passes.outlining.gpu_launch import KernelBody, thread_index
from gpucodegen.passes.outlining.vector_width import (
    Address,
    Definitions,
    address_of,
    widths,
)
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.streams import Stream, StreamPlan, plan_streams

Copy = dict[Value, Value]
"""The values of the body in one iteration."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Whether the iterations of a group share one access, or make one vector access.

    ``alignment``: bytes that divide the address of the first one.  ``is_shared``: all
    of them access one element.
    """

    alignment: int = 0
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class Grouped:
    """A body for groups of ``width`` consecutive values of the variable ``along``.

    ``moved``: the accesses that a group makes together.
    """

    along: Value
    body: Sequence[Operation]
    width: int
    moved: Mapping[Operation, Moved]

    def build(self, b: Builder, groups: Sequence[Mapping[Value, Value]]) -> None:
        """All groups, interleaved; each gives the variables of its first iteration."""
        starts = dict.fromkeys(places[self.along] for places in groups)
        lanes = {start: self._lanes(b, start) for start in starts}
        each = [
            [{**places, self.along: iv} for iv in lanes[places[self.along]]]
            for places in groups
        ]
        for op in self.body:
            for copies in each:
                self._grouped(b, op, copies)

    def _is_counted(self) -> bool:
        """Whether an iteration uses the variable outside of group accesses."""
        alone = (op for op in self.body if op not in self.moved)
        return any(self.along in inner.used for op in alone for inner in op.walk())

    def _lanes(self, b: Builder, start: Value) -> list[Value]:
        """The variable in each iteration of a group, if it is needed there."""
        others = range(1, self.width)
        if not self._is_counted():
            return [start] * self.width
        name = self.along.name
        return [start, *(b.index(Index.of(start) + n, name) for n in others)]

    def _grouped(self, b: Builder, op: Operation, copies: Sequence[Copy]) -> None:
        moved = self.moved.get(op)
        if moved is None:
            for copy in copies:
                b.operations.append(clone(op, copy))
        elif moved.is_shared:
            first, *others = copies
            b.operations.append(clone(op, first))
            for copy in others:
                copy[op.result] = first[op.result]
        elif op.results:
            self._load(b, op, copies, moved)
        else:
            self._store(b, op, copies, moved)

    def _load(
        self, b: Builder, op: Operation, copies: Sequence[Copy], moved: Moved
    ) -> None:
        access = affine.Load(op)
        ty = VectorType((self.width,), element_type(op.result.type))
        where = _indices(access.map, access.map_operands, copies[0])
        whole = b.vector_load(
            access.memref, where, ty, op.result.name, alignment=moved.alignment
        )
        is_only_stored = self._is_only_stored(op.result)
        for n, copy in enumerate(copies):
            copy[op.result] = whole if is_only_stored else b.element(whole, n)

    def _is_only_stored(self, value: Value) -> bool:
        """Whether groups store the elements of a group, and nothing else uses them."""
        return all(
            op in self.moved and not op.results and value not in op.operands[1:]
            for op in self.body
            if any(value in inner.used for inner in op.walk())
        )

    def _store(
        self, b: Builder, op: Operation, copies: Sequence[Copy], moved: Moved
    ) -> None:
        access = affine.Store(op)
        where = _indices(access.map, access.map_operands, copies[0])
        values = [copy.get(access.value, access.value) for copy in copies]
        is_whole = values[0].type != access.value.type
        whole = values[0] if is_whole else b.from_elements(values)
        b.vector_store(whole, access.memref, where, alignment=moved.alignment)


def _indices(map_: AffineMap, operands: Sequence[Value], copy: Copy) -> list[Index]:
    given = from_map(map_, operands)
    known = {value: Index.of(copy.get(value, value)) for value in operands}
    return [replace_values(index, known) for index in given]


DEEPEST = 8
"""Most loops of a nest that are considered."""
OPEN = 1 << 20
"""Assumed number of iterations where it is unknown."""


def sweeps(
    op: Operation, analysis: NestAnalysis, definitions: Definitions, aliases: Aliases
) -> Iterator[Sweep]:
    """The nest with each of its loops along x; none if its body is not straight."""
    chain = parallel_chain(op, analysis, DEEPEST)
    body = inner_operations(chain[-1].operation) if chain else ()
    if not chain or any(o.name in LOOPS for outer in body for o in outer.walk()):
        return
    views, loops, inside = _flattened(chain, body, aliases)
    inside = with_speculative_loads(inside, ranges_of(loops), aliases)
    known = {**definitions, **{view.result: view for view in views}}
    for number in range(len(loops)):
        yield Sweep(number, loops, inside, known, views)


def _flattened(
    chain: Sequence[MappedLoop], body: Sequence[Operation], aliases: Aliases
) -> tuple[tuple[Operation, ...], tuple[MappedLoop, ...], Sequence[Operation]]:
    """Collapsed views of the buffers, the fewer loops over them, and their body.

    The loops are parallel, so their iterations may come in any order.
    """
    flat = flat_nest(list(dict.fromkeys(loop.operation for loop in chain)))
    if flat is None or flat.overlaps(aliases.may_overlap):
        return (), tuple(chain), body
    flat = flat.coalesced
    *views, nest = flat.operations()
    loops = tuple(
        MappedLoop(axis.iv, axis.at(0), axis.step, (axis.at(axis.extent),), nest)
        for axis in flat.axes
    )
    while any(op.name in LOOPS for op in inner_operations(nest)):
        (nest,) = inner_operations(nest)
    return tuple(views), loops, inner_operations(nest)


def iterations(loop: MappedLoop) -> int:
    """The number of iterations of a loop, or an estimate."""
    count = trip_count(loop).constant
    return OPEN if count is None else count


@dataclass(frozen=True)
class Sweep:
    """A nest whose loop ``number`` runs along x.

    ``views``: the views of its buffers that the body accesses.
    """

    number: int
    chain: tuple[MappedLoop, ...]
    body: Sequence[Operation]
    definitions: Definitions
    views: Sequence[Operation] = ()

    @property
    def loop(self) -> MappedLoop:
        return self.chain[self.number]

    @property
    def rows(self) -> list[MappedLoop]:
        """The other loops, the innermost first."""
        return [loop for loop in reversed(self.chain) if loop is not self.loop]

    @cached_property
    def addresses(self) -> Mapping[Operation, Address | None]:
        """The addresses of the body's accesses, where known."""
        return {
            op: address_of(op, self.definitions)
            for op in self.body
            if op.name in ("affine.load", "affine.store")
        }

    def distance(self, op: Operation) -> int | None:
        """Elements between the accesses of consecutive iterations."""
        address = self.addresses[op]
        factor = None if address is None else address.factor(self.loop.iv)
        return None if factor is None else factor * self.loop.step

    @cached_property
    def contiguous(self) -> int:
        """Bytes of arrays that are contiguous from one iteration to the next one."""
        return sum(
            address.element * self._elements(address)
            for op, address in self.addresses.items()
            if address is not None and self.distance(op) == 1
        )

    def _elements(self, address: Address) -> int:
        """Elements that an access touches: iterations of the loops that move it."""
        moving = (loop for loop in self.chain if address.factor(loop.iv) != 0)
        return prod(map(iterations, moving))

    def alignment(self, op: Operation, first: int, width: int) -> int:
        """Bytes that divide an address where groups of a width begin at ``first``."""
        address = self.addresses[op]
        if address is None or self.distance(op) != 1:
            return 0
        places = {
            loop.iv: loop.lower + Index.of(loop.iv) * loop.step for loop in self.rows
        }
        here = self.loop.lower + Index.of(self.loop.iv) * width + first
        return address.alignment({**places, self.loop.iv: here})

    def first(self, width: int) -> int:
        """The start of groups, counted from the first iteration: 0 or before it.

        It maximises the bytes at aligned addresses.
        """
        if self.loop.lower.constant is None:
            return 0
        if width not in self._firsts:
            self._firsts[width] = self._best_first(width)
        return self._firsts[width]

    @cached_property
    def _firsts(self) -> dict[int, int]:
        """Cache of `first`."""
        return {}

    def _best_first(self, width: int) -> int:
        return max(
            range(0, -width, -1),
            key=lambda at: sum(
                min(self.alignment(op, at, width), width * address.element)
                for op, address in self.addresses.items()
                if address is not None
            ),
        )

    def stream(self, op: Operation) -> Stream:
        """The planner's description of the nest."""
        address = self.addresses[op]
        element = address.element if address else 1
        at_once = {
            width: min(self.alignment(op, self.first(width), width) // element, width)
            for width in widths(1)
        }
        movable = ((w, n) for w, n in at_once.items() if n > 1 and w * element <= 64)
        return Stream(element, bool(op.results), self.distance(op), tuple(movable))

    @property
    def operations(self) -> int:
        """Operations of an iteration."""
        return sum(1 for op in self.body for _ in op.walk())


def moved(sweep: Sweep, width: int) -> dict[Operation, Moved]:
    """The accesses that a group makes as one, or once for all iterations."""
    first = sweep.first(width)
    distances = {op: sweep.distance(op) for op in sweep.addresses}
    return {
        op: Moved(sweep.alignment(op, first, width), is_shared=distance == 0)
        for op, distance in distances.items()
        if (distance == 1 and width > 1) or (distance == 0 and op.results)
    }


def map_elementwise(nest: Nest) -> list[Operation] | None:
    """The kernel of an elementwise nest with contiguous accesses, or None."""
    found = [
        sweep
        for sweep in sweeps(
            nest.op,
            nest.analysis,
            nest.mapper.definitions,
            nest.mapper.surroundings.aliases,
        )
        if sweep.contiguous
    ]
    found = [sweep for sweep in found if Rows(sweep.rows[1:]).is_counted]
    if not found:
        return None
    best = max(found, key=lambda sweep: (sweep.contiguous, sweep.number))
    return nest.mapper.launch(_kernel(best, planned(best, nest)))


def planned(sweep: Sweep, nest: Nest) -> StreamPlan:
    rows = prod(map(iterations, sweep.rows))
    streams = [sweep.stream(op) for op in sweep.addresses]
    extents = rows, iterations(sweep.loop)
    device, choose = nest.mapper.device, nest.mapper.plans.of("stream")
    work = sweep.operations
    return plan_streams(streams, extents, work, device=device, choose=choose)


def _kernel(sweep: Sweep, plan: StreamPlan) -> KernelBody:
    loop, first = sweep.loop, sweep.first(plan.width)
    b = Builder(loop.operation.location)
    count = trip_count(loop) - first
    thread = thread_index(b, "thread_id", "x", "tx")
    block = thread_index(b, "block_id", "x", "bx")
    at = Index.of(block) * plan.row + Index.of(thread) * plan.width + first
    places: dict[Value, Value] = {}
    guards, grid = _rows(b, sweep, plan, places)
    starts = [
        b.index(
            loop.lower + (at + group * plan.columns * plan.width) * loop.step,
            loop.iv.name,
        )
        for group in range(plan.groups)
    ]
    last = Index.of(starts[-1]) + (plan.width - 1) * loop.step
    fills = count.constant is not None and count.constant % plan.row == 0
    ends = [upper - 1 - last for upper in loop.uppers[fills and not first :]]
    ends += [Index.of(starts[0]) - loop.lower] if first else []
    grouped = Grouped(loop.iv, sweep.body, plan.width, moved(sweep, plan.width))
    singly = _Singly(sweep, plan, starts[0], places)
    b.guard(
        guards,
        lambda i: i.guard(
            ends,
            lambda full: grouped.build(
                full, [{**places, loop.iv: start} for start in starts]
            ),
            singly.build,
        ),
    )
    blocks = count.ceildiv(plan.row)
    size = plan.columns, plan.rows, 1
    return KernelBody((*sweep.views, *b.operations), (blocks, *grid), size)


def _rows(
    b: Builder, sweep: Sweep, plan: StreamPlan, places: dict[Value, Value]
) -> tuple[list[Index], tuple[Index, Index]]:
    """The row variables; when a row exists; the grid's extents along y and z."""
    guards: list[Index] = []
    near, far = sweep.rows[:1], sweep.rows[1:]
    down = Index.of(1)
    for loop in near:
        number = Index.of(thread_index(b, "block_id", "y", "by")) * plan.rows
        if plan.rows > 1:
            number += thread_index(b, "thread_id", "y", "ty")
        places[loop.iv] = b.index(loop.lower + number * loop.step, loop.iv.name)
        count = trip_count(loop)
        down = count.ceildiv(plan.rows)
        fills = count.constant is not None and count.constant % plan.rows == 0
        guards += [upper - 1 - places[loop.iv] for upper in loop.uppers[fills:]]
    if far:
        number = Index.of(thread_index(b, "block_id", "z", "bz"))
        guards += Rows(far).place(b, number, places)
    return guards, (down, Rows(far).count)


@dataclass(frozen=True, slots=True)
class _Singly:
    """The existing iterations of a thread, one after the other."""

    sweep: Sweep
    plan: StreamPlan
    start: Value
    places: Mapping[Value, Value]

    def build(self, b: Builder) -> None:
        """Loops over the groups and their iterations."""
        b.loop(0, self.plan.groups, self._group, hint="group")

    def _group(self, b: Builder, group: Value) -> None:
        loop, plan = self.sweep.loop, self.plan

        def one(i: Builder, lane: Value) -> None:
            ahead = Index.of(group) * (plan.columns * plan.width) + lane
            iv = i.index(Index.of(self.start) + ahead * loop.step, loop.iv.name)
            places = {**self.places, loop.iv: iv}
            limits = [Index.of(iv) - loop.lower, *(u - 1 - iv for u in loop.uppers)]
            body = [substitute_values(op, places) for op in self.sweep.body]
            i.guard(limits, lambda inside: inside.operations.extend(body))

        b.loop(0, plan.width, one, hint="lane")
