"""The rules of `races` on the arrays of one block, by executing its program once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.model.isl_evaluation import Integers, UndecidedError, evaluated
from gpucodegen.tiling.model.scop import Barrier, Commit, GroupWait
from gpucodegen.tiling.proof.block_program import (
    Branch,
    Key,
    Site,
    Step,
    Table,
    WalkedLoop,
    are_warps,
    cell_count,
    table_of,
)
from gpucodegen.tiling.proof.cell_owners import Owners
from gpucodegen.tiling.proof.kernel_accesses import (
    Budget,
    KernelAccesses,
    Mask,
    are_updates,
    held,
)

MOST_STEPS = 50_000
"""Loop iterations, accesses and barriers of one kernel."""

Event: TypeAlias = tuple[int, Key, int]
"""An access that threads execute: numbers of its site and of the threads' mask.

The key has the values of all that its cells depend on but threads and inner loops.
"""


@dataclass(slots=True)
class _CommitGroup:
    """Copies that all threads committed together; arrived: they waited for it."""

    copies: tuple[Event, ...]
    has_arrived: bool = False


@dataclass(slots=True)
class BlockExecution:
    """The execution of one block, all threads at once, with checks at each barrier.

    Loops that hold barriers have bounds that do not depend on the thread, so an
    execution x has one place S(x) for all threads.  A phase has the accesses between
    two neighbouring barriers of the block.  Two executions x, y of different threads
    are ordered by a barrier unless

        both are of one phase, and
        their warps differ, or no barrier of their warp is between them.

    So the rule ``threads`` holds if in each phase (a) no cell is written by one warp
    and accessed by another and (b) among the accesses since a barrier of the warp, no
    cell is written by one thread and accessed by another.  Without barriers of warps,
    (b) implies (a).

    Copies belong to the commit groups of all threads alike.  A copy has arrived behind
    a wait that leaves fewer groups open than were committed since; other threads see
    it behind the next barrier of the block.  The rule ``transfers`` and those on copies
    of one group hold if, between two fences,

        no cell of a copy that has not arrived is accessed or copied again,
        a cell of one that has arrived is only accessed or copied by its own thread,

    and ``unfinished`` if at the end all copies have arrived.  ``divergence`` holds as
    barriers of the block, commits and waits are reached by all threads, those of warps
    by whole warps.

    What an event accesses depends on its key alone, so each set of events is checked
    once, and the cells of an event are enumerated once.
    """

    kernel: KernelAccesses
    sites: Sequence[Site]
    steps: int = 0
    budget: Budget = field(default_factory=Budget)
    variables: dict[str, Integers] = field(init=False)
    masks: list[Mask] = field(default_factory=list[Mask])
    mask_numbers: dict[bytes, int] = field(default_factory=dict[bytes, int])
    tables: dict[object, Table] = field(default_factory=dict[object, Table])
    checked: set[object] = field(default_factory=set[object])
    phase: set[Event] = field(default_factory=set[Event])
    """The accesses since the last barrier of the block."""
    recent: set[Event] = field(default_factory=set[Event])
    """Those that no barrier of the warp is behind."""
    segment: set[Event] = field(default_factory=set[Event])
    """The accesses since the last fence of any kind."""
    uncommitted: list[Event] = field(default_factory=list[Event])
    groups: list[_CommitGroup] = field(default_factory=list[_CommitGroup])

    def __post_init__(self) -> None:
        self.variables = self.kernel.indices

    def run(self, program: Sequence[Step], block: Mapping[str, int]) -> None:
        """Raise UndecidedError unless a block with these variables obeys the rules."""
        self.uncommitted, self.groups = [], []
        self._execute(program, block, np.ones(self.kernel.count, bool))
        self._end_phase()
        if self.uncommitted or any(group.copies for group in self._open()):
            raise UndecidedError("a copy that does not arrive")

    def _open(self) -> list[_CommitGroup]:
        return [group for group in self.groups if not group.has_arrived]

    def _execute(
        self, program: Sequence[Step], values: Mapping[str, int], mask: Mask
    ) -> None:
        for step in program:
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise UndecidedError("too many steps")
            match step:
                case Site():
                    self._access(step, values, mask)
                case WalkedLoop(range=each, body=body):
                    for value in each.values(values).tolist():
                        self.steps += 1
                        self._execute(body, {**values, each.name: value}, mask)
                case Branch(constraints=constraints):
                    known = {**values, **self.variables}
                    taken = held(constraints, known, mask.shape)
                    for body, some in ((step.body, taken), (step.orelse, ~taken)):
                        if (mask & some).any():
                            self._execute(body, values, mask & some)
                case Barrier(lanes=None):
                    self._require(mask.all())
                    if "shared" in step.orders:
                        self._end_phase()
                case Barrier():
                    self._synchronize_warps(step, mask)
                case Commit() | GroupWait():
                    self._require(mask.all())
                    self._end_segment()
                    self._count_groups(step)

    def _require(self, holds: bool | np.bool_) -> None:
        if not holds:
            raise UndecidedError("threads that do not reach a barrier")

    def _count_groups(self, step: Commit | GroupWait) -> None:
        if isinstance(step, Commit):
            self.groups.append(_CommitGroup(tuple(self.uncommitted)))
            self.uncommitted = []
        else:
            for group in self.groups[: max(0, len(self.groups) - step.pending)]:
                group.has_arrived = True

    def _access(self, site: Site, values: Mapping[str, int], mask: Mask) -> None:
        key = tuple(int(evaluated(code, values)) for code in site.parts.values())
        event = site.number, key, self._mask_number(mask)
        if not self._table(event)[0].size:
            return
        for events in (self.phase, self.recent, self.segment):
            events.add(event)
        if site.is_copy:
            self.uncommitted.append(event)

    def _mask_number(self, mask: Mask) -> int:
        number = self.mask_numbers.setdefault(mask.tobytes(), len(self.masks))
        if number == len(self.masks):
            self.masks.append(mask)
        return number

    def _synchronize_warps(self, barrier: Barrier, mask: Mask) -> None:
        """A barrier of the warps in the mask."""
        self._require(are_warps(mask))
        if "shared" in barrier.orders:
            self._end_segment()
            self._check_threads(self.recent, 1)
            others = {
                (site, key, self._mask_number(self.masks[number] & ~mask))
                for site, key, number in self.recent
            }
            self.recent = {e for e in others if self.masks[e[2]].any()}

    def _end_phase(self) -> None:
        """A barrier of the block."""
        self._end_segment()
        self._check_threads(self.recent, 1)
        if self.recent != self.phase:
            self._check_threads(self.phase, WARP)
        self.phase, self.recent, self.groups = set(), set(), self._open()

    def _check_threads(self, events: set[Event], size: int) -> None:
        """No cell is written in one set of ``size`` threads and used in another."""
        if not self._is_new((size, frozenset(events))):
            return
        for _, cells, same in self._by_array(events):
            uses = [self.sites[event[0]].use for event in same]
            if not are_updates(uses) and any(use.access.writes for use in uses):
                tables = [(u, *self._table(e)) for u, e in zip(uses, same, strict=True)]
                self.budget.spend(cells + sum(threads.size for *_, threads in tables))
                written = (
                    (where, threads // size)
                    for use, where, threads in tables
                    if use.access.writes
                )
                owners = Owners.of(cells, written)
                for use, where, threads in tables:
                    if not use.access.writes:
                        owners.check(where, threads // size)

    def _is_new(self, question: object) -> bool:
        is_new = question not in self.checked
        self.checked.add(question)
        return is_new

    def _by_array(
        self, events: Iterable[Event]
    ) -> Iterator[tuple[str, int, list[Event]]]:
        """The events of each array, with a bound of the numbers of its cells."""
        found = dict[str, list[Event]]()
        for event in events:
            found.setdefault(self.sites[event[0]].use.access.array, []).append(event)
        for array, same in found.items():
            yield array, cell_count(self.sites[same[0][0]].extents), same

    def _end_segment(self) -> None:
        """A fence: checks the accesses before it against copies under way."""
        segment, self.segment = self.segment, set()
        under_way = [*self.uncommitted, *(c for g in self._open() for c in g.copies)]
        arrived = [c for g in self.groups if g.has_arrived for c in g.copies]
        if not under_way and not arrived:
            return
        copies = tuple(sorted(under_way)), tuple(sorted(arrived))
        if not self._is_new((frozenset(segment), copies)):
            return
        started = {array: same for array, _, same in self._by_array(under_way)}
        complete = {array: same for array, _, same in self._by_array(arrived)}
        for array, cells, same in self._by_array(segment):
            opened, ended = started.get(array, []), complete.get(array, [])
            self._check_copies(cells, same, opened, ended)

    def _check_copies(
        self,
        cells: int,
        segment: Sequence[Event],
        under_way: Sequence[Event],
        arrived: Sequence[Event],
    ) -> None:
        self.budget.spend(cells * (2 + len(under_way)))
        owners = Owners.of(cells, map(self._table, arrived))
        copied = np.zeros(cells, np.int64)
        for event in under_way:
            where, threads = self._table(event)
            owners.check(where, threads)
            copied += np.bincount(where, minlength=cells)
        if (copied > 1).any():
            raise UndecidedError("two copies of one cell")
        for event in segment:
            if not self.sites[event[0]].is_copy:
                where, threads = self._table(event)
                self.budget.spend(threads.size)
                owners.check(where, threads)
                if copied[where].any():
                    raise UndecidedError("a cell is used while it is copied")

    def _table(self, event: Event) -> Table:
        if event not in self.tables:
            site, key, number = event
            if event[:2] not in self.tables:
                table = table_of(self.kernel, self.sites[site], key)
                self.budget.spend(table[0].size)
                self.tables[event[:2]] = table
            cells, threads = self.tables[event[:2]]
            kept = self.masks[number][threads]
            is_whole = bool(kept.all())
            self.tables[event] = (
                (cells, threads) if is_whole else (cells[kept], threads[kept])
            )
        return self.tables[event]
