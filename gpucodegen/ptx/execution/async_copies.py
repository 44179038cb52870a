"""Emulation of ``cp.async``, and of bulk stores from shared to global memory.

Both land as late as possible, at the wait of the thread that started them, so that a
missing wait is found: until then the destination is poisoned, and any access to it is a
fault.  The engine may read the sources of a bulk store at any time before its wait, so
they must not change; a wait for reads only frees the sources.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.accesses import Accesses
from gpucodegen.ptx.execution.cost import WRITES
from gpucodegen.ptx.execution.mbarriers import MBarriers
from gpucodegen.ptx.memory import BASE
from gpucodegen.ptx.translation.operands import Site
from gpucodegen.ptx.types import Array, Mask, Value
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class BulkStore:
    """A store in flight: the bytes, their sources and targets.

    Targets count from the start of the arena.  ``read``: the engine has read the
    sources, which may change.
    """

    lane: int
    group: int
    sources: Array
    targets: Array
    before: Array
    site: Site
    read: bool = False


class BulkStores:
    """The pending stores of one batch."""

    def __init__(self, mbarriers: MBarriers) -> None:
        self.mbarriers, self.accesses = mbarriers, mbarriers.accesses
        self.batch = self.accesses.batch
        self.group = np.zeros(self.batch.lanes, np.int64)
        self.pending: list[BulkStore] = []

    def start(
        self,
        source: Site,
        of: Value,
        target: Site,
        to: Value,
        size: Value,
        mask: Mask,
    ) -> None:
        """Starts a store of ``size`` bytes of each lane."""
        _, lanes, origins = self.accesses.resolve(source, of, mask)
        _, _, places = self.accesses.resolve(target, to, mask)
        every = self.batch.lanes
        mine = np.arange(every) if lanes is None else lanes
        sizes = np.broadcast_to(size, every)[mine].tolist()
        rows = zip(mine.tolist(), origins.tolist(), places.tolist(), sizes, strict=True)
        for lane, origin, place, nbytes in rows:
            if self.accesses.memory.outside(np.array([place]), nbytes) is not None:
                where = self.accesses.memory.nearest(place + BASE)
                text = f"bulk store of {nbytes} bytes out of bounds ({where})"
                self.batch.fault(faults.OUT_OF_BOUNDS, text, source.index, lane)
            self.accesses.stretched("shared", source, lane, origin, nbytes)
            self.accesses.stretched("global", target, lane, place, nbytes)
            if not self.batch.launch.program.moves_data:
                continue
            each: Array = np.arange(int(nbytes))
            self._start(source, lane, origin, each, place + each)

    def start_tensor(
        self,
        source: Site,
        of: Value,
        descriptor: Value,
        corner: tuple[Value, ...],
        mask: Mask,
    ) -> None:
        """Starts a store of a tensor's box of each lane; bytes outside are dropped."""
        _, lanes, origins = self.accesses.resolve(source, of, mask)
        every = self.batch.lanes
        mine = np.arange(every) if lanes is None else lanes
        maps = np.broadcast_to(descriptor, every)[mine].tolist()
        corners = np.stack([np.broadcast_to(c, every)[mine] for c in corner], -1)
        rows = zip(mine.tolist(), origins.tolist(), maps, corners.tolist(), strict=True)
        for lane, origin, address, place in rows:
            rank = len(corner)
            tensor, own = self.mbarriers.tensor(source, lane, address, rank, origin)
            self.accesses.boxed(WRITES, tensor)
            if not self.batch.launch.program.moves_data:
                continue
            targets = tensor.bytes_at(tuple(place))
            self._start(source, lane, origin, tensor.places(own), targets)

    def _start(
        self, site: Site, lane: int, origin: int, places: Array, targets: Array
    ) -> None:
        used, aims = places[targets >= 0], targets[targets >= 0]
        self.mbarriers.check_shared_source(site, lane, origin, len(places), used)
        pieces = np.unique(aims // site.width) * site.width
        if len(pieces):
            lanes = np.full(len(pieces), lane)
            self.accesses.check("write", "global", site, lanes, pieces)
        marks = self.accesses.marks.get("global")
        if marks is not None:
            marks.start_store(aims)
        sources = origin + used
        before = self.accesses.shared[sources]
        group = int(self.group[lane])
        self.pending.append(BulkStore(lane, group, sources, aims, before, site))

    def commit(self, mask: Mask) -> None:
        """Closes the group of stores that these lanes have started."""
        self.group[... if mask is None else mask] += 1

    def wait(self, newest: int, reads: bool, mask: Mask) -> None:
        """Lands all but the newest groups of these lanes, or only reads sources."""
        kept: list[BulkStore] = []
        for store in self.pending:
            waits = mask is None or mask[store.lane]
            if not waits or store.group >= self.group[store.lane] - newest:
                kept.append(store)
            elif reads:
                kept.append(self._read(store))
            else:
                self._land(self._read(store))
        self.pending = kept

    def _read(self, store: BulkStore) -> BulkStore:
        """The store after its reads; its sources must be unchanged."""
        if store.read:
            return store
        data = self.accesses.shared[store.sources]
        if self.accesses.marks and (data != store.before).any():
            text = "the source of a bulk store was overwritten before it was waited for"
            self.batch.fault(faults.IN_FLIGHT, text, store.site.index, store.lane)
        return replace(store, before=data, read=True)

    def _land(self, store: BulkStore) -> None:
        self.accesses.memory.data[store.targets] = store.before
        marks = self.accesses.marks.get("global")
        if marks is not None:
            marks.land_store(store.targets, int(self.batch.clocks.marks[store.lane]))

    def check_end(self) -> None:
        """Lands stores that were read; faults if threads end without a wait."""
        for store in self.pending:
            if not store.read:
                text = "the kernel ends with a bulk store that was not waited for"
                self.batch.fault(faults.IN_FLIGHT, text, store.site.index, store.lane)
            self._land(store)


_UNREADY = 0xFF


@dataclass(frozen=True, slots=True)
class Pending:
    """Copies in flight: lanes, targets, sources, bytes."""

    lanes: Array
    targets: Array
    sources: Array
    sizes: Array
    groups: Array
    before: Array
    """The contents of the sources at the start."""
    width: int
    site: int
    """Number of the instruction."""

    def where(self, chosen: Array) -> Pending:
        return replace(
            self,
            lanes=self.lanes[chosen],
            targets=self.targets[chosen],
            sources=self.sources[chosen],
            sizes=self.sizes[chosen],
            groups=self.groups[chosen],
            before=self.before[chosen],
        )


CopyOperands = tuple[Site, Value, Site, Value, Value | None]
"""Target and its address, source and its address, and the bytes that are read."""


class Copies:
    """The pending copies of one batch."""

    def __init__(self, accesses: Accesses) -> None:
        self.accesses, self.batch = accesses, accesses.batch
        self.group = np.zeros(self.batch.lanes, np.int64)
        self.pending: list[Pending] = []

    def start(self, copy: CopyOperands, mask: Mask) -> None:
        """Starts a copy; ``real`` bytes come from the source, zeros fill the rest."""
        accesses, (target, _, source, *_) = self.accesses, copy
        lanes, targets, sources, sizes = self.visit(copy, mask)
        mine = np.arange(self.batch.lanes) if lanes is None else lanes
        for size in np.unique(sizes[sizes > 0]):
            of_size = sizes == size
            lanes_of, from_there = mine[of_size], sources[of_size]
            accesses.check("read", "global", source, lanes_of, from_there, int(size))
        accesses.check("write", "shared", target, lanes, targets)
        marks = accesses.marks.get("shared")
        if marks is not None:
            marks.start_copy(accesses.touch("shared", target.width, lanes, targets))
        cells = targets[:, None] + np.arange(target.width)
        accesses.shared[cells] = _UNREADY
        groups, width = self.group[mine], target.width
        before = self._data(sources, sizes, width)
        self.pending.append(
            Pending(mine, targets, sources, sizes, groups, before, width, target.index)
        )

    def visit(
        self, copy: CopyOperands, mask: Mask
    ) -> tuple[Array | None, Array, Array, Array]:
        """Counts a copy; returns its lanes, targets, sources and bytes."""
        accesses, batch = self.accesses, self.batch
        target, to, source, of, real = copy
        _, lanes, targets = accesses.resolve(target, to, mask)
        mine = np.arange(batch.lanes) if lanes is None else lanes
        if real is None:
            sizes = np.full(len(mine), target.width)
        else:
            sizes = np.broadcast_to(real, batch.lanes)[mine].astype("i8")
        sources = np.broadcast_to(of, batch.lanes)[mine] + (source.offset - BASE)
        self._check_sources(source, mine, sources, sizes)
        some = sizes > 0
        if some.any():
            accesses.noted("global", source, mine[some], sources[some])
        accesses.noted("shared", target, lanes, targets)
        return lanes, targets, sources, sizes

    def _data(self, sources: Array, sizes: Array, width: int) -> Array:
        """The present bytes of the sources, padded with zeros."""
        data, columns = np.zeros((len(sources), width), np.uint8), np.arange(width)
        real = columns < sizes[:, None]
        memory = self.batch.launch.memory.data
        data[real] = memory[(sources[:, None] + columns)[real]]
        return data

    def _check_sources(
        self, site: Site, lanes: Array, sources: Array, sizes: Array
    ) -> None:
        memory = self.batch.launch.memory
        odd = (sources & (site.width - 1) != 0) & (sizes > 0)
        if odd.any():
            text = f"misaligned source of a cp.async of {site.width} bytes"
            lane = int(lanes[np.argmax(odd)])
            self.batch.fault(faults.MISALIGNED, text, site.index, lane)
        for size in np.unique(sizes[sizes > 0]):
            alike = np.flatnonzero(sizes == size)
            outside = memory.outside(sources[alike], int(size))
            if outside is not None:
                at = int(alike[np.argmax(outside)])
                where = memory.nearest(int(sources[at]) + BASE)
                text = f"cp.async source out of bounds ({where})"
                lane = int(lanes[at])
                self.batch.fault(faults.OUT_OF_BOUNDS, text, site.index, lane)

    def commit(self, mask: Mask) -> None:
        """Closes the group of copies that these lanes have started."""
        self.group[... if mask is None else mask] += 1

    def wait(self, newest: int, mask: Mask) -> None:
        """Lands all but the newest groups of these lanes; -1: open ones as well."""
        kept: list[Pending] = []
        for copy in self.pending:
            done = copy.groups < self.group[copy.lanes] - newest
            if mask is not None:
                done &= mask[copy.lanes]
            if done.any():
                self._land(copy.where(done))
            if not done.all():
                kept.append(copy.where(~done))
        self.pending = kept

    def _land(self, copy: Pending) -> None:
        accesses, columns = self.accesses, np.arange(copy.width)
        data = self._data(copy.sources, copy.sizes, copy.width)
        accesses.shared[copy.targets[:, None] + columns] = data
        marks = accesses.marks.get("shared")
        if marks is None:
            return
        changed = (data != copy.before).any(1)
        if changed.any():
            text = "the source of a copy was overwritten before it was waited for"
            lane = int(copy.lanes[np.argmax(changed)])
            self.batch.fault(faults.IN_FLIGHT, text, copy.site, lane)
        marks.land(accesses.touch("shared", copy.width, copy.lanes, copy.targets))

    def check_end(self) -> None:
        """Raises a fault if threads end without a wait for their copies."""
        if self.pending and self.accesses.marks:
            copy = self.pending[0]
            text = "the kernel ends with a copy that was not waited for"
            self.batch.fault(faults.IN_FLIGHT, text, copy.site, int(copy.lanes[0]))
