"""Bulk copies from shared to global memory, which land when they are waited for.

Until then the engine may read their sources at any time: they must not change.  Nor may
anyone touch their destinations: a wait for their reads alone frees the sources only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.asynchronous.mbarriers import MBarriers
from gpucodegen.ptx.memory import BASE
from gpucodegen.ptx.translation.sites import Site
from gpucodegen.ptx.types import Array, Mask, Value


@dataclass(frozen=True, slots=True)
class BulkStore:
    """A store on its way: what each byte was, whence and whither it goes.

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
    """The stores of one batch without a wait so far."""

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
        """Start a store of so many bytes of each lane."""
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
        """Start a store of a tensor's box of each lane; bytes outside go nowhere."""
        _, lanes, origins = self.accesses.resolve(source, of, mask)
        every = self.batch.lanes
        mine = np.arange(every) if lanes is None else lanes
        maps = np.broadcast_to(descriptor, every)[mine].tolist()
        corners = np.stack([np.broadcast_to(c, every)[mine] for c in corner], -1)
        rows = zip(mine.tolist(), origins.tolist(), maps, corners.tolist(), strict=True)
        for lane, origin, address, place in rows:
            rank = len(corner)
            tensor, own = self.mbarriers.tensor(source, lane, address, rank, origin)
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
        """Close the group of stores that these lanes have started."""
        self.group[... if mask is None else mask] += 1

    def wait(self, newest: int, reads: bool, mask: Mask) -> None:
        """Land the groups of these lanes but for the newest; or only read them."""
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
        """The store behind its reads, all of which are as they were at the start."""
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
        """Land what was read; fault if threads end whose stores were not waited for."""
        for store in self.pending:
            if not store.read:
                text = "the kernel ends with a bulk store that was not waited for"
                self.batch.fault(faults.IN_FLIGHT, text, store.site.index, store.lane)
            self._land(store)
