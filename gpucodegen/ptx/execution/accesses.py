"""Memory accesses of emulated kernels: loads, stores and atomics, each one checked.

`Accesses` serves many lanes at once: it takes a site, addresses, values and a mask, and
returns the loaded values.  Addresses become byte offsets into one array per space: the
arena of global memory, the shared memory of all blocks of the batch, the local memory
of all its lanes. `SerialAccesses` serves a launch with one thread: registers are NumPy
scalars while all lanes agree, so a lone lane computes with scalars.  It looks up an
address in the allocation of an earlier access, and leaves unusual cases to `Accesses`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.barriers import Clusters
from gpucodegen.ptx.execution.counters import Counters
from gpucodegen.ptx.execution.lanes import UFUNCS, Warps
from gpucodegen.ptx.execution.release_clocks import Releases
from gpucodegen.ptx.execution.shadow_memory import Clash, ShadowMemory
from gpucodegen.ptx.execution.vector_clocks import (
    LastReaders,
    Touch,
    VectorClocks,
    WarpReaders,
)
from gpucodegen.ptx.floats import from_bf16, maximum, minimum, to_bf16
from gpucodegen.ptx.integers import select
from gpucodegen.ptx.memory import BASE, TensorMap, views
from gpucodegen.ptx.translation.operands import (
    LOCAL_WINDOW,
    PARAMETER_WINDOW,
    RANK,
    SHARED_START,
    SHARED_WINDOW,
    Site,
)
from gpucodegen.ptx.translation.program import EntryProgram
from gpucodegen.ptx.types import POISON, Array, Mask, Value, align

PATIENCE = 20_000
"""Strong reads in which nothing changes, before they count as a deadlock."""
WHOLE = 0xFFFFFFFF
"""The bits of an address of shared or local memory; a sum with an offset wraps."""
Resolved = tuple[str, Array | None, Array]
"""A space, the active lanes (None: all) and their offsets in the space's array."""


class Accesses:
    """The memory of one batch, as its lanes address it."""

    def __init__(
        self, warps: Warps, counters: Counters | None, global_marks: ShadowMemory | None
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
        self.block_bytes = size
        self.clusters = Clusters(batch)
        self.local_start = np.arange(batch.lanes) * local
        stack = np.full(batch.lanes * local, POISON, np.uint8)
        self.units = {
            "global": launch.memory.units,
            "const": launch.memory.units,
            "shared": views(shared),
            "local": views(stack),
            "param": views(_padded(launch.parameters)),
        }
        self.marks: dict[str, ShadowMemory] = {}
        self.releases: Releases | None = None
        self.clocks: VectorClocks = batch.clocks
        if launch.check and global_marks is not None:
            self.marks["shared"] = _shared_marks(
                launch.program, len(shared), self.clocks
            )
            self.marks["global"] = global_marks
            if self.clocks.fine:
                published = global_marks.published
                self.releases = Releases(self.clocks, published)
                self.clocks.releases = self.releases
        self.polls = 0
        """Strong reads since memory last changed."""

    def resolve(self, site: Site, address: Value, mask: Mask) -> Resolved:
        """The offset of an access; faults if it is misaligned or out of bounds."""
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
        if space in ("shared", "cluster"):
            return "shared", lanes, self._in_shared(site, lanes, address)
        if space == "local":
            return space, lanes, self._in_local(site, lanes, address)
        if space == "param":
            return space, lanes, self._in_parameters(site, lanes, address)
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
        """The space that generic addresses refer to: one for all lanes."""
        low, high = int(address.min()), int(address.max())
        if low >= BASE:
            return "global", address
        if low >= PARAMETER_WINDOW and high < BASE:
            return "param", address - PARAMETER_WINDOW
        if low >= LOCAL_WINDOW and high < PARAMETER_WINDOW:
            return "local", address - LOCAL_WINDOW
        if low >= SHARED_WINDOW and high < LOCAL_WINDOW:
            return "shared", address - SHARED_WINDOW
        at = int(np.argmin(address))
        self._outside("generic", site, lanes, low, at, "no space lies there")
        raise AssertionError

    def _in_shared(self, site: Site, lanes: Array | None, address: Array) -> Array:
        low, high = address.min(), address.max()
        rows = None
        if high >= 1 << RANK:
            address = address & WHOLE
            if address.max() >= 1 << RANK:
                rows = self.clusters.rows(site, lanes, address)
                address = address & ((1 << RANK) - 1)
            low, high = address.min(), address.max()
        if low < SHARED_START or high + site.width > self.shared_end:
            beyond = address + site.width > self.shared_end
            at = int(np.argmax((address < SHARED_START) | beyond))
            size = self.shared_end - SHARED_START
            offset = int(address[at]) - SHARED_START
            where = f"offset {offset} of {size} shared bytes"
            self._outside("shared", site, lanes, int(address[at]), at, where)
        if rows is not None:
            return address + rows * self.block_bytes - SHARED_START
        start = self.shared_start
        return address + (start if lanes is None else start[lanes])

    def end_of(self, place: int) -> int:
        """The end of the shared memory of the block that a place belongs to."""
        first = place // self.block_bytes * self.block_bytes
        return first + self.shared_end - SHARED_START

    def _in_local(self, site: Site, lanes: Array | None, address: Array) -> Array:
        size = self.batch.launch.entry.local.size
        if address.max() > WHOLE:
            address = address & WHOLE
        if address.min() < 0 or address.max() + site.width > size:
            at = int(np.argmax((address < 0) | (address + site.width > size)))
            where = f"of {size} local bytes"
            self._outside("local", site, lanes, int(address[at]), at, where)
        start = self.local_start
        return address + (start if lanes is None else start[lanes])

    def _in_parameters(self, site: Site, lanes: Array | None, address: Array) -> Array:
        size = len(self.batch.launch.parameters)
        if address.min() < 0 or address.max() + site.width > size:
            at = int(np.argmax((address < 0) | (address + site.width > size)))
            where = f"of {size} bytes of parameters"
            self._outside("param", site, lanes, int(address[at]), at, where)
        return address

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
        """Raises a fault if the shadow memory found a clash."""
        if clash is not None:
            self._fault(clash.kind, clash.message, site, lanes, clash.at)

    def touch(self, space: str, width: int, lanes: Array | None, at: Array) -> Touch:
        """An access in the terms of the shadow memory of its space."""
        return self.marks[space].touch(self.clocks, at, width, lanes)

    def check(
        self,
        how: str,
        space: str,
        site: Site,
        lanes: Array | None,
        offsets: Array,
        width: int = 0,
    ) -> None:
        """Raises a fault if an access races, or reads unwritten memory.

        ``width`` is that of the site, in bytes, unless it is given.
        """
        marks = self.marks.get(space)
        if marks is not None:
            touch = self.touch(space, width or site.width, lanes, offsets)
            if how == "atomic":
                clash = marks.atomic(self.clocks, touch)
            else:
                check = marks.read if how == "read" else marks.write
                clash = check(self.clocks, touch, bool(site.order))
            self.checked(clash, site, lanes)
            if site.order and self.releases is not None:
                self._publish(how, space, site, lanes, offsets)

    def _publish(
        self, how: str, space: str, site: Site, lanes: Array | None, offsets: Array
    ) -> None:
        reads, writes = how != "write", how != "read"
        who = range(self.batch.lanes) if lanes is None else lanes.tolist()
        places = offsets.tolist()
        if self.releases is not None:
            self.releases.operate(space, site.order, reads, writes, who, places)

    def _poll(self, site: Site, lanes: Array | None) -> None:
        """Raises a fault if threads keep reading memory that no thread changes."""
        self.polls += 1
        if self.polls > PATIENCE:
            lane = 0 if lanes is None else int(lanes[0])
            here = np.zeros(self.batch.lanes, bool)
            here[... if lanes is None else lanes] = True
            where = self.batch.whereabouts(site.index, here)
            text = f"deadlock: {where}, and nobody changes what they read"
            self.batch.fault(faults.DEADLOCK, text, site.index, lane)

    def visit(self, site: Site, address: Value, mask: Mask) -> None:
        """Counts an access whose values do not matter."""
        space, lanes, offsets = self.resolve(site, address, mask)
        self.noted(space, site, lanes, offsets)

    def load(self, site: Site, address: Value, mask: Mask) -> Sequence[Array]:
        """One array over all lanes for each element that a lane loads."""
        space, lanes, offsets = self.resolve(site, address, mask)
        self.noted(space, site, lanes, offsets)
        self.check("read", space, site, lanes, offsets)
        if site.order:
            self._poll(site, lanes)
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
        self.check("write", space, site, lanes, offsets)
        self.polls = 0
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
        operands: Sequence[Sequence[Value]],
        wanted: bool,
        mask: Mask,
        /,
    ) -> Sequence[Array]:
        """Updates each element lane by lane; returns the old values if wanted."""
        space, lanes, offsets = self.resolve(site, address, mask)
        self.noted(space, site, lanes, offsets)
        self.check("atomic", space, site, lanes, offsets)
        view = self.units[space][site.size].view(site.dtype)
        first = offsets // site.size
        before: list[Array] = []
        changes = False
        for column, values in enumerate(operands):
            taken = [_taken(value, len(first), lanes) for value in values]
            ordered = view.dtype.kind != "f" or what == "add"
            if what in UFUNCS and ordered and not wanted:
                UFUNCS[what].at(view, first + column, taken[0])
                changes = True
                continue
            old = changed(what, view, first + column, taken)
            changes |= bool((view[first + column] != old).any())
            if lanes is not None:
                kept, old = old, np.zeros(self.batch.lanes, site.dtype)
                old[lanes] = kept
            before.append(old)
        if changes:
            self.polls = 0
        else:
            self._poll(site, lanes)
        return before

    def noted(
        self, space: str, site: Site, lanes: Array | None, offsets: Array
    ) -> None:
        """Counts an access, if this launch is measured."""
        counters = self.counters
        if counters is not None and space not in ("local", "param"):
            counters.access(self.warps, space, site.index, site.width, lanes, offsets)

    def stretched(
        self, space: str, site: Site, lane: int, start: int, size: int
    ) -> None:
        """Counts bytes that the copy engine moves, if this launch is measured."""
        if self.counters is not None and size:
            stretch = space, site.index, lane, start, size
            self.counters.stretch(self.warps, *stretch)

    def boxed(self, direction: str, tensor: TensorMap) -> None:
        """Notes a copy of a tensor's box, if this launch is measured."""
        if self.counters is not None:
            self.counters.tensors[direction, tensor.address - BASE] = tensor.span


def _shared_marks(
    program: EntryProgram, nbytes: int, clocks: VectorClocks
) -> ShadowMemory:
    """Empty shadow memory for the shared memory of a batch."""
    shift = program.granule("shared")
    cells, fine = nbytes >> shift, program.is_fine
    writers, *others = (np.zeros(cells, np.int64) for _ in range(3))
    clustered = clocks.together > 1
    last, changed = (
        LastReaders(words, shared=True, fine=fine, clustered=clustered)
        for words in others
    )
    readers = WarpReaders(cells, clocks) if fine else last
    atomics = changed if program.has_atomics else None
    return ShadowMemory(writers, readers, atomics, shift, shared=True)


def _padded(parameters: bytes) -> Array:
    return np.frombuffer(parameters.ljust(align(len(parameters), 16), b"\0"), "u1")


def _taken(value: Value, count: int, lanes: Array | None) -> Array:
    if value.ndim == 0:
        return np.full(count, value)
    return value if lanes is None else value[lanes]


def changed(what: str, view: Array, places: Array, operands: list[Array]) -> Array:
    """Updates elements in the order of lanes; returns the old value of each lane.

    >>> cells = np.zeros(2, "i4")
    >>> changed("add", cells, np.array([1, 1]), [np.int32([5, 6])]), cells
    (array([0, 5], dtype=int32), array([ 0, 11], dtype=int32))
    """
    old = np.empty(len(places), view.dtype)
    left = np.arange(len(places))
    while len(left):  # those with one address take turns
        first = np.unique(places[left], return_index=True)[1]
        now = left[first]
        before = view[places[now]]
        old[now] = before
        view[places[now]] = _updated(what, before, [v[now] for v in operands])
        left = np.delete(left, first)
    return old


def _updated(what: str, old: Array, operands: list[Array]) -> Any:
    first, one = operands[0], old.dtype.type(1)
    match what:
        case "cas":
            return np.where(_alike(old, first), operands[1], old)
        case "exch":
            return first
        case "inc":
            return select(old >= first, old.dtype.type(0), old + one)
        case "dec":
            return select((old == 0) | (old > first), first, old - one)
        case "add.bf16" | "min.bf16" | "max.bf16":
            form = _EXTREMES.get(what[:3], np.add)
            return to_bf16(form(from_bf16(old), from_bf16(first)))
        case "min" | "max" if old.dtype.kind == "f":
            return _EXTREMES[what](old, first)
        case _:
            return UFUNCS[what](old, first)


_EXTREMES = {"min": minimum, "max": maximum}


def _alike(a: Array, b: Array) -> Array:
    """Whether words have the same bits; NumPy has no plain 128-bit words."""
    if a.dtype.itemsize <= 8:
        return a == b
    x, y = (np.ascontiguousarray(v).view("u8").reshape(-1, 2) for v in (a, b))
    return (x == y).all(1)


class Stretch(NamedTuple):
    """A range of addresses in which accesses of a site are known to be valid.

    ``low`` and ``high`` bound the addresses, ``start`` is the address of the first
    element of ``view``.  ``writers`` is the shadow memory of writes, with a cell for
    each ``1 << shift`` bytes.
    """

    low: int
    high: int
    start: int
    view: Array
    writers: Array | None
    shift: int = 0


class SerialAccesses(Accesses):
    """The memory of the only lane of a launch."""

    def __init__(
        self, warps: Warps, counters: Counters | None, global_marks: ShadowMemory | None
    ) -> None:
        super().__init__(warps, counters, global_marks)
        self.marks.pop("global", None)  # nobody else is there
        self._known: dict[Site, Stretch] = {}

    def load(self, site: Site, address: Value, mask: Mask) -> Sequence[Value]:
        """The elements that the lane loads, as scalars."""
        known, at = self._known.get(site), int(address) + site.offset
        if known is None or not self._plain(known, site, at, 1):
            rows = super().load(site, address, mask)
            self._remember(site, at)
            return [row[0] for row in rows]
        first = (at - known.start) // site.size
        if site.count == 1:
            return (known.view[first],)
        return list(known.view[first : first + site.count])

    def store(
        self, site: Site, address: Value, values: Sequence[Value], mask: Mask
    ) -> None:
        """Store one value, or a vector."""
        known, at = self._known.get(site), int(address) + site.offset
        if known is None or not self._plain(known, site, at, 0):
            super().store(site, address, values, mask)
            self._remember(site, at)
            return
        first = (at - known.start) // site.size
        for place, value in enumerate(values, first):
            known.view[place] = value if value.ndim == 0 else value[0]
        if known.writers is not None:
            shift, start = known.shift, at - known.start
            cells = slice(start >> shift, (start + site.width) >> shift)
            known.writers[cells] = self.clocks.marks[0]

    def atomic(self, *access: Any) -> Sequence[Value]:
        """Updates memory; returns the old value, if wanted."""
        return [old[0] for old in super().atomic(*access)]

    def _plain(self, known: Stretch, site: Site, at: int, least: int) -> bool:
        """Whether an access is in bounds, aligned, and its cells are ready."""
        if not known.low <= at <= known.high or at & (site.width - 1):
            return False
        if known.writers is None:
            return True
        shift, start = known.shift, at - known.start
        if site.width >> shift == 1:
            return known.writers[start >> shift] >= least
        return (
            known.writers[start >> shift : (start + site.width) >> shift].min() >= least
        )

    def _remember(self, site: Site, at: int) -> None:
        """Stores the valid range around a successful access."""
        if self.counters is not None:
            return
        if site.space == "shared":
            view, high = self.shared.view(site.dtype), self.shared_end - site.width
            stretch = Stretch(SHARED_START, high, SHARED_START, view, None)
            if (marks := self.marks.get("shared")) is not None:
                stretch = stretch._replace(writers=marks.writers, shift=marks.shift)
        elif site.space == "local":
            high = self.batch.launch.entry.local.size - site.width
            view = self.units["local"][1].view(site.dtype)
            stretch = Stretch(0, high, 0, view, None)
        elif at >= BASE:
            low, end = self.memory.allocation(at)
            view = self.memory.data.view(site.dtype)
            stretch = Stretch(low, end - site.width, BASE, view, None)
        else:  # a parameter, or a generic address of another space
            return
        self._known[site] = stretch
