"""The program of a team with barriers where its threads have to meet.

Between two barriers, no thread may touch a cell that another thread writes.  So a
barrier stands before every part that depends on a part since the last barrier, unless
both deal their iterations out alike and only equal iterations depend on each other: one
thread runs both.  At the head of a loop, the end of the loop's body counts too.  A wait
for a transfer is a barrier.  Reductions whose order is free are dealt out like parallel
loops; the team combines what its members found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpucodegen.dialects.shared.transfers import WAITS
from gpucodegen.ir.operation import Operation, Region
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.cpu.vectorize.accumulations import Order
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.blocks.deals import is_of_one_member
from gpucodegen.passes.gpu.blocks.rows.argminmax import best_of_row, reduce_to_best
from gpucodegen.passes.gpu.blocks.rows.deal import Deal, row_of
from gpucodegen.passes.gpu.blocks.rows.free_reductions import reduction_of
from gpucodegen.passes.gpu.blocks.rows.reduce import reduce
from gpucodegen.passes.gpu.blocks.threads import (
    dealt_loops,
    dealt_row,
    divide,
)
from gpucodegen.passes.gpu.mapped_loops import LOOPS
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect

STORES = frozenset({"affine.store", "memref.store", "affine.vector_store"})
LOADS = frozenset({"affine.load", "memref.load", "affine.vector_load"})
Pending = dict[int, Operation]
"""What was done since the last barrier, by identity."""


@dataclass(slots=True)
class Phases:
    """Rewrites what a team runs; ``pending`` is the state of the walk.

    ``order``: what the program allows of its sums.
    """

    analysis: NestAnalysis
    deal: Deal
    order: Order = field(default_factory=Order)
    pending: Pending = field(default_factory=Pending)
    _ordered: dict[tuple[int, int], bool] = field(
        default_factory=dict[tuple[int, int], bool]
    )

    def operations(self, b: Builder, operations: Sequence[Operation]) -> None:
        """Append the operations, with barriers between them."""
        for op in operations:
            self._one(b, op)

    def _one(self, b: Builder, op: Operation) -> None:
        loops = dealt_loops(op, self.analysis)
        row = dealt_row(op, self.analysis)
        row = row if self.deal.takes_neighbours or not loops else None
        reduction = reduction_of(op, self.order)
        if op.name in WAITS:
            self.deal.kept.forget()
            b.operations.append(op)
            self.pending.clear()
        elif reduction and reduction.is_free:
            self._meet(b, op)
            reduce(b, reduction, self.deal)
        elif best := best_of_row(op):
            self._meet(b, op)
            reduce_to_best(b, op, best, self.deal)
        elif row:
            self._meet(b, op)
            self.deal.run(b, row_of(op), [], {})
        elif op.regions and not loops:
            self._structured(b, op)
        elif op.name == "affine.yield" or (not op.regions and has_no_effect(op)):
            b.operations.append(op)
        else:
            self._meet(b, op)
            if loops:
                self.deal.kept.forget()
                divide(b, loops, self.deal.team.member, self.deal.team.size)
            elif op.name in STORES:
                alone = Index.of(0) - self.deal.team.member
                b.guard([alone], lambda i: i.operations.append(op))
                self.deal.kept.note_write(op.operands[1])
            else:
                b.operations.append(op)
                if op.name in LOADS:
                    self.deal.kept.note_read(op.operands[0])

    def _meet(self, b: Builder, op: Operation) -> None:
        """A barrier if something pending is in conflict with ``op``."""
        if any(self._must_wait(before, op) for before in self.pending.values()):
            self.deal.team.meet(b)
            self.pending.clear()
        self.pending[id(op)] = op

    def _must_wait(self, before: Operation, op: Operation) -> bool:
        key = id(before), id(op)
        if key not in self._ordered:
            found = self.analysis.conflicts([before], [op])
            self._ordered[key] = not is_of_one_member(found, before, op)
        return self._ordered[key]

    def _structured(self, b: Builder, op: Operation) -> None:
        """A loop or branch that all threads walk; it may be left without entering."""
        entry = dict(self.pending)
        self.deal.kept.forget()
        while op.name in LOOPS:
            before = dict(self.pending)
            self._regions(op, before)
            self.pending |= before
            if self.pending.keys() == before.keys():
                break
        regions = self._regions(op, dict(self.pending))
        b.operations.append(op.with_(regions=regions))
        self.pending |= entry

    def _regions(self, op: Operation, entry: Pending) -> tuple[Region, ...]:
        """The regions, each entered in the same state; what any leaves is pending."""
        left: Pending = {}
        regions: list[Region] = []
        for region in op.regions:
            self.pending = dict(entry)
            regions.append(self._region(region, op))
            left |= self.pending
        self.pending = left
        return tuple(regions)

    def _region(self, region: Region, op: Operation) -> Region:
        def rebuilt(operations: Sequence[Operation]) -> list[Operation]:
            inner = Builder(op.location)
            self.operations(inner, operations)
            return inner.operations

        return Region(
            tuple(
                block.with_operations(rebuilt(block.operations))
                for block in region.blocks
            )
        )
