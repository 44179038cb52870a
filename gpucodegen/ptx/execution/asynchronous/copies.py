"""``cp.async``: copies from global to shared memory that land when waited for.

They land as late as they may, at the wait of the thread that started them, so that a
missing wait shows: until then their destination is poisoned, and what touches it is
told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.accesses import Accesses
from gpucodegen.ptx.memory import BASE
from gpucodegen.ptx.translation.sites import Site
from gpucodegen.ptx.types import Array, Mask, Value

_UNREADY = 0xFF


@dataclass(frozen=True, slots=True)
class Pending:
    """Copies on their way: by which lanes, whither, whence, how many bytes each."""

    lanes: Array
    targets: Array
    sources: Array
    sizes: Array
    groups: Array
    width: int

    def where(self, chosen: Array) -> Pending:
        """Some of them."""
        return replace(
            self,
            lanes=self.lanes[chosen],
            targets=self.targets[chosen],
            sources=self.sources[chosen],
            sizes=self.sizes[chosen],
            groups=self.groups[chosen],
        )


class Copies:
    """The copies of one batch without a wait so far."""

    def __init__(self, accesses: Accesses) -> None:
        self.accesses, self.batch = accesses, accesses.batch
        self.group = np.zeros(self.batch.lanes, np.int64)
        self.pending: list[Pending] = []

    def start(
        self,
        target: Site,
        to: Value,
        source: Site,
        of: Value,
        real: Value | None,
        mask: Mask,
    ) -> None:
        """Start a copy; ``real`` bytes come from the source, zeros fill the rest."""
        accesses, batch = self.accesses, self.batch
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
        marks = accesses.marks.get("shared")
        if marks is not None:
            clash = marks.write(targets, target.width, batch.marks[mine])
            accesses.checked(clash, target, lanes)
            marks.start_copy(targets, target.width, batch.marks[mine])
        cells = targets[:, None] + np.arange(target.width)
        accesses.shared[cells] = _UNREADY
        groups = self.group[mine]
        self.pending.append(
            Pending(mine, targets, sources, sizes, groups, target.width)
        )

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
        """Close the group of copies that these lanes have started."""
        self.group[... if mask is None else mask] += 1

    def wait(self, newest: int, mask: Mask) -> None:
        """Land the groups of these lanes but for the newest; -1: open ones as well."""
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
        batch, columns = self.batch, np.arange(copy.width)
        data = np.zeros((len(copy.lanes), copy.width), np.uint8)
        real = columns < copy.sizes[:, None]
        data[real] = batch.launch.memory.data[(copy.sources[:, None] + columns)[real]]
        self.accesses.shared[copy.targets[:, None] + columns] = data
        marks = self.accesses.marks.get("shared")
        if marks is not None:
            marks.land(copy.targets, copy.width, batch.marks[copy.lanes])
