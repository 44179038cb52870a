"""What the values of the members before each one combine to.

for d in 1, 2, 4, 8, 16:  s = lane >= d ? s of lane - d OP s : s      (in a warp)
cells[warp] = s of lane 31;  barrier
the same over cells[lane] in each warp;  barrier
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.attributes import OpaqueAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I1, I32, MemRefType
from gpucodegen.passes.cpu.vectorize.accumulations import Accumulation
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.blocks.rows.reduce import combination, neutral
from gpucodegen.passes.gpu.blocks.rows.team import Team
from gpucodegen.passes.gpu.launches.gpu_launch import SHARED
from gpucodegen.tiling.machine.gpu.devices import WARP


@dataclass(frozen=True, slots=True)
class Prefixes:
    """A team, whose size is a multiple of a warp's, and a cell for each of its warps.

    ``again``: the members come here more than once.
    """

    team: Team
    totals: tuple[Accumulation, ...]
    cells: tuple[Value, ...]
    again: bool

    @staticmethod
    def of(
        b: Builder, team: Team, totals: Sequence[Accumulation], *, again: bool
    ) -> Prefixes:
        """With the memory that a team of several warps needs."""
        warps = team.size // WARP
        types = [MemRefType((warps,), a.before.type, None, SHARED) for a in totals]
        cells = [b.allocate("memref.alloca", ty, "cells") for ty in types if warps > 1]
        return Prefixes(team, tuple(totals), tuple(cells), again)

    def combined(
        self, b: Builder, values: Sequence[Value]
    ) -> list[tuple[Value, Value]]:
        """For each total: what members before this one have, and all of them."""
        pairs = zip(self.totals, values, strict=True)
        parts = [self._in_warp(b, a, value) for a, value in pairs]
        if not self.cells:
            return [(left, self._of_lane(b, upto, WARP - 1)) for upto, left in parts]
        number = self.team.number
        warp = b.index(number // WARP, "warp")
        lane = number % WARP

        def put(i: Builder) -> None:
            for cells, (upto, _) in zip(self.cells, parts, strict=True):
                i.store(upto, cells, [warp])

        b.guard([lane - (WARP - 1)], put)
        self.team.meet(b)
        found = [
            self._over_warps(b, a, cells, left)
            for a, cells, (_, left) in zip(self.totals, self.cells, parts, strict=True)
        ]
        if self.again:
            self.team.meet(b)
        return found

    def _in_warp(
        self, b: Builder, a: Accumulation, value: Value
    ) -> tuple[Value, Value]:
        """What the lanes up to this one have, and those before it."""
        for power in range(WARP.bit_length() - 1):
            other, exists = self._shuffled(b, "up", value, b.constant(1 << power, I32))
            joined = self._joined(b, a, other, value)
            operands = (exists, joined, value)
            (value,) = b.add("arith.select", operands, [value.type])
        left, exists = self._shuffled(b, "up", value, b.constant(1, I32))
        operands = (exists, left, neutral(b, a))
        return value, b.add("arith.select", operands, [value.type])[0]

    def _over_warps(
        self, b: Builder, a: Accumulation, cells: Value, mine: Value
    ) -> tuple[Value, Value]:
        """Each warp combines what all of them left: a lane has a warp's."""
        warps, lane = self.team.size // WARP, self.team.number % WARP
        own = b.choose(
            [Index.of(warps - 1) - lane],
            lambda i: i.load(cells, [lane]),
            lambda i: neutral(i, a),
        )
        upto, before = self._in_warp(b, a, own)
        number = b.index(self.team.number // WARP, "warp")
        (warp,) = b.add("arith.index_cast", (number,), [I32])
        left, _ = self._shuffled(b, "idx", before, warp)
        return self._joined(b, a, left, mine), self._of_lane(b, upto, warps - 1)

    def _of_lane(self, b: Builder, value: Value, lane: int) -> Value:
        return self._shuffled(b, "idx", value, b.constant(lane, I32))[0]

    def _joined(self, b: Builder, a: Accumulation, one: Value, other: Value) -> Value:
        result = one.renewed()
        b.operations.append(combination(a, one, other, result))
        return result

    def _shuffled(
        self, b: Builder, mode: str, value: Value, other: Value
    ) -> tuple[Value, Value]:
        attributes = {"mode": OpaqueAttr(f"#gpu.shuffle_mode<{mode}>")}
        operands = (value, other, b.constant(WARP, I32))
        first, exists = b.add("gpu.shuffle", operands, [value.type, I1], attributes)
        return first, exists
