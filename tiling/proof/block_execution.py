"""The rules of `races` on the arrays of one block, by executing its program once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import field
from itertools import groupby, product
from typing import TypeAlias

import numpy as np

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.model.isl_evaluation import Integers, UndecidedError
from gpucodegen.tiling.model.scop import Barrier, Commit, GroupWait, ProxyFence
from gpucodegen.tiling.proof.block_program import (
    Branch,
    Fork,
    OpenLoop,
    Site,
    Step,
    Table,
    WalkedLoop,
    are_warps,
    cell_count,
    is_open,
    table_of,
)
from gpucodegen.tiling.proof.cell_owners import Owners
from gpucodegen.tiling.proof.copies_in_flight import (
    CommitGroups,
    CommitState,
    CopyRules,
    Event,
)
from gpucodegen.tiling.proof.kernel_accesses import (
    Budget,
    KernelAccesses,
    Mask,
    are_updates,
    held,
)

MOST_STEPS = 50_000
"""Loop iterations, accesses and barriers of one kernel."""
MOST_STATES = 64
"""States behind a step; few are needed where copies are awaited after some trips."""

State: TypeAlias = tuple[
    tuple[frozenset[Event], frozenset[Event], frozenset[Event]],
    tuple[CommitState, ...],
    tuple[tuple[Event, int], ...],
]
"""What the steps to come depend on: accesses, copies and fences so far."""


def _runs(program: Sequence[Step]) -> Iterator[list[Step]]:
    """The steps in order, those that are not open in runs."""
    for opens, group in groupby(program, is_open):
        run = list(group)
        yield from ([step] for step in run) if opens else (run,)


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

    Copies belong to the commit groups of all threads that commit them alike, see
    `copies_in_flight`.  Their accesses count for the rule above, too, and between two
    fences those on copies are checked.  Where some copies are of the copy engine, let a
    plain access x to memory of the block conflict with such a copy y that starts later.
    The rule ``proxy`` holds if a proxy fence of the thread of x is behind x, and y is
    of this thread or a barrier of both is between the fence and y.  The rule
    ``unfinished`` holds if there is a wait for each group, and ``divergence`` as
    barriers of the block are reached by all threads, those of warps by whole warps.

    What an event accesses depends on its key alone, so each set of events is checked
    once, and the cells of an event are enumerated once.  ``memories``: those that a
    barrier has to order to count.

    An `OpenLoop` has any number of trips, a `Fork` takes any branch, and a parameter
    has any remainder where one counts.  All states of the above sets that these may
    lead to are followed: a superset of the executions that there are.  ``period``:
    variables of open loops matter by their remainders of it.
    """

    kernel: KernelAccesses
    sites: Sequence[Site]
    memories: frozenset[str] = frozenset({"shared"})
    period: int = 1
    steps: int = 0
    budget: Budget = field(default_factory=Budget)
    variables: dict[str, Integers] = field(init=False)
    has_engine: bool = field(init=False)
    """Whether copies of the copy engine access arrays of the walk."""
    masks: list[Mask] = field(default_factory=list[Mask])
    mask_numbers: dict[bytes, int] = field(default_factory=dict[bytes, int])
    tables: dict[object, Table] = field(default_factory=dict[object, Table])
    ranges: dict[Event, tuple[int, int]] = field(
        default_factory=dict[Event, tuple[int, int]]
    )
    checked: set[object] = field(default_factory=set[object])
    phase: set[Event] = field(default_factory=set[Event])
    """The accesses since the last barrier of the block."""
    recent: set[Event] = field(default_factory=set[Event])
    """Those that no barrier of the warp is behind."""
    segment: set[Event] = field(default_factory=set[Event])
    """The accesses since the last fence of any kind."""
    copies: dict[bool, CommitGroups] = field(default_factory=dict[bool, CommitGroups])
    """Those with ``cp.async``, and, by True, those of the copy engine."""
    unfenced: dict[Event, int] = field(default_factory=dict[Event, int])
    """Plain accesses, with the consecutive threads that a proxy fence serves."""

    def __post_init__(self) -> None:
        self.variables = self.kernel.indices
        self.has_engine = any(site.use.statement.bulk for site in self.sites)

    def run(self, program: Sequence[Step], block: Mapping[str, int]) -> None:
        """Raise UndecidedError unless a block with these variables obeys the rules."""
        self.copies = {
            is_bulk: CommitGroups(self.sites, self._table) for is_bulk in (False, True)
        }
        self.unfenced = {}
        everyone = np.ones(self.kernel.count, bool)
        for state in self._outcomes(program, block, everyone, (self._state(),)):
            self._restore(state)
            self._end_phase()
            if not all(groups.is_finished for groups in self.copies.values()):
                raise UndecidedError("a copy without a wait")

    def _state(self) -> State:
        copies = tuple(groups.state for groups in self.copies.values())
        events = frozenset(self.phase), frozenset(self.recent), frozenset(self.segment)
        return events, copies, tuple(sorted(self.unfenced.items()))

    def _restore(self, state: State) -> None:
        events, copies, unfenced = state
        self.phase, self.recent, self.segment = map(set, events)
        for groups, each in zip(self.copies.values(), copies, strict=True):
            groups.restore(each)
        self.unfenced = dict(unfenced)

    def _outcomes(
        self,
        program: Sequence[Step],
        values: Mapping[str, int],
        mask: Mask,
        states: Iterable[State],
    ) -> dict[State, None]:
        """The states behind some steps, from each of some before them."""
        found: dict[State, None] = dict.fromkeys(states, None)
        for steps in _runs(program):
            behind = dict[State, None]()
            for state in found:
                self._count()
                if is_open(steps[0]):
                    behind |= self._open(steps[0], values, mask, state)
                else:
                    self._restore(state)
                    self._execute(steps, values, mask)
                    behind[self._state()] = None
            self._check_states(behind)
            found = behind
        return found

    def _open(
        self, step: Step, values: Mapping[str, int], mask: Mask, state: State
    ) -> dict[State, None]:
        """The states behind a step that `is_open`."""
        found: dict[State, None] = {state: None}
        match step:
            case Fork(body=body, orelse=orelse):
                taken = self._outcomes(body, values, mask, found)
                return taken | self._outcomes(orelse, values, mask, found)
            case WalkedLoop(range=each, body=body):
                for value in each.values(values).tolist():
                    inside = {**values, each.name: value}
                    found = self._outcomes(body, inside, mask, found)
                return found
            case Branch():
                for body, some in self._branches(step, values, mask):
                    found = self._outcomes(body, values, some, found)
                return found
            case OpenLoop():
                return self._behind_loop(step, values, mask, state)
            case _:
                raise AssertionError(step)

    def _behind_loop(
        self, loop: OpenLoop, values: Mapping[str, int], mask: Mask, state: State
    ) -> dict[State, None]:
        """The states behind a loop, after any number of trips.

        What a trip does depends on the state before and on the remainder of the loop's
        variable, so these are all states once no pair of them is new.  The last trips
        follow in their order.
        """
        starts = {n for lower in loop.lowers for n in lower.modulo(self.period)}
        pending = [(state, start) for start in starts]
        seen = dict.fromkeys(pending)
        while pending and loop.body:
            before, value = pending.pop()
            inside = {**values, loop.name: value}
            following = (value + loop.step) % self.period
            for after in self._outcomes(loop.body, inside, mask, (before,)):
                if (after, following) not in seen:
                    seen[after, following] = None
                    pending.append((after, following))
            self._check_states(seen)
        for body in loop.last:
            seen = {
                (after, (value + loop.step) % self.period): None
                for before, value in seen
                for after in self._outcomes(
                    body, {**values, loop.name: value}, mask, (before,)
                )
            }
            self._check_states(seen)
        return {reached: None for reached, _ in seen}

    def _check_states(self, found: Sized) -> None:
        if len(found) > MOST_STATES:
            raise UndecidedError("too many states")

    def _count(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise UndecidedError("too many steps")

    def _branches(
        self, step: Branch, values: Mapping[str, int], mask: Mask
    ) -> Iterator[tuple[tuple[Step, ...], Mask]]:
        """The bodies that some threads execute, with these."""
        taken = held(step.constraints, {**values, **self.variables}, mask.shape)
        for body, some in ((step.body, mask & taken), (step.orelse, mask & ~taken)):
            if some.any():
                yield body, some

    def _execute(
        self, program: Sequence[Step], values: Mapping[str, int], mask: Mask
    ) -> None:
        for step in program:
            self._count()
            match step:
                case Site():
                    self._access(step, values, mask)
                case WalkedLoop(range=each, body=body):
                    for value in each.values(values).tolist():
                        self.steps += 1
                        self._execute(body, {**values, each.name: value}, mask)
                case Branch():
                    for body, some in self._branches(step, values, mask):
                        self._execute(body, values, some)
                case OpenLoop() | Fork():
                    raise AssertionError(step)
                case Barrier(lanes=None):
                    self._require(mask.all())
                    if self.memories <= step.orders:
                        self._end_phase()
                case Barrier():
                    self._synchronize_warps(step, mask)
                case Commit() | GroupWait() | ProxyFence():
                    self._end_segment()
                    self._fence(step, mask)

    def _require(self, holds: bool | np.bool_) -> None:
        if not holds:
            raise UndecidedError("threads that do not reach a barrier")

    def _fence(self, step: Commit | GroupWait | ProxyFence, mask: Mask) -> None:
        match step:
            case Commit():
                self.copies[step.bulk].commit(mask)
            case GroupWait():
                groups = self.copies[step.bulk]
                groups.wait(step.pending, mask, reads=step.reads)
            case ProxyFence():
                for event, size in list(self.unfenced.items()):
                    if not size:
                        del self.unfenced[event]
                        for threads, seen in ((mask, 1), (~mask, 0)):
                            part = self._of_threads(event, threads)
                            if self.masks[part[2]].any():
                                before = self.unfenced.get(part, seen)
                                self.unfenced[part] = min(before, seen)

    def _of_threads(self, event: Event, threads: Mask) -> Event:
        """The part of an event that some threads execute."""
        site, key, number = event
        return site, key, self._mask_number(self.masks[number] & threads)

    def _access(self, site: Site, values: Mapping[str, int], mask: Mask) -> None:
        number = self._mask_number(mask)
        for key in product(*(part.values(values) for part in site.parts.values())):
            self._add(site, (site.number, key, number))

    def _add(self, site: Site, event: Event) -> None:
        if not self._table(event)[0].size:
            return
        for events in (self.phase, self.recent, self.segment):
            events.add(event)
        is_bulk = site.use.statement.bulk
        if site.is_copy:
            self.copies[is_bulk].uncommitted.append(event)
        if self.has_engine and self.kernel.is_of_block(site.use.access.array):
            if is_bulk:
                self._check_proxy(event)
            if not site.is_copy:
                self.unfenced[event] = 0

    def _check_proxy(self, copy: Event) -> None:
        """The rule ``proxy`` for a copy that starts."""
        array = self.sites[copy[0]].use.access.array
        before = [e for e in self.unfenced if self._array(e) == array]
        seen = [self.unfenced[event] for event in before]
        if not self._is_new(("proxy", copy, tuple(before), tuple(seen))):
            return
        for event, size in zip(before, seen, strict=True):
            is_write = self._writes(event) or self._writes(copy)
            if is_write and self._near((copy,))(event):
                cells, table = self._window((copy, event))
                self.budget.spend(cells)
                where, threads = table(copy)
                users, others = table(event)
                if size:
                    owners = Owners.of(cells, [(where, threads // size)])
                    owners.check(users, others // size)
                elif np.intersect1d(where, users).size:
                    raise UndecidedError("no proxy fence before a copy of an engine")

    def _array(self, event: Event) -> str:
        return self.sites[event[0]].use.access.array

    def _writes(self, event: Event) -> bool:
        return self.sites[event[0]].use.access.writes

    def _mask_number(self, mask: Mask) -> int:
        number = self.mask_numbers.setdefault(mask.tobytes(), len(self.masks))
        if number == len(self.masks):
            self.masks.append(mask)
        return number

    def _synchronize_warps(self, barrier: Barrier, mask: Mask) -> None:
        """A barrier of the warps in the mask."""
        self._require(are_warps(mask))
        if self.memories <= barrier.orders:
            self._end_segment()
            self._check_threads(self.recent, 1)
            others = {self._of_threads(event, ~mask) for event in self.recent}
            self.recent = {e for e in others if self.masks[e[2]].any()}
            for groups in self.copies.values():
                groups.meet(mask)
            for event, size in self.unfenced.items():
                if size and not (self.masks[event[2]] & ~mask).any():
                    self.unfenced[event] = WARP

    def _end_phase(self) -> None:
        """A barrier of the block."""
        self._end_segment()
        self._check_threads(self.recent, 1)
        if self.recent != self.phase:
            self._check_threads(self.phase, WARP)
        self.phase, self.recent = set(), set()
        for groups in self.copies.values():
            groups.meet(None)
        self.unfenced = {e: size for e, size in self.unfenced.items() if not size}

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
        """A fence: checks the accesses before it against copies under way.

        Two copies of earlier segments were checked in that of the later one, when the
        rules on the earlier one were not weaker.
        """
        segment, self.segment = self.segment, set()
        under_way = [c for groups in self.copies.values() for c in groups.under_way]
        arrived = [i for groups in self.copies.values() for i in groups.arrived.items()]
        if not segment or not (under_way or arrived):
            return
        copies = tuple(sorted(under_way)), tuple(sorted(arrived))
        if not self._is_new((frozenset(segment), copies)):
            return
        for array, _, same in self._by_array(segment):
            known = [c for c in under_way if self._array(c) == array]
            over = [item for item in arrived if self._array(item[0]) == array]
            is_near = self._near(same)
            known = [copy for copy in known if is_near(copy)]
            over = [item for item in over if is_near(item[0])]
            cells, table = self._window((*same, *known, *(copy for copy, _ in over)))
            plain = [event for event in same if not self.sites[event[0]].is_copy]
            CopyRules(self.sites, table, cells, self.budget).check(plain, known, over)

    def _range(self, event: Event) -> tuple[int, int]:
        """The first and the last cell of an event; (0, -1) if it accesses none."""
        if event not in self.ranges:
            cells, _ = self._table(event)
            is_used = bool(cells.size)
            found = (int(cells.min()), int(cells.max())) if is_used else (0, -1)
            self.ranges[event] = found
        return self.ranges[event]

    def _near(self, events: Iterable[Event]) -> Callable[[Event], bool]:
        """Whether the range of an event meets one of those of others of its array."""
        lows, highs = list[int](), list[int]()
        for low, high in sorted(map(self._range, events)):
            if highs and low <= highs[-1]:
                highs[-1] = max(highs[-1], high)
            elif low <= high:
                lows.append(low)
                highs.append(high)

        def is_near(event: Event) -> bool:
            first, last = self._range(event)
            at = bisect_right(lows, last) - 1
            return at >= 0 and first <= highs[at]

        return is_near

    def _window(self, events: Iterable[Event]) -> tuple[int, Callable[[Event], Table]]:
        """The cells from the first to the last of events, and tables of these cells."""
        ranges = list(map(self._range, events))
        start = min(low for low, _ in ranges)

        def table(event: Event) -> Table:
            cells, threads = self._table(event)
            return cells - start, threads

        return max(high for _, high in ranges) - start + 1, table

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
