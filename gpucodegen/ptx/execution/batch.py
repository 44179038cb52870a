"""Blocks of one launch that run side by side, all their lanes at once.

Comes in: a launch and the numbers of some blocks.  Goes out: changed memory, counters,
or a `Fault`.  Functions of basic blocks call what is here under the name ``S``.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.asynchronous.copies import Copies
from gpucodegen.ptx.execution.asynchronous.mbarriers import MBarriers
from gpucodegen.ptx.execution.asynchronous.stores import BulkStores
from gpucodegen.ptx.execution.asynchronous.warpgroups import Warpgroups
from gpucodegen.ptx.execution.barriers import Barriers
from gpucodegen.ptx.execution.counting.counters import Counters
from gpucodegen.ptx.execution.groups import LaneGroups, divided
from gpucodegen.ptx.execution.lanes import BatchLanes
from gpucodegen.ptx.execution.launch import Launch
from gpucodegen.ptx.execution.matrices import Matrices
from gpucodegen.ptx.execution.order.marks import Marks
from gpucodegen.ptx.execution.printing import Printing
from gpucodegen.ptx.execution.spaces.accesses import Accesses
from gpucodegen.ptx.execution.spaces.serial import SerialAccesses
from gpucodegen.ptx.execution.warps import Warps
from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.translation.program import merge
from gpucodegen.ptx.translation.special import CLOCKS, SPECIAL
from gpucodegen.ptx.types import Array, Chosen, Mask, Value

IMPATIENT = 16
"""Reads of what nobody changes, after which lanes take turns."""


class Batch(BatchLanes):
    """Some blocks of a launch."""

    def __init__(
        self,
        launch: Launch,
        numbers: Array,
        global_marks: Marks | None,
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
        """A fence of some lanes: of other blocks, too, if it is ``wide``."""
        if self.accesses.releases is not None:
            self.accesses.releases.fence(wide, mask)

    def special(self, name: str) -> Value:
        """A special register, made once; clocks count instructions that have run."""
        if name in CLOCKS:
            self.ticks += 1
            return SPECIAL[name].value(self)
        if name not in self._special:
            value = SPECIAL[name].value(self)
            self._special[name] = value[0] if value.shape == (1,) else value
        return self._special[name]

    def parameter(self, offset: int, kind: str) -> Value:
        """A kernel parameter."""
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
        """Let lanes go where the last instruction of a block sends them."""
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
        """Let lanes arrive at the barrier of their cluster, or wait for it."""
        clusters = self.accesses.clusters
        if "arrive" in end.modifiers:
            clusters.arrive(end.index, mask)
            self.groups.join(self.launch.program.block_at[end.index + 1], mask)
        else:
            clusters.wait(end.index, mask)
        self._open_clusters()

    def _open_clusters(self) -> None:
        """Let lanes go on for which all threads of the cluster have come, or ended."""
        for index, lanes in self.accesses.clusters.opened():
            self.groups.join(self.launch.program.block_at[index + 1], lanes)
            self.mbarriers.progress += 1

    def _count_votes(self, index: int, mask: Mask) -> None:
        """Give lanes that leave a barrier its result, if it has one."""
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
        """Let each lane go to the label whose number it has computed."""
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
