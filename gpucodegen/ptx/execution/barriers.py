"""The barriers of a block: of all threads, or numbered with a count of threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.lanes import BatchLanes
from gpucodegen.ptx.types import Array, Mask, Value

_NUMBERS = 16


@dataclass(slots=True)
class Gathering:
    """One barrier of one block at which some have arrived, but not all."""

    expected: int
    arrived: int
    known: Array | None
    """What those who have arrived know, for those who wait."""


class Barriers:
    """Lanes wait and go on when as many threads have come as a barrier counts."""

    def __init__(self, batch: BatchLanes) -> None:
        self.batch, self.clocks = batch, batch.clocks
        self.blocks, self.threads = batch.blocks, batch.threads
        self.waiting = np.full(batch.lanes, -1)
        """The instruction at which a lane waits."""
        self.number = np.zeros(batch.lanes, np.int8)
        self.gatherings: dict[tuple[int, int], Gathering] = {}
        self._named: tuple[Value, Value | None] = (np.uint32(0), None)
        self._vote: Value | None = None
        self.votes = np.zeros(batch.lanes, bool)
        """What lanes that wait have voted; of those that go on: how many did, and for
        how many of them it held."""
        self.ballots = np.zeros((2, batch.lanes), np.int32)

    def name(
        self, number: Value, count: Value | None = None, vote: Value | None = None
    ) -> None:
        """Tell at which barrier lanes arrive next, and how many threads it counts."""
        self._named, self._vote = (number, count), vote

    def arrive(self, index: int, mask: Mask) -> list[tuple[int, Mask]]:
        """Let lanes arrive at an instruction; which lanes go on from which one."""
        instruction = self.batch.launch.entry.instructions[index]
        waits = "arrive" not in instruction.modifiers
        (number, count), self._named = self._named, (np.uint32(0), None)
        vote, self._vote = self._vote, None
        plain = count is None and waits and number.ndim == 0 and vote is None
        if plain and mask is None and not self.gatherings:
            self.clocks.meet(np.ones(self.blocks, bool))
            return [(index, None)]
        every = self.batch.lanes
        live = np.ones(every, bool) if mask is None else mask
        if waits:
            self.waiting[live] = index
        if vote is not None:
            self.votes[live] = np.broadcast_to(vote, every)[live]
        self.number[live] = np.broadcast_to(number, every)[live]
        free = np.zeros(every, bool)
        for row in np.unique(self.batch.row[live]):
            own = np.flatnonzero(live & (self.batch.row == row))
            for which in np.unique(self.number[own]):
                lanes = own[self.number[own] == which]
                counts = None if count is None else np.broadcast_to(count, every)[lanes]
                self._gather(index, int(row), int(which), lanes, counts, free)
        self.clocks.tick()
        opened = [] if waits else [(index, mask)]
        for site in np.unique(self.waiting[free]):
            lanes = free & (self.waiting == site)
            opened.append((int(site), None if lanes.all() else lanes))
        self.waiting[free] = -1
        return opened

    def _gather(
        self,
        index: int,
        row: int,
        number: int,
        lanes: Array,
        counts: Array | None,
        free: Array,
    ) -> None:
        """Count arrivals of a block's lanes; ``free`` gets the lanes that may go on."""
        expected = self.threads if counts is None else int(counts[0])
        if number >= _NUMBERS or (expected % 32 and counts is not None):
            text = f"barrier {number} of {expected} threads: at most 16, whole warps"
            self._fault(text, index, int(lanes[0]))
        held = self.gatherings.setdefault((row, number), Gathering(expected, 0, None))
        held.arrived += len(lanes)
        short = counts is not None and (counts != expected).any()
        if short or held.expected != expected or held.arrived > expected:
            text = (
                f"divergent barrier {number}: {held.arrived} threads have arrived,"
                f" which expect {held.expected} and {expected}"
            )
            self._fault(text, index, int(lanes[0]))
        if self.clocks.fine:
            known = self.clocks.released(lanes)
            held.known = known if held.known is None else np.maximum(known, held.known)
        if held.arrived == expected:
            del self.gatherings[row, number]
            self._open(row, number, held, free)

    def _open(self, row: int, number: int, held: Gathering, free: Array) -> None:
        own = (self.batch.row == row) & (self.number == number)
        lanes = np.flatnonzero(own & (self.waiting >= 0))
        self._same_place(lanes, held.expected == self.threads)
        free[lanes] = True
        self.ballots[:, lanes] = [[len(lanes)], [np.count_nonzero(self.votes[lanes])]]
        if len(lanes) == self.threads:
            self.clocks.meet(np.arange(self.blocks) == row)
        elif held.known is not None:
            self.clocks.acquire(lanes, held.known)

    def _same_place(self, lanes: Array, whole: bool) -> None:
        """Lanes of a warp wait at one instruction, at a whole barrier all lanes do."""
        places = self.waiting[lanes]
        home = np.zeros_like(lanes) if whole else self.batch.warp[lanes]
        _, first, group = np.unique(home, return_index=True, return_inverse=True)
        mixed = places != places[first][group]
        if mixed.any():
            at = int(np.argmax(mixed))
            other = int(places[first][group][at])
            here = int(places[at])
            line = self.batch.launch.entry.instructions[other].line
            text = f"divergent barrier: other threads wait at line {line}"
            self._fault(text, here, int(lanes[at]))

    def _fault(self, text: str, index: int, lane: int) -> NoReturn:
        self.batch.fault(faults.DIVERGENT_BARRIER, text, index, lane)

    def check_end(self) -> None:
        """Fault if lanes still wait when nothing runs any more."""
        waiting = self.waiting >= 0
        if not waiting.any():
            return
        lane = int(np.argmax(waiting))
        row = int(self.batch.row[lane])
        held = self.gatherings[row, int(self.number[lane])]
        missing = held.expected - held.arrived
        text = f"divergent barrier: {missing} threads never arrive"
        places = self.places(row)
        if len(places) > 1:
            text += f" ({'; '.join(places)})"
        self._fault(text, int(self.waiting[lane]), lane)

    def places(self, row: int) -> list[str]:
        """Where the threads of a block wait, in words."""
        found: list[str] = []
        own = self.batch.row == row
        for index in np.unique(self.waiting[own]):
            if index >= 0:
                lanes = own & (self.waiting == index)
                found.append(self.batch.whereabouts(int(index), lanes))
        return found
