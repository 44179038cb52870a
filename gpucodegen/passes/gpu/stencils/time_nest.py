"""A time loop taken apart: its sweeps, its arrays, how far values travel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.facts.mapped_loops import MappedLoop
from gpucodegen.passes.gpu.stencils.cells import (
    Axis,
)
from gpucodegen.passes.loops.framework.ranges import LoopRange
from gpucodegen.tiling.proof.distances import Sides, StepHalo


@dataclass(frozen=True, slots=True)
class Sweep:
    """A parallel nest of a time step.

    ``loops``: outermost first.  ``axes``: the cell that an instance computes, per
    dimension.  ``offsets``: by identity of its accesses of written arrays, the way from
    there to their cell.
    """

    operation: Operation
    loops: tuple[MappedLoop, ...]
    axes: tuple[Axis, ...]
    body: tuple[Operation, ...]
    offsets: Mapping[int, tuple[int, ...]]

    @property
    def stores(self) -> Iterator[Operation]:
        """What it writes."""
        return (op for op in self.body if op.name == "affine.store")

    def neighbourhood(self, dimension: int) -> Sides:
        """How far its accesses are from the cell that it computes."""
        ways = [way[dimension] for way in self.offsets.values()]
        return Sides(max(0, -min(ways)), max(0, *ways))


@dataclass(frozen=True, slots=True)
class Written:
    """An array that the loop writes, and the sweeps that write it."""

    memref: Value
    stores: tuple[tuple[Sweep, Operation], ...]
    carried: bool

    @property
    def type(self) -> MemRefType:
        """Its type."""
        ty = self.memref.type
        assert isinstance(ty, MemRefType)
        return ty

    def bounds(self, dimension: int) -> tuple[list[Index], list[Index]]:
        """First cells and ends along a dimension, of each sweep that writes it."""
        lowers: list[Index] = []
        uppers: list[Index] = []
        for sweep, store in self.stores:
            axis, way = sweep.axes[dimension], sweep.offsets[id(store)][dimension]
            lowers.append(axis.lower + way)
            uppers.append(axis.upper + way)
        return lowers, uppers


@dataclass(frozen=True, slots=True)
class TimeNest:
    """A time loop around sweeps and scalar operations."""

    loop: affine.For
    steps: LoopRange
    sweeps: tuple[Sweep, ...]
    arrays: tuple[Written, ...]
    reach: StepHalo
    analysis: NestAnalysis

    @property
    def rank(self) -> int:
        """Dimensions of space."""
        return self.arrays[0].type.rank

    def margins(self, sweep: Sweep) -> tuple[Sides, ...]:
        """The margins of a sweep, per dimension."""
        return self.reach.margins[statements_of(sweep.operation, self.analysis)[0]]

    def meetings(self) -> set[int]:
        """The sweeps, by identity, before which the threads of a block have to meet.

        Between two barriers, no sweep depends on another one, as in `blocks.phases`;
        after the last sweep of a step follows the first of the next.
        """
        found: set[int] = set()
        while True:
            since: list[Operation] = []
            missing: set[int] = set()
            for sweep in (*self.sweeps, *self.sweeps):
                op = sweep.operation
                if id(op) in found:
                    since = []
                elif self.analysis.conflicts(since, [op]):
                    missing, since = {*missing, id(op)}, []
                since.append(op)
            if not missing:
                return found
            found |= missing


def statements_of(item: Operation, analysis: NestAnalysis) -> tuple[str, ...]:
    """The statements of the model that are made from a part of the loop."""
    own = {id(op) for op in item.walk()}
    return tuple(
        name
        for name, operations in analysis.lifted.operations.items()
        if any(id(op) in own for op in operations)
    )
