"""Whether the rows of a loop run side by side, and which of its inner loops do.

Those do that pass values on in an order that must be kept, and those on short rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.queries import Analysis
from gpucodegen.passes.cpu.vectorize.loops import Range, range_of
from gpucodegen.passes.cpu.vectorize.operations import cost
from gpucodegen.passes.cpu.vectorize.outer_loops.row_blocks import (
    RowBlocks,
    RowBody,
    row_body,
)
from gpucodegen.passes.cpu.vectorize.recognize import Body
from gpucodegen.passes.cpu.vectorize.rows.accumulations import Order, accumulating
from gpucodegen.passes.cpu.vectorize.rows.argminmax import record_of
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.tiling.machine.loops.row_plan import RowLoop, is_short_row, rows_abreast
from gpucodegen.tiling.machine.products.register_tile import VectorUnit


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The choice for a range of ``rows``.

    ``cache``: bytes of the second level of a core; ``order``: which sums may have.
    """

    rows: Range
    unit: VectorUnit
    threads: int
    cache: int
    order: Order

    def may_pay(self, op: Operation) -> bool:
        """Whether a loop has inner loops that would run side by side."""
        return any(map(self.runs_abreast, inner_operations(op)))

    def runs_abreast(self, loop: Operation) -> bool:
        """Whether an inner loop passes values on, and not better along its row."""
        if loop.name != "affine.for" or not _passes_on(loop):
            return False
        body = self._along_row(loop)
        if body is None:
            return True
        range_ = range_of(loop)
        lanes = self.unit.lanes(max(32, *body.bits))
        return range_ is not None and is_short_row(self.rows.trips, range_.trips, lanes)

    def _along_row(self, loop: Operation) -> Body | None:
        """What a loop computes in lanes along its row, if no order forbids it."""
        record, range_ = record_of(loop), range_of(loop)
        if record and range_ and record.row(range_, self.unit):
            return record.body
        found = accumulating(loop)
        free = found and all(map(self.order.frees, found.accumulations))
        return found.body if found and free else None

    def strips(self, op: Operation, analysis: Analysis) -> list[Operation]:
        """The loop over the rows in strips, if it is parallel and there are any."""
        if op.name != "affine.parallel" and not analysis.is_parallel(op):
            return []
        body = row_body(op, analysis, self.runs_abreast)
        if body is None:
            return []
        width = self.unit.lanes(_bits(body))
        threads = self.threads if op.name == "affine.parallel" else 1
        loop = _row_loop(op, body, self.rows)
        lanes = rows_abreast(loop, self.unit, threads, self.cache)
        return RowBlocks(body, lanes, width).strips(op, self.rows) if lanes else []


def _passes_on(loop: Operation) -> bool:
    """Whether a loop without others in it may pass values on."""
    inner = inner_operations(loop)
    if any(op.regions for op in inner):
        return False
    moved = {loop.body.arguments[0], *(value for op in inner for value in op.results)}
    stores = (op for op in inner if op.name == "affine.store")
    return bool(loop.results) or any(moved.isdisjoint(op.operands[1:]) for op in stores)


def _bits(body: RowBody) -> int:
    """Width of the narrowest elements that fill registers."""
    widths = {bits for r in body.recurrences for bits in r.chain.bits}
    return max(32, min(widths))


def _row_loop(op: Operation, body: RowBody, range_: Range) -> RowLoop:
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
        if inner not in recurrence.chain.streams
    )
    return RowLoop(range_.trips, columns, _bits(body), len(arrays), passes, operations)
