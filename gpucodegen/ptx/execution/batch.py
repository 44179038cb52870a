"""A batch: blocks of one launch that run side by side, all their lanes at once.

A `Batch` of some blocks changes memory and counters, or raises a `Fault`.  The
functions of basic blocks call its methods under the name ``S``. `Printing` emulates
``vprintf`` and failed assertions.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.entries import Instruction
from gpucodegen.ptx.execution.accesses import Accesses, SerialAccesses
from gpucodegen.ptx.execution.async_copies import BulkStores, Copies
from gpucodegen.ptx.execution.barriers import Barriers
from gpucodegen.ptx.execution.counters import Counters
from gpucodegen.ptx.execution.lanes import (
    BatchLanes,
    LaneGroups,
    Launch,
    Warps,
    divided,
)
from gpucodegen.ptx.execution.matrices import Matrices, Warpgroups
from gpucodegen.ptx.execution.mbarriers import MBarriers
from gpucodegen.ptx.execution.shadow_memory import ShadowMemory
from gpucodegen.ptx.memory import BASE
from gpucodegen.ptx.translation.operands import CLOCKS, SPECIAL, Site
from gpucodegen.ptx.translation.program import merge
from gpucodegen.ptx.types import Array, Chosen, Mask, Value, align

_FIELD = re.compile(r"%([-+ #0]*\d*(?:\.\d+)?)(hh|h|ll|l|z|j|t)?([%a-zA-Z])")
_FLOATS, _WIDE = "fFeEgGaA", ("ll", "l", "z", "j", "t")


class Printing:
    """Text from the lanes of one batch, in their order."""

    def __init__(self, accesses: Accesses) -> None:
        self.accesses, self.batch = accesses, accesses.batch

    def vprintf(self, index: int, form: Value, values: Value, mask: Mask) -> Value:
        """Prints a line of each lane; returns the number of fields."""
        lanes = self.batch.lanes
        forms, places = (np.broadcast_to(v, lanes) for v in (form, values))
        counts = np.zeros(lanes, "i4")
        active = np.arange(lanes) if mask is None else np.flatnonzero(mask)
        for lane in active.tolist():
            text = self._string(index, lane, int(forms[lane]))
            line, counts[lane] = self._formatted(index, lane, text, int(places[lane]))
            self.batch.launch.output(line)
        return counts

    def assertfail(self, index: int, parts: tuple[Value, ...], mask: Mask) -> None:
        """Ends the kernel with an assertion's text, file, line and function."""
        lane = 0 if mask is None else int(np.argmax(mask))
        every = [int(np.broadcast_to(p, self.batch.lanes)[lane]) for p in parts]
        text, file, function = (self._string(index, lane, every[i]) for i in (0, 1, 3))
        place = f"{file}:{every[2]}: {function}"
        self.batch.fault(faults.TRAP, f"assertion {text} failed, {place}", index, lane)

    def _read(self, index: int, lane: int, address: int, kind: str) -> Any:
        alone: Array = np.arange(self.batch.lanes) == lane
        site = Site.of(index, "generic", 0, kind)
        found = self.accesses.load(site, np.int64(address), alone)[0]
        return found if found.ndim == 0 else found[lane]

    def _string(self, index: int, lane: int, address: int) -> str:
        """The zero-terminated text at an address."""
        octets = bytearray()
        if address >= BASE:
            self._read(index, lane, address, "u1")
            end = self.accesses.memory.allocation(address)[1]
            octets += self.accesses.memory.bytes(address, end - address).tobytes()
            return octets.partition(b"\0")[0].decode(errors="replace")
        while octet := int(self._read(index, lane, address + len(octets), "u1")):
            octets.append(octet)
        return octets.decode(errors="replace")

    def _formatted(
        self, index: int, lane: int, form: str, address: int
    ) -> tuple[str, int]:
        """A text with its fields filled from packed values, and their number."""
        parts: list[str] = []
        at, last, count = address, 0, 0
        for field in _FIELD.finditer(form):
            parts.append(form[last : field.start()])
            last = field.end()
            flags, length, letter = field.groups()
            if letter == "%":
                parts.append("%")
                continue
            count += 1
            wide = letter in _FLOATS + "sp" or length in _WIDE
            kind = "f8" if letter in _FLOATS else "i8" if wide else "i4"
            at = align(at, 8 if wide else 4)
            value = self._read(index, lane, at, kind)
            at += 8 if wide else 4
            parts.append(self._field(index, lane, flags, letter, value))
        return "".join([*parts, form[last:]]), count

    def _field(self, index: int, lane: int, flags: str, letter: str, value: Any) -> str:
        match letter:
            case "s":
                return f"%{flags}s" % self._string(index, lane, int(value))
            case "p":
                return f"{int(value):#x}"
            case "u" | "x" | "X" | "o":
                whole = int(value) % (1 << 8 * value.dtype.itemsize)
                return f"%{flags}{letter.replace('u', 'd')}" % whole
            case "c":
                return f"%{flags}c" % (int(value) & 255)
            case "a" | "A":
                return float(value).hex()
            case _:
                number = float(value) if letter in _FLOATS else int(value)
                return f"%{flags}{letter}" % number


IMPATIENT = 16
"""Reads without a change, after which groups of lanes take turns."""


class Batch(BatchLanes):
    """Some blocks of a launch."""

    def __init__(
        self,
        launch: Launch,
        numbers: Array,
        global_marks: ShadowMemory | None,
        counters: Counters | None,
    ) -> None:
        super().__init__(launch, numbers)
        self.shared_bytes, self.dynamic_bytes = launch.shared_bytes, launch.dynamic
        self.symbols = launch.symbols
        self.counters = counters
        self.registers = launch.entry.registers.unwritten()
        program = launch.program
        self.groups = LaneGroups(program.ranks, self.exited)
        self.barriers = Barriers(self)
        self.warps = Warps(self)
        alone = launch.threads * launch.blocks == 1
        alone = alone and not program.is_fine and not launch.trace
        kind = SerialAccesses if alone else Accesses
        self.accesses = kind(self.warps, counters, global_marks)
        self.load, self.store = self.accesses.load, self.accesses.store
        self.atomic = self.accesses.atomic
        self.matrices = Matrices(self.accesses)
        self.copies = Copies(self.accesses)
        self.warpgroups = Warpgroups(self.accesses)
        self.mbarriers = MBarriers(self.accesses, self.warpgroups, self.barriers)
        self.bulk_stores = BulkStores(self.mbarriers)
        self.printing = Printing(self.accesses)
        self._special: dict[str, Value] = {}
        self.end_value: Value = None
        """What the last instruction of the block that runs depends on."""

    def proxy_fence(self, mask: Mask) -> None:
        """``fence.proxy.async`` of some lanes."""
        if self.clocks.fine:
            self.clocks.fence(mask)

    def fence(self, wide: bool, mask: Mask) -> None:
        """A fence of some lanes; ``wide`` fences include other blocks."""
        if self.accesses.releases is not None:
            self.accesses.releases.fence(wide, mask)

    def special(self, name: str) -> Value:
        """A special register, computed once; clocks count executed instructions."""
        if name in CLOCKS:
            self.ticks += 1
            return SPECIAL[name].value(self)
        if name not in self._special:
            value = SPECIAL[name].value(self)
            self._special[name] = value[0] if value.shape == (1,) else value
        return self._special[name]

    def parameter(self, offset: int, kind: str) -> Value:
        return np.frombuffer(self.launch.parameters, kind, 1, offset)[0]

    def run(self) -> None:
        """Run all lanes to their end."""
        registers = self.registers
        groups, visits = self.groups, 0
        patience, limit = self.launch.patience, self.launch.steps
        while groups.at:
            if patience == 0 and self.counters is not None:
                self.counters.is_cut = True
                return
            patience -= 1
            polling = self.mbarriers.polling
            if polling:
                number = self.mbarriers.next(groups)
            else:
                number = groups.next(self.accesses.polls > IMPATIENT)
            mask = groups.take(number)
            visits += 1
            if visits > limit > 0:
                self._endless(number, mask)
            self._visit(number, mask, registers)
        self.barriers.check_end()
        self.accesses.clusters.check_end()
        self.copies.check_end()
        self.mbarriers.check_end()
        self.bulk_stores.check_end()

    def _visit(self, number: int, mask: Mask, registers: list[Any]) -> None:
        program, groups = self.launch.program, self.groups
        lanes = self.lanes if mask is None else int(np.count_nonzero(mask))
        if self.counters is not None:
            self.counters.visit(self.warps, number, mask, lanes)
        if self.warpgroups.sums:
            self.warpgroups.check_sums(program.mentions(number), mask)
        first, stop = program.ranges[number]
        self.ticks += stop - first
        function = program.function(number, mask is not None)
        predicate = function(registers, self, mask)
        end = program.ends[number]
        if end is None:
            groups.join(number + 1, mask)
            return
        taken: Chosen = mask
        rest: Chosen = False
        if end.predicate:
            taken, rest = divided(predicate, mask, lanes)
        if rest is not False:
            groups.join(number + 1, rest)
        if taken is not False:
            self._leave(end, taken)

    def _leave(self, end: Instruction, mask: Mask) -> None:
        """Moves lanes to the targets of a block's last instruction."""
        program, groups = self.launch.program, self.groups
        match end.opcode:
            case "bra":
                target = self.launch.entry.labels[end.operands[0]]
                groups.join(program.block_at[target], mask)
            case "ret" | "exit":
                groups.join(groups.end, mask)
                self._open_clusters()
            case "barrier" if "cluster" in end.modifiers:
                self._meet_cluster(end, mask)
            case "brx":
                self._choose(end, mask)
            case "trap" | "brkpt":
                self.fault(faults.TRAP, end.opcode, end.index, _first(mask))
            case _:
                for index, lanes in self.barriers.arrive(end.index, mask):
                    self._count_votes(index, lanes)
                    groups.join(program.block_at[index + 1], lanes)
                self.mbarriers.progress += 1

    def _meet_cluster(self, end: Instruction, mask: Mask) -> None:
        """Lanes arrive at the barrier of their cluster, or wait for it."""
        clusters = self.accesses.clusters
        if "arrive" in end.modifiers:
            clusters.arrive(end.index, mask)
            self.groups.join(self.launch.program.block_at[end.index + 1], mask)
        else:
            clusters.wait(end.index, mask)
        self._open_clusters()

    def _open_clusters(self) -> None:
        """Releases lanes whose cluster has fully arrived or ended."""
        for index, lanes in self.accesses.clusters.opened():
            self.groups.join(self.launch.program.block_at[index + 1], lanes)
            self.mbarriers.progress += 1

    def _count_votes(self, index: int, mask: Mask) -> None:
        """Gives lanes that leave a barrier the result of its reduction."""
        x = self.launch.entry.instructions[index]
        if "red" not in x.modifiers:
            return
        number = self.launch.entry.registers.number(x.operands[0])
        assert number is not None
        every, held = self.barriers.ballots
        results = {"popc": held, "and": held == every, "or": held > 0}
        value = next(results[name] for name in results if name in x.modifiers).copy()
        self.registers[number] = merge(mask, value, self.registers[number])

    def _choose(self, end: Instruction, mask: Mask) -> None:
        """Moves each lane to the label of its computed index."""
        labels = self.launch.entry.targets[end.operands[1]]
        chosen = np.broadcast_to(self.end_value, self.lanes)
        live = np.ones(self.lanes, bool) if mask is None else mask
        for number in np.unique(chosen[live]).tolist():
            lanes = live & (chosen == number)
            if number >= len(labels):
                text = f"branch to target {number} of {len(labels)}"
                self.fault(faults.OUT_OF_BOUNDS, text, end.index, _first(lanes))
            block = self.launch.program.block_at[
                self.launch.entry.labels[labels[number]]
            ]
            self.groups.join(block, None if lanes.all() else lanes)

    def _endless(self, number: int, mask: Mask) -> NoReturn:
        steps = self.launch.steps
        text = f"thread blocks have not ended after {steps} steps: an endless loop?"
        index = self.launch.program.ranges[number][0]
        self.fault(faults.ENDLESS_LOOP, text, index, _first(mask))


def _first(mask: Mask) -> int:
    return 0 if mask is None else int(np.argmax(mask))
