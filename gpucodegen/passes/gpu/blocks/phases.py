"""The program of a block with barriers where its threads have to meet.

Between two barriers, no thread may touch a cell that another thread writes.  So a
barrier stands before every part that depends on a part since the last barrier.  At the
head of a loop, the end of the loop's body counts too.  A wait for a transfer is a
barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpucodegen.dialects.shared.transfers import WAITS
from gpucodegen.ir.operation import Operation, Region, Value
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.blocks.threads import dealt_loops, divide
from gpucodegen.passes.gpu.mapped_loops import LOOPS

STORES = frozenset({"affine.store", "memref.store", "affine.vector_store"})
Pending = dict[int, Operation]
"""What was done since the last barrier, by identity."""


@dataclass(slots=True)
class Phases:
    """Rewrites the body of a block; ``pending`` is the state of the walk."""

    analysis: NestAnalysis
    thread: Value
    threads: int
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
        if op.name in WAITS:
            b.operations.append(op)
            self.pending.clear()
        elif op.regions and not loops:
            self._structured(b, op)
        else:
            self._meet(b, op)
            if loops:
                divide(b, loops, self.thread, self.threads)
            elif op.name in STORES:
                alone = Index.of(0) - self.thread
                b.guard([alone], lambda i: i.operations.append(op))
            else:
                b.operations.append(op)

    def _meet(self, b: Builder, op: Operation) -> None:
        """A barrier if something pending is in conflict with ``op``."""
        if any(self._must_wait(before, op) for before in self.pending.values()):
            b.add("gpu.barrier")
            self.pending.clear()
        self.pending[id(op)] = op

    def _must_wait(self, before: Operation, op: Operation) -> bool:
        key = id(before), id(op)
        if key not in self._ordered:
            self._ordered[key] = bool(self.analysis.conflicts([before], [op]))
        return self._ordered[key]

    def _structured(self, b: Builder, op: Operation) -> None:
        """A loop or branch that all threads walk; it may be left without entering."""
        entry = dict(self.pending)
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
