"""A ring of stages in shared memory, and the mbarriers that order who uses them.

    full[s]    one arrival, and the bytes of both tiles: a stage may be read
    empty[s]   an arrival of each warp that read it: a stage may be written

Round r of a stage is phase r of both.  A producer waits for phase r - 1 of ``empty``,
which the first time has the parity that a new barrier takes for over; a consumer waits
for phase r of ``full``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.attributes import IntegerAttr, StridedLayoutAttr
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Value, segment_counts
from gpucodegen.ir.types import I1, I64, INDEX, DialectType, MemRefType, Type
from gpucodegen.passes.contraction.warpgroups.boxes import LINE, Boxes
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.launches.gpu_launch import SHARED
from gpucodegen.passes.prepare.memory.flat_views import with_columns

TICKS = 10_000_000
"""Nanoseconds that one try of a wait may sleep."""
EQUAL = IntegerAttr(0, I64)
"""The predicate of ``arith.cmpi eq``."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage in one round."""

    number: Value
    round: Index


@dataclass(frozen=True, slots=True)
class Ring:
    """The barriers of a block's ring."""

    stages: int
    full: Value
    empty: Value

    @staticmethod
    def of(b: Builder, stages: int) -> Ring:
        """New barriers, not initialised."""
        ty = DialectType(
            "nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>,"
            f" num_barriers = {stages}>"
        )
        full, empty = (
            b.add("nvgpu.mbarrier.create", (), [ty], hint=hint)[0]
            for hint in ("full", "empty")
        )
        return Ring(stages, full, empty)

    def init(self, b: Builder, readers: int) -> None:
        """By one thread; ``readers``: warps that read a stage."""

        def one(i: Builder, stage: Value) -> None:
            for barriers, count in ((self.full, 1), (self.empty, readers)):
                number = i.constant(count, INDEX)
                i.add("nvgpu.mbarrier.init", (barriers, number, stage))

        b.loop(0, self.stages, one, hint="s")

    def at(self, b: Builder, step: Index) -> Stage:
        """The stage of a step."""
        number = b.index(step % self.stages, "stage")
        return Stage(number, step // self.stages)

    def acquire(self, b: Builder, stage: Stage, size: int) -> None:
        """Wait until a stage may be written, and say how many bytes will be."""
        self._wait(b, self.empty, stage, stage.round + 1)
        bytes_ = b.constant(size, INDEX)
        operands = (self.full, bytes_, stage.number)
        b.add("nvgpu.mbarrier.arrive.expect_tx", operands)

    def await_(self, b: Builder, stage: Stage) -> None:
        """Wait until a stage may be read."""
        self._wait(b, self.full, stage, stage.round)

    def release(self, b: Builder, stage: Stage) -> None:
        """One warp has read a stage."""
        token = DialectType("nvgpu.mbarrier.token")
        operands = (self.empty, stage.number)
        b.add("nvgpu.mbarrier.arrive", operands, [token], hint="token")

    def _wait(self, b: Builder, barriers: Value, stage: Stage, phase: Index) -> None:
        """Until the phase of a number, whose parity is that of ``phase``, is over."""
        parity, one = b.index(phase % 2, "turn"), b.constant(1, INDEX)
        (odd,) = b.add(
            "arith.cmpi", (parity, one), [I1], {"predicate": EQUAL}, hint="p"
        )
        ticks = b.constant(TICKS, INDEX)
        operands = (barriers, odd, ticks, stage.number)
        b.add("nvgpu.mbarrier.try_wait.parity", operands)

    def load(
        self,
        b: Builder,
        stage: Stage,
        tensor_map: Value,
        target: Value,
        corner: Sequence[Index],
    ) -> None:
        """``nvgpu.tma.async.load`` of a box, which arrives at ``full``."""
        coordinates = [b.index(at, "at") for at in corner]
        sizes = segment_counts(1, 1, 1, len(coordinates), 1, 0, 0)
        operands = (target, self.full, tensor_map, *coordinates, stage.number)
        b.add("nvgpu.tma.async.load", operands, (), {OPERAND_SEGMENTS: sizes})


@dataclass(frozen=True, slots=True)
class Tile:
    """The stages of one factor: lines of boxes, one behind the other."""

    boxes: Boxes
    memory: Value

    @staticmethod
    def of(b: Builder, boxes: Boxes, element: Type, stages: int, hint: str) -> Tile:
        """New shared memory."""
        ty = MemRefType((stages, boxes.size, LINE), element, None, SHARED)
        return Tile(boxes, b.allocate("memref.alloca", ty, hint))

    def lines(self, b: Builder, stage: Stage, first: Index, count: int) -> Value:
        """Some lines of a stage."""
        ty = self.memory.type
        assert isinstance(ty, MemRefType)
        layout = StridedLayoutAttr((LINE, 1), None)
        part = MemRefType((count, LINE), ty.element, layout, SHARED)
        known = first.constant
        start = b.index(first, "line") if known is None else known
        (view,) = b.add("memref.subview", (self.memory,), [part], hint="lines")
        columns = [stage.number, start, 0], [1, count, LINE], [1, 1, 1]
        b.operations[-1] = with_columns(b.operations[-1], columns)
        return view
