"""Loads and stores of a launch with one thread, without arrays over lanes.

Registers are NumPy scalars while all lanes agree, so a lone lane computes with scalars
as soon as its loads give scalars.  A place that the lane reached before is looked up in
the allocation it lay in then; whatever is unusual goes the way of many lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpucodegen.ptx.execution.counting.counters import Counters
from gpucodegen.ptx.execution.order.marks import Marks
from gpucodegen.ptx.execution.spaces.accesses import Accesses
from gpucodegen.ptx.execution.warps import Warps
from gpucodegen.ptx.memory import BASE
from gpucodegen.ptx.translation.sites import SHARED_START, Site
from gpucodegen.ptx.types import Array, Mask, Value


class Stretch(NamedTuple):
    """Where accesses of a site are known to be allowed.

    ``low`` and ``high`` bound their addresses, ``start`` is the address of the first
    element of ``view``.  ``writers`` tell which cells were written; there is a cell for
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
        self, warps: Warps, counters: Counters | None, global_marks: Marks | None
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

    def atomic(
        self,
        site: Site,
        address: Value,
        what: str,
        operands: Sequence[Sequence[Value]],
        wanted: bool,
        mask: Mask,
    ) -> Sequence[Value]:
        """Change memory; what was there before, if it is wanted."""
        before = super().atomic(site, address, what, operands, wanted, mask)
        return [old[0] for old in before]

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
        """Know the stretch in which an access went well."""
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
