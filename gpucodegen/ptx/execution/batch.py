"""Blocks of one launch that run side by side, all their lanes at once.

Comes in: a launch and the numbers of some blocks.  Goes out: changed memory, counters,
or a `Fault`.  Functions of basic blocks call what is here under the name ``S``.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.accesses import Accesses
from gpucodegen.ptx.execution.asynchronous.copies import Copies
from gpucodegen.ptx.execution.asynchronous.mbarriers import MBarriers
from gpucodegen.ptx.execution.asynchronous.warpgroups import Warpgroups
from gpucodegen.ptx.execution.barriers import Barriers, Divergence
from gpucodegen.ptx.execution.counting.counters import Counters
from gpucodegen.ptx.execution.groups import LaneGroups, divided
from gpucodegen.ptx.execution.lanes import BatchLanes
from gpucodegen.ptx.execution.launch import Launch
from gpucodegen.ptx.execution.marks import Marks, marks_of
from gpucodegen.ptx.execution.matrices import Matrices
from gpucodegen.ptx.execution.warps import Warps
from gpucodegen.ptx.parsing.entries import Instruction
from gpucodegen.ptx.translation.special import SPECIAL
from gpucodegen.ptx.types import Chosen, Mask, Value

ENDLESS = 10**8
"""How often a basic block may run before it counts as an endless loop."""


class Batch(BatchLanes):
    """Some blocks of a launch."""

    def __init__(
        self,
        launch: Launch,
        first: int,
        blocks: int,
        global_marks: Marks | None,
        counters: Counters | None,
    ) -> None:
        super().__init__(launch, first, blocks)
        self.shared_bytes, self.dynamic_bytes = launch.shared_bytes, launch.dynamic
        self.symbols = launch.symbols
        self.counters = counters
        self.groups = LaneGroups(len(launch.program.ranges))
        self.barriers = Barriers(blocks, self.threads)
        self.warps = Warps(self)
        self.accesses = Accesses(self.warps, counters, global_marks)
        self.load, self.store = self.accesses.load, self.accesses.store
        self.atomic = self.accesses.atomic
        self.matrices = Matrices(self.accesses)
        self.copies = Copies(self.accesses)
        self.warpgroups = Warpgroups(self.accesses)
        self.mbarriers = MBarriers(self.accesses, self.warpgroups)
        self._special: dict[str, Value] = {}
        self._new_interval()

    def _new_interval(self) -> None:
        interval = self.barriers.interval[self.row]
        self.marks = marks_of(self.block, interval, self.thread)

    def special(self, name: str) -> Value:
        """A special register, made once."""
        if name not in self._special:
            self._special[name] = SPECIAL[name].value(self)
        return self._special[name]

    def parameter(self, offset: int, kind: str) -> Value:
        """A kernel parameter."""
        return np.frombuffer(self.launch.parameters, kind, 1, offset)[0]

    def run(self) -> None:
        """Run all lanes to their end."""
        registers: list[Any] = [None] * len(self.launch.entry.registers.storage)
        groups, visits = self.groups, [0] * self.groups.end
        while groups.at:
            polling = self.mbarriers.polling
            number = self.mbarriers.next(groups) if polling else min(groups.at)
            mask = groups.take(number)
            if number == groups.end:
                continue
            visits[number] += 1
            if visits[number] > ENDLESS:
                self._endless(number, mask)
            self._visit(number, mask, registers)
        left = self.barriers.left(self.row)
        if left is not None:
            self._diverged(left)

    def _visit(self, number: int, mask: Mask, registers: list[Any]) -> None:
        program, groups = self.launch.program, self.groups
        lanes = self.lanes if mask is None else int(np.count_nonzero(mask))
        if self.counters is not None:
            self.counters.visit(self.warps, number, mask, lanes)
        function = program.function(number, mask is not None)
        try:
            predicate = function(registers, self, mask)
        except (TypeError, AttributeError) as problem:
            self._unwritten(number, mask, registers, problem)
            raise
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
            case "trap":
                self.fault(faults.TRAP, "trap", end.index, _first(mask))
            case _:
                opened = self.barriers.arrive(end.index, mask)
                if isinstance(opened, Divergence):
                    self._diverged(opened)
                for index, lanes in opened:
                    groups.join(program.block_at[index + 1], lanes)
                if opened:
                    self.mbarriers.progress += 1
                    self._new_interval()

    def _diverged(self, why: Divergence) -> NoReturn:
        if why.other is not None:
            line = self.launch.entry.instructions[why.other].line
            text = f"divergent barrier: other threads wait at line {line}"
        elif why.missing:
            text = f"divergent barrier: {why.missing} threads never arrive"
        else:
            text = "divergent barrier: threads wait at different places"
        self.fault(faults.DIVERGENT_BARRIER, text, why.index, why.lane)

    def _endless(self, number: int, mask: Mask) -> NoReturn:
        text = f"this place was reached {ENDLESS} times: an endless loop?"
        index = self.launch.program.ranges[number][0]
        self.fault(faults.ENDLESS_LOOP, text, index, _first(mask))

    def _unwritten(
        self, number: int, mask: Mask, registers: list[Any], problem: Exception
    ) -> None:
        """A register never written is None, with which nothing can be computed."""
        if any(value is None for value in registers):
            text = f"a register is read before it is written ({problem})"
            index = self.launch.program.ranges[number][0]
            self.fault(faults.UNINITIALISED, text, index, _first(mask))


def _first(mask: Mask) -> int:
    return 0 if mask is None else int(np.argmax(mask))
