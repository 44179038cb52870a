"""Clocks of release/acquire chains against a model that copies every clock."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import numpy as np
import pytest

from gpucodegen.ptx.execution.release_clocks import Releases
from gpucodegen.ptx.execution.vector_clocks import BLOCK, STAMP, VectorClocks

BLOCKS, THREADS, PLACES = 3, 4, 2
Clock = dict[tuple[int, int], int]
"""The last known stamp of a thread of a block."""


def join(clock: Clock, more: Clock) -> None:
    for thread, stamp in more.items():
        clock[thread] = max(stamp, clock.get(thread, 0))


class Model:
    """Each lane's clock, and what places hold: for all blocks, or for one (its row)."""

    def __init__(self) -> None:
        self.known: list[Clock] = [{} for _ in range(BLOCKS * THREADS)]
        self.pending: list[Clock] = [{} for _ in self.known]
        self.fenced: dict[int, tuple[Clock, bool]] = {}
        self.places: defaultdict[int, list[tuple[int | None, Clock]]]
        self.places = defaultdict(list)

    def released(self, lane: int, now: int) -> Clock:
        return {**self.known[lane], divmod(lane, THREADS): now}

    def read(self, lane: int, place: int, target: list[Clock]) -> None:
        for row, clock in self.places[place]:
            if row in (None, lane // THREADS):
                join(target[lane], clock)

    def access(
        self, order: str, reads: bool, writes: bool, lane: int, place: int, now: int
    ) -> None:
        before = list(self.places[place])
        if reads:
            is_acquire = order in ("acquire", "acq_rel")
            self.read(lane, place, self.known if is_acquire else self.pending)
        if not writes:
            return
        new: list[tuple[int | None, Clock]] = []
        if order in ("release", "acq_rel"):
            new = [(None, self.released(lane, now))]
        elif lane in self.fenced:
            clock, is_wide = self.fenced[lane]
            row = lane // THREADS
            own = {thread: s for thread, s in clock.items() if thread[0] == row}
            new = [(None, clock) if is_wide else (row, own)]
        self.places[place] = [*new, *(before if reads else [])]

    def fence(self, lane: int, is_wide: bool, now: int) -> None:
        join(self.known[lane], self.pending[lane])
        self.pending[lane] = {}
        self.fenced[lane] = self.released(lane, now), is_wide

    def meet(self, row: int, now: int) -> None:
        joint: Clock = {(row, thread): now for thread in range(THREADS)}
        lanes = range(row * THREADS, (row + 1) * THREADS)
        for lane in lanes:
            join(joint, self.known[lane])
        for lane in lanes:
            self.known[lane] = dict(joint)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.sampled(20)
def test_lanes_know_what_chains_tell_them(seed: int) -> None:
    random, model = Random(seed), Model()
    rows = np.repeat(np.arange(BLOCKS), THREADS)
    clocks = VectorClocks(rows, rows, THREADS, fine=True)
    clocks.releases = releases = Releases(clocks, {})
    for _ in range(60):
        lane, place = random.randrange(BLOCKS * THREADS), random.randrange(PLACES)
        now = clocks.now
        match random.choice(["load", "store", "atomic", "fence", "barrier"]):
            case "fence":
                is_wide = random.random() < 0.7
                model.fence(lane, is_wide, now)
                releases.fence(is_wide, np.arange(BLOCKS * THREADS) == lane)
            case "barrier":
                model.meet(lane // THREADS, now)
                clocks.meet(np.arange(BLOCKS) == lane // THREADS)
            case what:
                reads, writes = what != "store", what != "load"
                orders = {"load": ["acquire"], "store": ["release"]}
                order = random.choice([*orders.get(what, ["acq_rel"]), "relaxed"])
                model.access(order, reads, writes, lane, place, now)
                given = order, reads, writes, [lane], [place]
                releases.operate("global", *given)
        check(clocks, model)


def check(clocks: VectorClocks, model: Model) -> None:
    """Each lane knows of accesses up to its last known stamp, and of no later ones."""
    threads = [divmod(thread, THREADS) for thread in range(BLOCKS * THREADS)]
    rows, codes = np.array(threads).T
    for lane, known in enumerate(model.known):
        stamps = np.array([known.get(thread, 0) for thread in threads])
        near = rows != lane // THREADS
        others = np.arange(len(threads)) != lane
        for later in (False, True):
            marks = (rows + 1) << BLOCK | (stamps + later) << STAMP | codes + 1
            # The barrier of a block orders accesses before `low` without clocks.
            is_near = near | (marks >= clocks.low[lane])
            unknown = clocks.unordered(is_near, marks, np.full(len(marks), lane))
            wrong = others & (~unknown if later else unknown & (stamps > 0))
            assert not wrong.any(), (lane, np.flatnonzero(wrong), later)
