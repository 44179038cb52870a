"""Lanes of a batch: warp-level operations, launch data, and divergent control flow.

`Warps` emulates shuffles, votes, matches and reductions; `Launch` and `BatchLanes` hold
sizes, arguments and memory.  `LaneGroups` groups lanes by their basic block: the group
whose block comes first in the order of nested loops runs, so that lanes with a shorter
path or fewer trips wait at the reconvergence point and run on together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.entries import Entry
from gpucodegen.ptx.execution.vector_clocks import VectorClocks
from gpucodegen.ptx.integers import leading_zeros, select
from gpucodegen.ptx.memory import Memory
from gpucodegen.ptx.translation.operands import place
from gpucodegen.ptx.translation.program import EntryProgram
from gpucodegen.ptx.types import WARP, Array, Chosen, Mask, Value
from gpucodegen.records import dataclass

_FAIR = 4096
"""Turns of groups after which another one runs."""


class LaneGroups:
    """Groups of lanes in a kernel whose basic blocks have these ``ranks``.

    At blocks whose rank is beyond their number, lanes of a warp wait for each other;
    ``exited`` marks the lanes that have ended.
    """

    def __init__(self, ranks: Sequence[int], exited: Array) -> None:
        self.end, self.ranks, self.exited = len(ranks), ranks, exited
        self.at: dict[int, Mask] = {0: None}
        self._count = 0
        self._turns: Counter[int] = Counter()

    def join(self, block: int, mask: Mask) -> None:
        """Adds lanes to the group of a block."""
        if block == self.end:
            self.exited[... if mask is None else mask] = True
            return
        if block in self.at and mask is not None:
            there = self.at[block]
            mask = None if there is None else there | mask
            if mask is not None and mask.all():
                mask = None
        self.at[block] = mask

    def take(self, block: int) -> Mask:
        """Remove the group of a block."""
        return self.at.pop(block)

    def next(self, fair: bool) -> int:
        """The first block in order at which no lane waits for others of its warp.

        ``fair``, and from time to time in any case: the block with the fewest turns
        instead, for lanes may wait for writes of other lanes.
        """
        self._count += 1
        if fair or self._count % _FAIR == 0:
            first = min(self.at, key=self._turn)
            self._turns[first] += 1
            return first
        return min(self.at, key=self.ranks.__getitem__)

    def _turn(self, block: int) -> tuple[bool, int, int]:
        rank = self.ranks[block]
        return rank >= self.end, self._turns[block], rank

    def running(self, stalled: Array) -> list[int]:
        """Blocks whose groups have no stalled lane."""
        return [
            block
            for block, mask in self.at.items()
            if not (stalled if mask is None else stalled & mask).any()
        ]


def divided(predicate: Array, mask: Mask, lanes: int) -> tuple[Chosen, Chosen]:
    """(lanes for which a predicate holds, the others); False stands for no lane."""
    if predicate.ndim == 0:
        return (mask, False) if predicate else (False, mask)
    true = predicate if mask is None else predicate & mask
    count = np.count_nonzero(true)
    if count == lanes:
        return mask, False
    if count == 0:
        return False, mask
    return true, (~true if mask is None else mask & ~true)


Extents = tuple[int, int, int]
STEPS = 10**7
"""Steps that thread blocks may take; one takes some microseconds."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The data that all batches of a launch share; sizes are in bytes."""

    entry: Entry
    program: EntryProgram
    grid: Extents
    block: Extents
    parameters: bytes
    memory: Memory
    dynamic: int
    symbols: Mapping[str, Any]
    check: bool
    measure: bool
    output: Callable[[str], object]
    """Receives the text that kernels print."""
    cluster: Extents = (1, 1, 1)
    patience: int = -1
    """Visits to basic blocks after which measured thread blocks end; -1: none."""
    steps: int = STEPS
    """Visits to basic blocks in which thread blocks side by side must end; 0: any."""
    trace: bool = False
    """Whether marks tell who touched global memory also where nothing can race."""

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def cluster_blocks(self) -> int:
        return self.cluster[0] * self.cluster[1] * self.cluster[2]

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block, static and dynamic."""
        return self.entry.shared_bytes + self.dynamic


class BatchLanes:
    """Threads of some blocks of a launch; ``lanes`` is their number.

    ``clocks`` hold the current marks and the order of accesses; ``exited`` the ended
    lanes.
    """

    def __init__(self, launch: Launch, numbers: Array) -> None:
        self.launch, self.blocks = launch, len(numbers)
        self.threads = launch.threads
        self.lanes = self.blocks * self.threads
        every = np.arange(self.lanes)
        self.thread, self.row = every % self.threads, every // self.threads
        self.block = numbers[self.row]
        self.warp = self.row * -(-self.threads // 32) + self.thread // 32
        self.extents, self.grid = launch.block, launch.grid
        self.cluster, self.ticks = launch.cluster, 0
        fine = launch.check and launch.program.is_fine
        together = launch.cluster_blocks
        self.clocks = VectorClocks(self.block, self.row, self.threads, fine, together)
        self.exited = np.zeros(self.lanes, bool)

    def whereabouts(self, index: int, lanes: Array) -> str:
        """The threads that wait at an instruction, in words."""
        x = self.launch.entry.instructions[index]
        threads = self.thread[lanes]
        source = f", {x.location}" if x.location else ""
        return (
            f"{len(threads)} threads from {int(threads[0])} on wait at"
            f" line {x.line}{source}: {x.text}"
        )

    def fault(self, kind: str, message: str, index: int, lane: int) -> NoReturn:
        """A fault with its instruction and thread."""
        x = self.launch.entry.instructions[index]
        raise faults.Fault(
            kind,
            message,
            self.launch.entry.name,
            x.line,
            x.location,
            _place(int(self.block[lane]), self.grid),
            _place(int(self.thread[lane]), self.extents),
            x.text,
        )


def _place(number: int, extents: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y, z = (int(place(number, extents, axis)) for axis in range(3))
    return x, y, z


def _identity(what: str, kind: str) -> int:
    limits = np.iinfo(kind)
    neutral = {
        "min": limits.max,
        "max": limits.min,
        "and": -1 if limits.min else limits.max,
    }
    return neutral.get(what, 0)


UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_REDUCTIONS = UFUNCS | {
    "min.f": np.fmin,
    "max.f": np.fmax,
    "min.NaN": np.minimum,
    "max.NaN": np.maximum,
}


class Warps:
    """The warps of one batch."""

    def __init__(self, batch: BatchLanes) -> None:
        self.batch = batch
        self.lane = batch.thread % WARP
        self.rows = -(-batch.threads // WARP)
        self.row = batch.row * self.rows + batch.thread // WARP
        self.count = batch.blocks * self.rows

    def spread(self, value: Value, mask: Mask, empty: Value) -> Array:
        """A row of 32 for each warp; inactive lanes hold ``empty``."""
        full = np.full((self.count, WARP), empty)
        wide = np.broadcast_to(value, self.batch.lanes)
        chosen = slice(None) if mask is None else mask
        full[self.row[chosen], self.lane[chosen]] = wide[chosen]
        return full

    def whole(self, index: int, what: str, mask: Mask) -> None:
        """Raises a fault unless each warp is active with all its lanes or none."""
        if self.batch.threads % WARP:
            text = f"{what} in blocks of {self.batch.threads} threads"
            self.batch.fault(faults.INCOMPLETE_WARP, text, index, 0)
        if mask is not None:
            rows = mask.reshape(-1, WARP)
            partial = rows.any(1) & ~rows.all(1)
            if partial.any():
                text = f"{what} with inactive lanes in the warp"
                lane = int(np.argmax(partial)) * WARP
                self.batch.fault(faults.INCOMPLETE_WARP, text, index, lane)

    def _named(self, index: int, member: Value, mask: Mask) -> Array:
        """Checks that the member masks name their own lanes and only active ones.

        Lanes that have left the kernel are not waited for.
        """
        live = np.ones(self.batch.lanes, bool) if mask is None else mask
        words = np.broadcast_to(member, self.batch.lanes).view("u4")
        named = (words >> self.lane.astype("u4")) & np.uint32(1) != 0
        if (live & ~named).any():
            lane = int(np.argmax(live & ~named))
            text = "a lane that its member mask leaves out"
            self.batch.fault(faults.INCOMPLETE_WARP, text, index, lane)
        if mask is not None or member.ndim:
            self._all_come(index, words, live)
        return live

    def _all_come(self, index: int, words: Array, live: Array) -> None:
        """Checks that all named lanes are active and name the same mask."""
        bits = np.uint32(1) << self.lane.astype("u4")
        here = np.zeros(self.count, "u4")
        gone = np.full(self.count, 0xFFFFFFFF, "u4")
        np.bitwise_or.at(here, self.row[live], bits[live])
        there = ~self.batch.exited
        np.bitwise_and.at(gone, self.row[there], ~bits[there])
        absent = live & (words & ~(here | gone)[self.row] != 0)
        if absent.any():
            lane = int(np.argmax(absent))
            missing = int((words & ~(here | gone)[self.row])[lane])
            who = missing.bit_length() - 1
            text = f"the member mask names lane {who}, which does not come here"
            self.batch.fault(faults.INCOMPLETE_WARP, text, index, lane)
        if (words[live] == words[live][:1]).all():
            return
        each = self.spread(words, live, np.uint32(0))
        member = each[:, :, None] >> np.arange(WARP, dtype="u4") & np.uint32(1) != 0
        differs = (member & (each[:, :, None] != each[:, None, :])).any((1, 2))
        if differs.any():
            lane = int(np.argmax(live & differs[self.row]))
            text = "lanes that name each other with different member masks"
            self.batch.fault(faults.INCOMPLETE_WARP, text, index, lane)

    def sync(self, index: int, member: Value, mask: Mask) -> None:
        """``bar.warp.sync``: the lanes know of each other's earlier accesses."""
        live = self._named(index, member, mask)
        clocks = self.batch.clocks
        if not clocks.fine:
            return
        words = np.broadcast_to(member, self.batch.lanes).view("u4")
        groups = self.row.astype("i8") << WARP | words
        for group in np.unique(groups[live]):
            lanes = np.flatnonzero(live & (groups == group))
            clocks.acquire(lanes, clocks.released(lanes))
            if clocks.releases is not None:
                clocks.releases.share(lanes)
        clocks.tick()

    def shuffle(
        self,
        index: int,
        mode: str,
        value: Value,
        distance: Value,
        clamp: Value,
        member: Value,
        mask: Mask,
    ) -> tuple[Array, Array]:
        """The value of another lane, and whether that lane lies in the segment."""
        lanes = self.batch.lanes
        live = self._named(index, member, mask)
        by = np.broadcast_to(distance, lanes).astype("i8") & 31
        limit = np.broadcast_to(clamp, lanes).astype("i8")
        segment = (limit >> 8) & 31
        low, high = self.lane & segment, (self.lane & segment) | (limit & 31 & ~segment)
        other = {
            "up": self.lane - by,
            "down": self.lane + by,
            "bfly": self.lane ^ by,
            "idx": low | (by & ~segment),
        }[mode]
        inside = other >= high if mode == "up" else other <= high
        source = np.arange(lanes) - self.lane + np.where(inside, other, self.lane)
        there = (source < lanes) & (source < (self.batch.row + 1) * self.batch.threads)
        source = np.where(there, source, np.arange(lanes))
        words = np.broadcast_to(member, lanes).view("u4")
        named = words >> self.lane[source].astype("u4") & np.uint32(1) != 0
        for kind, wrong in (
            ("an inactive lane", live & ~(live[source] & there)),
            ("a lane that the member mask leaves out", live & ~named),
        ):
            if wrong.any():
                lane = int(np.argmax(wrong))
                text = f"shuffle from {kind}"
                self.batch.fault(faults.INCOMPLETE_WARP, text, index, lane)
        return np.broadcast_to(value, lanes)[source], inside

    def ballot(self, predicate: Value, mask: Mask) -> Array:
        """One bit for each lane of the warp."""
        bits = self.spread(predicate, mask, np.False_).astype("u8")
        words = (bits << np.arange(WARP, dtype="u8")).sum(1, dtype="u8")
        return words.astype("u4").view("i4")[self.row]

    def vote(
        self, index: int, mode: str, predicate: Value, member: Value, mask: Mask
    ) -> Array:
        """``vote``: all, any, uni, or ballot of a predicate."""
        self._named(index, member, mask)
        return self._among(
            member, mask, lambda lanes: self._voted(mode, predicate, lanes)
        )

    def _voted(self, mode: str, predicate: Value, mask: Mask) -> Array:
        if mode == "ballot":
            return self.ballot(predicate, mask)
        any_of = self.spread(predicate, mask, np.False_).any(1)
        all_of = self.spread(predicate, mask, np.True_).all(1)
        votes: dict[str, Any] = {
            "any": any_of,
            "all": all_of,
            "uni": all_of | ~any_of,
        }
        return votes[mode][self.row]

    def _groups(self, member: Value, mask: Mask) -> list[Mask]:
        """The lanes of a warp with one member mask, per group."""
        if member.ndim == 0:
            return [mask]
        live = np.ones(self.batch.lanes, bool) if mask is None else mask
        return [live & (member == word) for word in np.unique(member[live])]

    def _among(self, member: Value, mask: Mask, ask: Callable[[Mask], Array]) -> Array:
        """Calls ``ask`` for the lanes of each member mask."""
        groups = self._groups(member, mask)
        answer = ask(groups[0])
        for lanes in groups[1:]:
            answer = select(lanes, ask(lanes), answer)
        return answer

    def reduce(
        self, index: int, mode: str, value: Value, member: Value, mask: Mask
    ) -> Array:
        """A reduction over the member lanes; NaN is ignored if there are numbers."""
        self._named(index, member, mask)
        if value.dtype.kind == "f":
            empty = value.dtype.type(np.inf if mode.startswith("min") else -np.inf)
        else:
            limit = np.array(_identity(mode, value.dtype.str))
            empty = limit.astype(value.dtype)

        def among(lanes: Mask) -> Array:
            rows = self.spread(value, lanes, empty)
            return _REDUCTIONS[mode].reduce(rows, axis=1, dtype=value.dtype)[self.row]

        return self._among(member, mask, among)

    def match(
        self, index: int, mode: str, value: Value, member: Value, mask: Mask
    ) -> tuple[Array, Array]:
        """The lanes that have a lane's value, and whether all have the same one.

        ``all``: no lanes, unless all have the same value.
        """
        self._named(index, member, mask)
        live = np.ones(self.batch.lanes, bool) if mask is None else mask
        held = self.spread(value, None, value.dtype.type(0))
        there = self.spread(np.True_, live, np.False_)
        asked = self.spread(member.view("u4"), None, np.uint32(0))
        named = (asked[:, :, None] >> np.arange(WARP, dtype="u4")) & 1 != 0
        among = named & there[:, None, :]
        alike = among & (held[:, :, None] == held[:, None, :])
        same = (alike == among).all(2)
        words = (alike.astype("u8") << np.arange(WARP, dtype="u8")).sum(2, dtype="u8")
        if mode == "all":
            words = np.where(same, words, 0)
        place = self.row, self.lane
        return words.astype("u4").view("i4")[place], same[place]

    def elect(self, index: int, member: Value, mask: Mask) -> tuple[Array, Array]:
        """The leader of a member mask, and whether a lane is it."""
        self._named(index, member, mask)
        self._named(index, member, mask)
        words = np.broadcast_to(member, self.batch.lanes).view("u4")
        low = words & (~words + np.uint32(1))
        leader = np.int32(31) - leading_zeros(low)
        return leader, self.lane == leader
