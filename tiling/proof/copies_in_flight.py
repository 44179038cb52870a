"""Commit groups of asynchronous copies while one block is executed, and their rules.

`CommitGroups` has the copies of one kind, with ``cp.async`` or by the copy engine, that
one set of threads commits: all of it commits and waits together, so the groups of its
threads are alike.  A wait that leaves N groups open completes all but the newest N
(PTX ISA, cp.async.wait_group); one for reads only completes the reads of their sources
(cp.async.bulk.wait_group.read).  Other threads see the end of a copy behind a barrier
with its thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import TypeAlias

import numpy as np

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.model.isl_evaluation import Integers, UndecidedError
from gpucodegen.tiling.proof.block_program import Key, Site, Table
from gpucodegen.tiling.proof.cell_owners import Owners
from gpucodegen.tiling.proof.kernel_accesses import Budget, Mask

Event: TypeAlias = tuple[int, Key, int]
"""An access that threads execute: numbers of its site and of the threads' mask.

The key has the values of all that its cells depend on but threads and inner loops.
"""


CommitState: TypeAlias = tuple[
    "bytes | None",
    tuple[Event, ...],
    tuple[tuple[tuple[Event, ...], bool], ...],
    frozenset[tuple[Event, int]],
]
"""The fields of `CommitGroups` that change, as a value."""


@dataclass(slots=True)
class _Group:
    """Copies that were committed together; waited: for the reads at least."""

    copies: tuple[Event, ...]
    is_waited: bool = False


@dataclass(slots=True)
class CommitGroups:
    """The copies of one kind.

    ``arrived``: by copy that is over, the number of consecutive threads that see it.
    """

    sites: Sequence[Site]
    table: Callable[[Event], Table]
    threads: Mask | None = None
    uncommitted: list[Event] = field(default_factory=list[Event])
    groups: list[_Group] = field(default_factory=list[_Group])
    arrived: dict[Event, int] = field(default_factory=dict[Event, int])

    @property
    def state(self) -> CommitState:
        threads = None if self.threads is None else self.threads.tobytes()
        groups = tuple((group.copies, group.is_waited) for group in self.groups)
        arrived = frozenset(self.arrived.items())
        return threads, tuple(self.uncommitted), groups, arrived

    def restore(self, state: CommitState) -> None:
        threads, uncommitted, groups, arrived = state
        self.threads = None if threads is None else np.frombuffer(threads, bool)
        self.uncommitted = list(uncommitted)
        self.groups = [_Group(copies, is_waited) for copies, is_waited in groups]
        self.arrived = dict(arrived)

    @property
    def under_way(self) -> list[Event]:
        return [*self.uncommitted, *(c for g in self.groups for c in g.copies)]

    @property
    def is_finished(self) -> bool:
        """Whether there is a wait for each copy."""
        waited = all(group.is_waited or not group.copies for group in self.groups)
        return waited and not self.uncommitted

    def commit(self, threads: Mask) -> None:
        """Raise UndecidedError unless all commits are of the same threads."""
        if self.threads is None:
            self.threads = threads
        _require(np.array_equal(self.threads, threads), "commits of other threads")
        for copy in self.uncommitted:
            is_own = bool(threads[self.table(copy)[1]].all())
            _require(is_own, "a copy that its thread does not commit")
        self.groups.append(_Group(tuple(self.uncommitted)))
        self.uncommitted = []

    def wait(self, pending: int, threads: Mask, *, reads: bool) -> None:
        """A wait by all threads that commit; there is nothing to wait for before."""
        if self.threads is None:
            return
        _require((threads | ~self.threads).all(), "a wait of some threads")
        completed = max(0, len(self.groups) - pending)
        for group in self.groups[:completed]:
            over = [c for c in group.copies if not (reads and self._writes(c))]
            self.arrived |= dict.fromkeys(over, 1)
            group.copies = tuple(c for c in group.copies if c not in over)
            group.is_waited = True
        if not reads:
            self.groups = self.groups[completed:]

    def _writes(self, copy: Event) -> bool:
        return self.sites[copy[0]].use.access.writes

    def meet(self, threads: Mask | None) -> None:
        """A barrier of the block, or of the warps of some threads."""
        if threads is None:
            self.arrived = {}
        else:
            for copy in self.arrived:
                if threads[self.table(copy)[1]].all():
                    self.arrived[copy] = WARP


def _require(holds: bool | np.bool_, what: str) -> None:
    if not holds:
        raise UndecidedError(what)


@dataclass(frozen=True, slots=True)
class CopyRules:
    """The rules on the copies of one array, between two fences.

    A cell that a copy under way writes is not accessed, nor copied again; one that it
    reads is not written.  The same holds for a copy that has arrived, but not in the
    threads that see that.
    """

    sites: Sequence[Site]
    table: Callable[[Event], Table]
    cells: int
    budget: Budget

    def check(
        self,
        accesses: Iterable[Event],
        under_way: Sequence[Event],
        arrived: Sequence[tuple[Event, int]],
    ) -> None:
        """Raise UndecidedError where a rule may be broken.

        ``accesses``: those that are no copies; ``arrived``: copies, with the number of
        consecutive threads that see their end.
        """
        self.budget.spend(self.cells * (4 + len(under_way)))
        written = np.zeros(self.cells, np.int64)
        is_read = np.zeros(self.cells, bool)
        for copy in under_way:
            where, _ = self.table(copy)
            if self._writes(copy):
                written += np.bincount(where, minlength=self.cells)
            else:
                is_read[where] = True
        is_apart = not ((written > 1) | (is_read & (written > 0))).any()
        _require(is_apart, "two copies of one cell")
        others = list(accesses)
        for access in others:
            where, threads = self.table(access)
            self.budget.spend(threads.size)
            is_copied = written[where] > 0
            if self._writes(access):
                is_copied = is_copied | is_read[where]
            _require(not is_copied.any(), "a cell is used while it is copied")
        for size in {size for _, size in arrived}:
            over = [copy for copy, each in arrived if each == size]
            self._check_seen([*others, *under_way], over, size)

    def _check_seen(
        self, accesses: Sequence[Event], over: Sequence[Event], size: int
    ) -> None:
        """Only ``size`` consecutive threads use the cells of copies that are over."""
        writers, readers = (
            Owners.of(self.cells, (self._seen(c, size) for c in over if c in kind))
            for kind in (
                {copy for copy in over if self._writes(copy)},
                {copy for copy in over if not self._writes(copy)},
            )
        )
        for access in accesses:
            where, threads = self._seen(access, size)
            writers.check(where, threads)
            if self._writes(access):
                readers.check(where, threads)

    def _seen(self, event: Event, size: int) -> tuple[Integers, Integers]:
        where, threads = self.table(event)
        return where, threads // size

    def _writes(self, event: Event) -> bool:
        return self.sites[event[0]].use.access.writes
