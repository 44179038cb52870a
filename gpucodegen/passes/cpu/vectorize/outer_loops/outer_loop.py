"""The form of an outer loop with an iteration, a row, in each lane.

The inner loops that gain pass values on in an order that must be kept, or are short.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.cpu.vectorize.accumulations import Order, accumulating
from gpucodegen.passes.cpu.vectorize.loop_site import LoopSite
from gpucodegen.passes.cpu.vectorize.loops import IterationRange, range_of
from gpucodegen.passes.cpu.vectorize.operations import cost
from gpucodegen.passes.cpu.vectorize.outer_loops.strip_mining import (
    OuterBody,
    StripMining,
    outer_body,
)
from gpucodegen.passes.cpu.vectorize.recognize import LoopBody
from gpucodegen.passes.cpu.vectorize.reductions.argminmax import argminmax_of
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.tiling.machine.processor import Machine
from gpucodegen.tiling.machine.vectorization import (
    OuterLoopShape,
    is_short_inner_loop,
    outer_lanes,
)


def outer_loop(site: LoopSite) -> list[Operation]:
    """The loop over rows in strips, whose rows are loops for the other forms."""
    rows = site.range
    if not rows or site.op.results or not rows.is_single:
        return []
    choice = _OuterLoopChoice(rows, site.machine, site.order)
    if not any(map(choice.is_vectorized, inner_operations(site.op))):
        return []
    return choice.strips(site.op, site.analysis(fine=True))


@dataclass(frozen=True, slots=True)
class _OuterLoopChoice:
    """Which inner loops of a range of ``rows`` run on a row in each lane."""

    rows: IterationRange
    machine: Machine
    order: Order

    def is_vectorized(self, loop: Operation) -> bool:
        """Whether an inner loop passes values on, and not better along its row."""
        if loop.name != "affine.for" or not _passes_on(loop):
            return False
        body = self._along_row(loop)
        if body is None:
            return True
        range_ = range_of(loop)
        lanes = self.machine.unit.lanes(max((32, *body.bits)))
        return range_ is not None and is_short_inner_loop(
            self.rows.trips, range_.trips, lanes
        )

    def _along_row(self, loop: Operation) -> LoopBody | None:
        """What a loop computes in lanes along its row, if no order forbids it."""
        best, range_ = argminmax_of(loop), range_of(loop)
        if best and range_ and best.vector_range(range_, self.machine.unit):
            return best.body
        found = accumulating(loop)
        free = found and all(map(self.order.frees, found.accumulations))
        return found.body if found and free else None

    def strips(self, op: Operation, analysis: NestAnalysis) -> list[Operation]:
        """The loop over the rows in strips, if it is parallel and there are any."""
        if op.name != "affine.parallel" and not analysis.is_parallel(op):
            return []
        body = outer_body(op, analysis, self.is_vectorized)
        if body is None:
            return []
        width = self.machine.unit.lanes(_bits(body))
        threads = self.machine.threads if op.name == "affine.parallel" else 1
        loop = _shape(op, body, self.rows)
        lanes = outer_lanes(loop, replace(self.machine, threads=threads))
        return StripMining(body, lanes, width).strips(op, self.rows) if lanes else []


def _passes_on(loop: Operation) -> bool:
    """Whether a loop without others in it may pass values on."""
    inner = inner_operations(loop)
    if any(op.regions for op in inner):
        return False
    moved = {loop.body.arguments[0], *(value for op in inner for value in op.results)}
    stores = (op for op in inner if op.name == "affine.store")
    return bool(loop.results) or any(moved.isdisjoint(op.operands[1:]) for op in stores)


def _bits(body: OuterBody) -> int:
    """Width of the narrowest elements that fill registers."""
    widths = {bits for r in body.recurrences for bits in r.chain.bits}
    return max(32, min(widths))


def _shape(op: Operation, body: OuterBody, range_: IterationRange) -> OuterLoopShape:
    trips = [(r.end - r.first).constant for r in body.recurrences]
    known = [count for count in trips if count is not None]
    arrays = {
        inner.operands[inner.name == "affine.store"]
        for inner in op.walk()
        if inner.name in affine.ACCESSES
        and body.iv in inner.operands
        and len(inner.operands) > 2 + (inner.name == "affine.store")
    }
    columns = max(known, default=None)
    passes = sum(inner.name == "affine.for" for inner in inner_operations(op))
    operations = sum(
        cost(inner)
        for recurrence in body.recurrences
        for inner in recurrence.chain.operations
        if inner not in recurrence.chain.accesses
    )
    return OuterLoopShape(
        range_.trips, columns, _bits(body), len(arrays), passes, operations
    )
