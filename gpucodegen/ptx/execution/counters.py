"""Execution counters of a launch: instructions, sectors, wavefronts, operations."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from math import prod

import numpy as np

from gpucodegen.ptx.execution import cost
from gpucodegen.ptx.execution.cost import READS, WRITES, Footprint
from gpucodegen.ptx.execution.lanes import Warps
from gpucodegen.ptx.translation.program import EntryProgram
from gpucodegen.ptx.types import FLOATS, WARP, Array, Mask
from gpucodegen.records import dataclass

_OPERATIONS = {"fma": 2, "mad": 2, "add": 1, "sub": 1, "mul": 1, "div": 1}
_DIRECTIONS = {"ld": (READS,), "st": (WRITES,), "cp": (READS,), "ldu": (READS,)}
WORD = 16
"""Bytes of the pieces in which stretches of memory are looked at."""
_MMA = re.compile(r"(wg)?mma\..*\bm(\d+)n(\d+)k(\d+)\b")


@dataclass(slots=True)
class Traffic:
    """The traffic of one instruction, summed over its executions.

    ``cost`` counts sectors of 32 bytes in global memory and wavefronts in shared
    memory, ``ideal`` the least cost of the bytes of each request; ``bytes`` counts the
    requested bytes of warps, each once.  ``unmerged``: the cost if wide accesses to
    shared memory never merge phases.
    """

    requests: int = 0
    cost: int = 0
    ideal: int = 0
    bytes: int = 0
    unmerged: int = 0

    def add(self, other: Traffic) -> None:
        self.requests += other.requests
        self.cost += other.cost
        self.ideal += other.ideal
        self.bytes += other.bytes
        self.unmerged += other.unmerged


class Counters:
    """The counters of one launch."""

    def __init__(self, program: EntryProgram) -> None:
        self.program = program
        self.lanes: Counter[int] = Counter()
        self.warps: Counter[int] = Counter()
        self.traffic: defaultdict[tuple[str, int], Traffic] = defaultdict(Traffic)
        self.places: dict[tuple[str, int], int] = {}
        """By space and instruction, the first offset in that space's array."""
        self.widths: dict[tuple[str, int], int] = {}
        """By space and instruction, the bytes that a lane moves."""
        self.footprint: Counter[tuple[str, int]] = Counter()
        """Sectors of global memory, each counted once in a block: see `Footprint`."""
        self.read_by_phases: Counter[int] = Counter()
        """Sectors that are read by allocation, each counted once in a block's phase."""
        self.tensors: dict[tuple[str, int], int] = {}
        """Bytes of tensors that boxes are copied of, by direction and first offset."""
        self.blocks = 0
        """Blocks that were executed."""
        self.is_cut = False
        """Whether their execution ended before they did."""
        self._known: dict[tuple[object, ...], Traffic] = {}
        self._touched: Footprint | None = None
        phases = program.nesting.phases()
        self._phases = {*phases.values()}
        self._phase_of = {
            index: phases[number]
            for number, (first, stop) in enumerate(program.ranges)
            if number in phases
            for index in range(first, stop)
        }

    def end_of_batch(self, blocks: int) -> None:
        """Adds the footprint of some blocks."""
        self.blocks += blocks
        if self._touched is not None:
            for (key, start), sectors in self._touched.count().items():
                if isinstance(key, str):
                    self.footprint[key, start] += sectors
                else:
                    self.read_by_phases[start] += sectors
            self._touched = None

    def include(self, other: Counters) -> None:
        """Adds the counters of other blocks of the same kernel."""
        self.lanes += other.lanes
        self.warps += other.warps
        self.footprint += other.footprint
        self.read_by_phases += other.read_by_phases
        self.places = other.places | self.places
        self.widths |= other.widths
        self.tensors |= other.tensors
        self.blocks += other.blocks
        self.is_cut |= other.is_cut
        for site, traffic in other.traffic.items():
            self.traffic[site].add(traffic)

    def visit(self, warps: Warps, number: int, mask: Mask, lanes: int) -> None:
        """Count a visit of lanes to a basic block."""
        rows = warps.row
        self.lanes[number] += lanes
        some = rows if mask is None else rows[mask]
        self.warps[number] += warps.count if mask is None else len(np.unique(some))

    def access(
        self,
        warps: Warps,
        space: str,
        index: int,
        width: int,
        lanes: Array | None,
        offsets: Array,
    ) -> None:
        """Counts an access; the cost of equal address patterns is computed once."""
        if space != "shared":
            self._touch(warps, index, width, lanes, offsets)
        self.places.setdefault((space, index), int(offsets[0]))
        self.widths[space, index] = width
        base = int(offsets[0]) & ~127
        pattern = (offsets - base).tobytes()
        who = None if lanes is None else lanes.tobytes()
        key = (space == "shared", width, warps.batch.lanes, who, pattern)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _cost(warps, space, width, lanes, offsets)
        self.traffic[space, index].add(known)

    def stretch(
        self, warps: Warps, space: str, index: int, lane: int, start: int, size: int
    ) -> None:
        """Counts a range of memory that an engine reads or writes for a lane."""
        self.places.setdefault((space, index), start)
        self.widths[space, index] = size
        last = start + size - 1
        if space == "shared":
            paid = ideal = -(-size // cost.WAVEFRONT)
        else:
            first = start >> cost.SECTOR_SHIFT
            paid = (last >> cost.SECTOR_SHIFT) - first + 1
            ideal = -(-size >> cost.SECTOR_SHIFT)
            words = np.arange(start, last + 1, WORD)
            self._touch(warps, index, WORD, np.full(len(words), lane), words)
        self.traffic[space, index].add(Traffic(1, paid, ideal, size, paid))

    def _touch(
        self, warps: Warps, index: int, width: int, lanes: Array | None, offsets: Array
    ) -> None:
        batch = warps.batch
        if self._touched is None:
            self._touched = Footprint(batch.launch.memory, batch.blocks)
        rows = batch.row if lanes is None else batch.row[lanes]
        for direction in self.directions(index):
            self._touched.touch(direction, rows, offsets, width)
            if direction == READS and len(self._phases) > 1:
                phase = self._phase_of.get(index, -1)
                self._touched.touch(phase, rows, offsets, width)

    def directions(self, index: int) -> tuple[str, ...]:
        """Whether an instruction reads or writes memory, or both."""
        instruction = self.program.entry.instructions[index]
        if "bulk_group" in instruction.modifiers:
            return (WRITES,)
        return _DIRECTIONS.get(instruction.opcode, (READS, WRITES))

    def instructions(self, of: str = "warps") -> Counter[str]:
        """Executed instructions by name, counted by ``warps`` or by ``lanes``.

        A predicated one counts for all lanes that reach it, since it is issued.
        """
        visits = self.warps if of == "warps" else self.lanes
        counts: Counter[str] = Counter()
        for number, (first, stop) in enumerate(self.program.ranges):
            for x in self.program.entry.instructions[first:stop]:
                counts[x.name] += visits[number]
        return +counts

    def flops(self) -> int:
        """Floating-point operations; a fused multiply-add is two."""
        total = 0
        for name, count in self.instructions("lanes").items():
            words = name.split(".")
            matrix = _MMA.match(name)
            if matrix is not None:
                group, *extents = matrix.groups()
                lanes = 4 * WARP if group else WARP
                total += 2 * prod(map(int, extents)) * count // lanes
            elif words[-1] in FLOATS:
                total += _OPERATIONS.get(words[0], 0) * count
        return total

    def totals(self) -> dict[str, int]:
        """The sums: traffic of each space, instructions of warps, operations."""
        sums = {"global": Traffic(), "shared": Traffic()}
        for (space, _), traffic in self.traffic.items():
            sums["shared" if space == "shared" else "global"].add(traffic)
        totals = {
            f"{space} {name}": getattr(sums[space], name)
            for space in sums
            for name in ("requests", "cost", "ideal", "bytes")
        }
        totals["instructions"] = self.instructions().total()
        totals["flops"] = self.flops()
        return totals

    def table(self, rows: int = 12) -> str:
        """The counters as text, the costliest accesses last."""
        totals, mix = self.totals(), self.instructions().most_common(rows)
        name, count = self.program.entry.name, totals["instructions"]
        lines = [
            f"{name}: {count} warp instructions, {totals['flops']} flops",
            "  " + ", ".join(f"{name} {count}" for name, count in mix),
        ]
        for space, unit in (("global", "sectors"), ("shared", "wavefronts")):
            if totals[f"{space} requests"]:
                paid, ideal = totals[f"{space} cost"], totals[f"{space} ideal"]
                lines.append(
                    f"  {space}: {totals[f'{space} requests']} requests, {paid} {unit},"
                    f" at best {ideal} ({ideal / paid:.1%})"
                )
        worst = sorted(self.traffic.items(), key=lambda item: _wasted(item[1]))
        lines += [self._row(*item) for item in worst[-rows:]]
        return "\n".join(lines)

    def _row(self, site: tuple[str, int], traffic: Traffic) -> str:
        space, index = site
        x = self.program.entry.instructions[index]
        unit = "wavefronts" if space == "shared" else "sectors"
        each = traffic.cost / traffic.requests
        best = traffic.ideal / traffic.requests
        source = f" ({x.location})" if x.location else ""
        return (
            f"  line {x.line} {x.name}: {traffic.requests} requests of {each:.2f}"
            f" {unit}, at best {best:.2f}{source}"
        )


def _wasted(traffic: Traffic) -> int:
    return traffic.cost - traffic.ideal


def _cost(
    warps: Warps, space: str, width: int, lanes: Array | None, offsets: Array
) -> Traffic:
    """The traffic of one access of many lanes."""
    rows = np.full((warps.count, WARP), -1, np.int64)
    chosen = slice(None) if lanes is None else lanes
    rows[warps.row[chosen], warps.lane[chosen]] = offsets
    rows = rows[(rows >= 0).any(1)]
    useful = cost.distinct_bytes(rows, width)
    if space == "shared":
        paid, ideal = cost.wavefronts(rows, width), cost.least_wavefronts(rows, width)
        unmerged = cost.unmerged_wavefronts(rows, width)
    else:
        paid, ideal = cost.sectors(rows), cost.least_sectors(rows, width)
        unmerged = paid
    return Traffic(len(rows), paid, ideal, useful, unmerged)
