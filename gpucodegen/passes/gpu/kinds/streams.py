"""Elementwise nests: every thread takes groups of neighbours, 16 bytes an access.

The loop along which most bytes lie side by side runs along x.  Its groups begin at
multiples of their width from a place where accesses are aligned, which may be before
its first iteration; blocks at its ends that are not full go element by element.  The
other loops are rows: the next one along y, those around it along z, several of them in
one number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.gpu_launch import KernelBody, thread_index
from gpucodegen.passes.gpu.groups import Grouped, Moved
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.kinds.thread_mapping import parallel_chain, trip_count
from gpucodegen.passes.gpu.mapped_loops import LOOPS, MappedLoop
from gpucodegen.passes.gpu.vector_width import Address, Definitions, address_of, widths
from gpucodegen.tiling.machine.gpu.streams import Stream, StreamPlan, plan_streams

OPEN = 1 << 20
"""Iterations that a loop is planned for if their number is not known."""


def streams_of(nest: Nest) -> list[Operation] | None:
    """The kernel of an elementwise nest that has neighbours in memory."""
    chain = parallel_chain(nest.op, nest.analysis)
    body = inner_operations(chain[-1].operation) if chain else ()
    if any(op.name in LOOPS for outer in body for op in outer.walk()):
        return None
    found = [
        _Sweep(n, tuple(chain), body, nest.mapper.definitions)
        for n in range(len(chain))
    ]
    best = max(found, key=lambda sweep: (sweep.contiguous, sweep.number), default=None)
    if best is None or not best.contiguous or not best.is_mapped:
        return None
    return nest.mapper.launch(best.kernel())


@dataclass(frozen=True)
class _Sweep:
    """A nest whose loop ``number`` runs along x."""

    number: int
    chain: tuple[MappedLoop, ...]
    body: Sequence[Operation]
    definitions: Definitions

    @property
    def loop(self) -> MappedLoop:
        return self.chain[self.number]

    @property
    def rows(self) -> list[MappedLoop]:
        """The other loops, the innermost first."""
        return [loop for loop in reversed(self.chain) if loop is not self.loop]

    @property
    def is_mapped(self) -> bool:
        """Whether the loops beyond two rows count as one number."""
        return all(trip_count(loop).constant is not None for loop in self.rows[1:]) or (
            len(self.rows) <= 2
        )

    @cached_property
    def addresses(self) -> Mapping[Operation, Address | None]:
        """Where the accesses of the body are, as far as that is known."""
        return {
            op: address_of(op, self.definitions)
            for op in self.body
            if op.name in ("affine.load", "affine.store")
        }

    def distance(self, op: Operation) -> int | None:
        """Elements between what two iterations in a row access."""
        address = self.addresses[op]
        factor = None if address is None else address.factor(self.loop.iv)
        return None if factor is None else factor * self.loop.step

    @cached_property
    def contiguous(self) -> int:
        """Bytes of an iteration that lie beside those of the next one."""
        return sum(
            address.element
            for op, address in self.addresses.items()
            if address is not None and self.distance(op) == 1
        )

    # -- alignment ---------------------------------------------------------------------

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
        """Where groups begin, counted from the first iteration: 0 or before it.

        As many bytes as can be are at aligned addresses.
        """
        if self.loop.lower.constant is None:
            return 0
        return max(
            range(0, -width, -1),
            key=lambda at: sum(
                min(self.alignment(op, at, width), width * address.element)
                for op, address in self.addresses.items()
                if address is not None
            ),
        )

    # -- plan --------------------------------------------------------------------------

    def stream(self, op: Operation) -> Stream:
        """An access as the plan sees it."""
        address = self.addresses[op]
        element = address.element if address else 1
        at_once = {
            width: min(self.alignment(op, self.first(width), width) // element, width)
            for width in widths(1)
        }
        movable = ((w, n) for w, n in at_once.items() if n > 1 and w * element <= 64)
        return Stream(element, bool(op.results), self.distance(op), tuple(movable))

    def plan(self) -> StreamPlan:
        """Of least estimated cost."""
        counts = [trip_count(loop).constant for loop in self.rows]
        rows = prod(OPEN if count is None else count for count in counts)
        row = trip_count(self.loop).constant
        operations = sum(1 for op in self.body for _ in op.walk())
        streams = [self.stream(op) for op in self.addresses]
        return plan_streams(streams, (rows, OPEN if row is None else row), operations)

    # -- kernel ------------------------------------------------------------------------

    def kernel(self) -> KernelBody:
        """The kernel of the plan."""
        plan, loop = self.plan(), self.loop
        first, b = self.first(plan.width), Builder(loop.operation.location)
        count = trip_count(loop) - first
        columns, blocks = (
            thread_index(b, "thread_id", "x", "tx"),
            count.ceildiv(plan.row),
        )
        block = thread_index(b, "block_id", "x", "bx")
        at = Index.of(block) * plan.row + Index.of(columns) * plan.width + first
        places, guards, grid = self._rows(b, plan)
        starts = [
            b.index(
                loop.lower + (at + n * plan.columns * plan.width) * loop.step,
                loop.iv.name,
            )
            for n in range(plan.groups)
        ]
        tail = Index.of(starts[-1]) + (plan.width - 1) * loop.step
        whole = count.constant is not None and count.constant % plan.row == 0
        ends = [upper - 1 - tail for upper in loop.uppers[whole and not first :]]
        ends += [Index.of(starts[0]) - loop.lower] if first else []

        def inside(i: Builder) -> None:
            i.guard(
                ends,
                lambda full: self._grouped(plan, first).build(full, starts, places),
                lambda ragged: self._singly(ragged, plan, starts[0], places),
            )

        b.guard(guards, inside)
        return KernelBody(
            tuple(b.operations), (blocks, *grid), (plan.columns, plan.rows, 1)
        )

    def _grouped(self, plan: StreamPlan, first: int) -> Grouped:
        moved: dict[Operation, Moved] = {}
        for op in self.addresses:
            distance = self.distance(op)
            if distance == 1 and plan.width > 1:
                moved[op] = Moved(self.alignment(op, first, plan.width))
            elif distance == 0 and op.results:
                moved[op] = Moved(is_shared=True)
        return Grouped(self.loop.iv, self.body, plan.width, moved)

    def _singly(
        self, b: Builder, plan: StreamPlan, start: Value, places: Mapping[Value, Value]
    ) -> None:
        """The thread's iterations that exist, one after the other."""
        loop = self.loop

        def group(outer: Builder, ahead: Value) -> None:
            def one(inner: Builder, lane: Value) -> None:
                number = Index.of(ahead) * (plan.columns * plan.width) + lane
                iv = inner.index(Index.of(start) + number * loop.step, loop.iv.name)
                known = {**places, loop.iv: iv}
                limits = [Index.of(iv) - loop.lower, *(u - 1 - iv for u in loop.uppers)]
                inner.guard(
                    limits,
                    lambda i: i.operations.extend(
                        substitute_values(op, known) for op in self.body
                    ),
                )

            outer.loop(0, plan.width, one, hint="lane")

        b.loop(0, plan.groups, group, hint="group")

    def _rows(
        self, b: Builder, plan: StreamPlan
    ) -> tuple[dict[Value, Value], list[Index], tuple[Index, Index]]:
        """What the variables of rows are, when a row exists, and the grid's y and z."""
        near, far = self.rows[:1], self.rows[1:]
        places: dict[Value, Value] = {}
        guards: list[Index] = []
        down, deep = Index.of(1), Index.of(1)
        for loop in near:
            thread = thread_index(b, "thread_id", "y", "ty")
            block = thread_index(b, "block_id", "y", "by")
            count = trip_count(loop)
            down = count.ceildiv(plan.rows)
            self._row(b, loop, Index.of(block) * plan.rows + thread, places)
            full = count.constant is not None and count.constant % plan.rows == 0
            guards += [u - 1 - places[loop.iv] for u in loop.uppers[full:]]
        for loop in far:
            count = trip_count(loop)
            if loop is far[0]:
                number = Index.of(thread_index(b, "block_id", "z", "bz"))
            rest = number // deep
            alone = loop is far[-1]
            self._row(b, loop, rest if alone else rest % (count.constant or 1), places)
            guards += [u - 1 - places[loop.iv] for u in loop.uppers[1:]]
            deep = deep * count
        return places, guards, (down, deep)

    def _row(
        self, b: Builder, loop: MappedLoop, position: Index, places: dict[Value, Value]
    ) -> None:
        iv = b.index(loop.lower + position * loop.step, loop.iv.name)
        places[loop.iv] = iv
