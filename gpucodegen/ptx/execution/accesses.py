"""Loads, stores and atomics of many lanes at once, each access checked.

Comes in: a site, addresses, values and a mask.  Goes out: what was loaded.  Addresses
become byte offsets into one array for each space: the arena of global memory, the
shared memory of all blocks of the batch, the local memory of all its lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.counting.counters import Counters
from gpucodegen.ptx.execution.marks import Clash, Marks
from gpucodegen.ptx.execution.warps import Warps
from gpucodegen.ptx.memory import BASE, POISON, views
from gpucodegen.ptx.numerics.select import select
from gpucodegen.ptx.translation.sites import (
    LOCAL_WINDOW,
    SHARED_START,
    SHARED_WINDOW,
    Site,
)
from gpucodegen.ptx.types import Array, Mask, Value, align

Resolved = tuple[str, Array | None, Array]
"""A space, the active lanes (None: all) and their offsets in the space's array."""


class Accesses:
    """The memory of one batch as its lanes see it."""

    def __init__(
        self, warps: Warps, counters: Counters | None, global_marks: Marks | None
    ) -> None:
        batch = self.batch = warps.batch
        self.warps, self.counters = warps, counters
        launch = batch.launch
        self.memory = launch.memory
        size = align(max(launch.shared_bytes, 1), 16)
        shared = np.full(batch.blocks * size, POISON, np.uint8)
        local = align(max(launch.entry.local.size, 1), 16)
        self.shared = shared
        self.shared_end = SHARED_START + launch.shared_bytes
        self.shared_start = batch.row * size - SHARED_START
        self.local_start = np.arange(batch.lanes) * local
        stack = np.full(batch.lanes * local, POISON, np.uint8)
        self.units = {
            "global": launch.memory.units,
            "const": launch.memory.units,
            "shared": views(shared),
            "local": views(stack),
        }
        self.marks: dict[str, Marks] = {}
        if launch.check and global_marks is not None:
            shift = launch.program.granule("shared")
            cells = len(shared) >> shift
            zeros = np.zeros((2, cells), np.int64)
            self.marks["shared"] = Marks(zeros[0], zeros[1], shift, shared=True)
            self.marks["global"] = global_marks

    def resolve(self, site: Site, address: Value, mask: Mask) -> Resolved:
        """Where an access goes; faults if it is misaligned or out of bounds."""
        lanes = None if mask is None else np.flatnonzero(mask)
        count = self.batch.lanes if lanes is None else len(lanes)
        if address.ndim == 0:
            address = np.full(count, address)
        elif lanes is not None:
            address = address[lanes]
        if site.offset:
            address = address + site.offset
        odd = address & (site.width - 1)
        if site.width > 1 and odd.any():
            at = int(np.argmax(odd != 0))
            text = f"address {int(address[at]):#x} of an access of {site.width} bytes"
            self._fault(faults.MISALIGNED, f"misaligned {text}", site, lanes, at)
        space = site.space
        if space == "generic":
            space, address = self._specific(site, lanes, address)
        if space == "shared":
            return space, lanes, self._in_shared(site, lanes, address)
        if space == "local":
            return space, lanes, self._in_local(site, lanes, address)
        offsets = address - BASE
        outside = self.memory.outside(offsets, site.width)
        if outside is not None:
            at = int(np.argmax(outside))
            where = self.memory.nearest(int(address[at]))
            self._outside(space, site, lanes, int(address[at]), at, where)
        return space, lanes, offsets

    def _specific(
        self, site: Site, lanes: Array | None, address: Array
    ) -> tuple[str, Array]:
        """The space in which generic addresses lie: one for all lanes."""
        low, high = int(address.min()), int(address.max())
        if low >= BASE:
            return "global", address
        if low >= LOCAL_WINDOW and high < BASE:
            return "local", address - LOCAL_WINDOW
        if low >= SHARED_WINDOW and high < LOCAL_WINDOW:
            return "shared", address - SHARED_WINDOW
        at = int(np.argmin(address))
        self._outside("generic", site, lanes, low, at, "no space lies there")
        raise AssertionError

    def _in_shared(self, site: Site, lanes: Array | None, address: Array) -> Array:
        low, high = address.min(), address.max()
        if low < SHARED_START or high + site.width > self.shared_end:
            beyond = address + site.width > self.shared_end
            at = int(np.argmax((address < SHARED_START) | beyond))
            size = self.shared_end - SHARED_START
            offset = int(address[at]) - SHARED_START
            where = f"offset {offset} of {size} shared bytes"
            self._outside("shared", site, lanes, int(address[at]), at, where)
        start = self.shared_start
        return address + (start if lanes is None else start[lanes])

    def _in_local(self, site: Site, lanes: Array | None, address: Array) -> Array:
        size = self.batch.launch.entry.local.size
        if address.min() < 0 or address.max() + site.width > size:
            at = int(np.argmax((address < 0) | (address + site.width > size)))
            where = f"of {size} local bytes"
            self._outside("local", site, lanes, int(address[at]), at, where)
        start = self.local_start
        return address + (start if lanes is None else start[lanes])

    def _outside(
        self,
        space: str,
        site: Site,
        lanes: Array | None,
        address: int,
        at: int,
        where: str,
    ) -> None:
        text = f"{space} access of {site.width} bytes out of bounds at {address:#x}"
        self._fault(faults.OUT_OF_BOUNDS, f"{text} ({where})", site, lanes, at)

    def _fault(
        self, kind: str, text: str, site: Site, lanes: Array | None, at: int
    ) -> None:
        lane = at if lanes is None else int(lanes[at])
        self.batch.fault(kind, text, site.index, lane)

    def checked(self, clash: Clash | None, site: Site, lanes: Array | None) -> None:
        """Fault if the marks found something wrong."""
        if clash is not None:
            self._fault(clash.kind, clash.message, site, lanes, clash.at)

    def load(self, site: Site, address: Value, mask: Mask) -> Sequence[Array]:
        """One array over all lanes for each element that a lane loads."""
        space, lanes, offsets = self.resolve(site, address, mask)
        self.noted(space, site, lanes, offsets)
        marks = self.marks.get(space)
        if marks is not None:
            mine = self.batch.marks if lanes is None else self.batch.marks[lanes]
            self.checked(marks.read(offsets, site.width, mine), site, lanes)
        found = self.units[space][site.width][offsets >> site.shift].view(site.dtype)
        rows: Sequence[Array] = [found]
        if site.count > 1:
            rows = list(np.ascontiguousarray(found.reshape(-1, site.count).T))
        if lanes is None:
            return rows
        result = np.zeros((site.count, self.batch.lanes), site.dtype)
        result[:, lanes] = rows
        return list(result)

    def store(
        self, site: Site, address: Value, values: Sequence[Value], mask: Mask
    ) -> None:
        """Store one value of each lane, or a vector."""
        space, lanes, offsets = self.resolve(site, address, mask)
        self.noted(space, site, lanes, offsets)
        marks = self.marks.get(space)
        if marks is not None:
            mine = self.batch.marks if lanes is None else self.batch.marks[lanes]
            self.checked(marks.write(offsets, site.width, mine), site, lanes)
        new = np.empty((len(offsets), site.count), site.dtype)
        for column, value in enumerate(values):
            single = lanes is None or value.ndim == 0
            new[:, column] = value if single else value[lanes]
        target = self.units[space][site.width]
        target[offsets >> site.shift] = new.reshape(-1).view(target.dtype)

    def atomic(
        self,
        site: Site,
        address: Value,
        what: str,
        values: Sequence[Value],
        wanted: bool,
        mask: Mask,
    ) -> Value:
        """Change memory lane by lane; what was there before, if it is wanted."""
        space, lanes, offsets = self.resolve(site, address, mask)
        self.noted(space, site, lanes, offsets)
        view = self.units[space][site.width].view(site.dtype)
        places = offsets >> site.shift
        operands = [_taken(value, len(places), lanes) for value in values]
        if what in _UFUNCS and not wanted:
            _UFUNCS[what].at(view, places, operands[0])
            return None
        old = np.empty(len(places), site.dtype)
        left = np.arange(len(places))
        while len(left):  # lanes in their order, those with one address in turns
            first = np.unique(places[left], return_index=True)[1]
            now = left[first]
            before = view[places[now]]
            old[now] = before
            view[places[now]] = _updated(what, before, [v[now] for v in operands])
            left = np.delete(left, first)
        if lanes is None:
            return old
        result = np.zeros(self.batch.lanes, site.dtype)
        result[lanes] = old
        return result

    def noted(
        self, space: str, site: Site, lanes: Array | None, offsets: Array
    ) -> None:
        """Count an access, if this launch is counted."""
        counters = self.counters
        if counters is not None and space != "local":
            counters.access(self.warps, space, site.index, site.width, lanes, offsets)


_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _taken(value: Value, count: int, lanes: Array | None) -> Array:
    if value.ndim == 0:
        return np.full(count, value)
    return value if lanes is None else value[lanes]


def _updated(what: str, old: Array, operands: list[Array]) -> Any:
    first, one = operands[0], old.dtype.type(1)
    match what:
        case "cas":
            return select(old == first, operands[1], old)
        case "exch":
            return first
        case "inc":
            return select(old >= first, old.dtype.type(0), old + one)
        case "dec":
            return select((old == 0) | (old > first), first, old - one)
        case _:
            return _UFUNCS[what](old, first)
