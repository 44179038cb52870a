"""Elementwise nests: every thread takes groups of neighbours, 16 bytes an access.

The loop along which most bytes lie side by side runs along x.  Blocks at its ends that
are not full go element by element.  The next loop runs along y, those around it along
z, several of them in one number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.facts.mapped_loops import trip_count
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.launches.gpu_launch import KernelBody, thread_index
from gpucodegen.passes.gpu.sweeps.groups import Grouped
from gpucodegen.passes.gpu.sweeps.sweep import Rows, Sweep, iterations, moved, sweeps
from gpucodegen.tiling.machine.gpu.streams import StreamPlan, plan_streams


def streams_of(nest: Nest) -> list[Operation] | None:
    """The kernel of an elementwise nest that has neighbours in memory."""
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
    """The plan of least estimated cost."""
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
    """The variables of rows; when a row exists; the grid's extents along y and z."""
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
    """The iterations of a thread that exist, one after the other."""

    sweep: Sweep
    plan: StreamPlan
    start: Value
    places: Mapping[Value, Value]

    def build(self, b: Builder) -> None:
        """Loops over the groups and what is in them."""
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
