"""Lanes that speak to other lanes of their warp: shuffles, votes, reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.lanes import BatchLanes
from gpucodegen.ptx.types import Array, Mask, Value

WARP = 32


def _identity(what: str, kind: str) -> int:
    limits = np.iinfo(kind)
    neutral = {
        "min": limits.max,
        "max": limits.min,
        "and": -1 if limits.min else limits.max,
    }
    return neutral.get(what, 0)


_REDUCTIONS: dict[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
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
        """A row of 32 for each warp; lanes that take no part hold ``empty``."""
        full = np.full((self.count, WARP), empty)
        wide = np.broadcast_to(value, self.batch.lanes)
        chosen = slice(None) if mask is None else mask
        full[self.row[chosen], self.lane[chosen]] = wide[chosen]
        return full

    def whole(self, index: int, what: str, mask: Mask) -> None:
        """Fault unless every warp takes part with all its lanes, or with none."""
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
        """Check that lanes name themselves and wait only for lanes that come."""
        live = np.ones(self.batch.lanes, bool) if mask is None else mask
        words = np.broadcast_to(member, self.batch.lanes).view("u4")
        named = (words >> self.lane.astype("u4")) & np.uint32(1) != 0
        if (live & ~named).any():
            lane = int(np.argmax(live & ~named))
            text = "a lane that its member mask leaves out"
            self.batch.fault(faults.INCOMPLETE_WARP, text, index, lane)
        return live

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
        silent = live & ~(live[source] & there)
        if silent.any():
            text, lane = "shuffle from an inactive lane", int(np.argmax(silent))
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
        """Whether a predicate holds for all, for any, alike, or for whom."""
        self._named(index, member, mask)
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

    def reduce(
        self, index: int, mode: str, value: Value, member: Value, mask: Mask
    ) -> Array:
        """A reduction over the lanes that take part."""
        self._named(index, member, mask)
        empty = np.array(_identity(mode, value.dtype.str)).astype(value.dtype)
        rows = self.spread(value, mask, empty)
        return _REDUCTIONS[mode].reduce(rows, axis=1, dtype=value.dtype)[self.row]
