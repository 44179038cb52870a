"""All iterations of a sweep in pieces, of which each block walks several."""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.ir.operation import Value, clone
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.facts.mapped_loops import trip_count
from gpucodegen.passes.gpu.sweeps.groups import Grouped
from gpucodegen.passes.gpu.sweeps.sweep import Rows, Sweep, moved
from gpucodegen.tiling.machine.gpu.scatters import ScatterPlan


@dataclass(frozen=True, slots=True)
class Pieces:
    """Groups of neighbours along x, row after row; a piece has some for each thread."""

    sweep: Sweep
    plan: ScatterPlan

    def walk(self, b: Builder, thread: Value, block: Value, blocks: int) -> None:
        """The pieces of a block; groups that are not full go one by one."""
        plan, loop = self.plan, self.sweep.loop
        together = moved(self.sweep, plan.width)
        grouped = Grouped(loop.iv, self.sweep.body, plan.width, together)

        def piece(i: Builder, number: Value) -> None:
            start = Index.of(number) * (plan.threads * plan.groups) + thread
            each: list[dict[Value, Value]] = []
            limits: list[Index] = []
            for group in range(plan.groups):
                places, exist = self._places(i, start + group * plan.threads)
                each.append(places)
                limits += exist
            i.guard(
                limits,
                lambda full: grouped.build(full, each),
                lambda few: self._singly(few, start),
            )

        pieces = self._groups.ceildiv(plan.threads * plan.groups)
        b.loop(block, pieces, piece, step=blocks, hint="piece")

    @property
    def _first(self) -> int:
        """Where the groups of a row begin, which may be before it."""
        return self.sweep.first(self.plan.width)

    @property
    def _per_row(self) -> Index:
        """Groups of a row: a number, if there are several rows."""
        return (trip_count(self.sweep.loop) - self._first).ceildiv(self.plan.width)

    @property
    def _groups(self) -> Index:
        """Of all rows."""
        return Rows(self.sweep.rows).count * self._per_row

    def _places(
        self, b: Builder, group: Index, lane: Value | None = None
    ) -> tuple[dict[Value, Value], list[Index]]:
        """The variables of a group's first iteration, or of that of a lane.

        And what is >= 0 where all of the group, or this iteration, exist.
        """
        loop, rows = self.sweep.loop, self.sweep.rows
        places: dict[Value, Value] = {}
        limits, column = [self._groups - 1 - group], group
        if rows:
            number = Index.of(b.index(group // self._per_row, "row"))
            column = group - number * self._per_row
            limits += Rows(rows).place(b, number, places)
        ahead = column * self.plan.width + self._first
        ahead, others = (
            (ahead, self.plan.width - 1) if lane is None else (ahead + lane, 0)
        )
        iv = b.index(loop.lower + ahead * loop.step, loop.iv.name)
        places[loop.iv] = iv
        limits += [upper - 1 - others * loop.step - iv for upper in loop.uppers]
        limits += [Index.of(iv) - loop.lower] if self._first else []
        return places, limits

    def _singly(self, b: Builder, start: Index) -> None:
        """The iterations of a thread that exist, one after the other."""
        plan = self.plan

        def group(i: Builder, number: Value) -> None:
            at = start + Index.of(number) * plan.threads
            i.loop(0, plan.width, lambda j, lane: one(j, at, lane), hint="lane")

        def one(i: Builder, at: Index, lane: Value) -> None:
            places, limits = self._places(i, at, lane)
            i.guard(
                limits,
                lambda j: j.operations.extend(
                    clone(op, known)
                    for known in (dict(places),)
                    for op in self.sweep.body
                ),
            )

        b.loop(0, plan.groups, group, hint="group")
