"""How parallel loops, rows and reductions are divided among the members of a team."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from gpucodegen.dialects.shared.dma import WAITS
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.analysis.work import Middles, inside, iterations
from gpucodegen.passes.cpu.vectorize.accumulations import Order
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.gpu.blocks import deals
from gpucodegen.passes.gpu.blocks.deals import Divide
from gpucodegen.passes.gpu.blocks.phases import STORES
from gpucodegen.passes.gpu.blocks.rows.argminmax import best_of_row, reduce_to_best
from gpucodegen.passes.gpu.blocks.rows.deal import Deal, row_of
from gpucodegen.passes.gpu.blocks.rows.free_reductions import reduction_of
from gpucodegen.passes.gpu.blocks.rows.reduce import reduce
from gpucodegen.passes.gpu.blocks.rows.scans import scan, scan_of
from gpucodegen.passes.gpu.blocks.rows.team import Team
from gpucodegen.passes.gpu.blocks.spread import (
    divides,
    is_straight,
    parallel_chain,
    spread,
)
from gpucodegen.passes.gpu.blocks.threads import dealt_loops, dealt_row, divide
from gpucodegen.tiling.machine.gpu.thread_groups import side_by_side
from gpucodegen.tiling.proof.dependences import Dependence

LOADS = frozenset({"affine.load", "memref.load", "affine.vector_load"})


@dataclass(frozen=True, slots=True)
class LoopsDealt:
    """A parallel nest; along one position, all of it at once if that is known."""

    analysis: NestAnalysis
    team: Team

    def deal(self, op: Operation, middles: Middles) -> Divide | None:
        """The member's iterations of a parallel nest.

        Bounds that divide make proofs too long if several loops are dealt out.
        """
        team, loops = self.team, dealt_loops(op, self.analysis)
        chain = parallel_chain(op, self.analysis)
        if not loops and not chain:
            return None
        if len(team.positions) == 1 and len(loops) >= len(chain):
            return partial(divide, loops=loops, thread=team.number, threads=team.size)
        extents: list[int | None] = []
        for loop in chain:
            run = iterations(loop, middles)
            extents.append(None if run is None else max(len(run), 1))
            middles = inside(loop, middles)
        most = 1 if divides(chain) else len(chain)
        lanes = team.lanes(extents, most)
        straight = is_straight(chain)
        together = side_by_side(extents[-1], lanes[-1][1]) if straight else 1
        return partial(spread, chain=chain, lanes=lanes, together=together)

    def is_of_one_member(
        self, found: Sequence[Dependence], before: Operation, after: Operation
    ) -> bool:
        """Single loops of one start and step are dealt out alike."""
        return deals.is_of_one_member(found, before, after)

    def note(self, op: Operation) -> None:
        """Nothing is kept from one operation to the next."""


@dataclass(frozen=True, slots=True)
class RowsDealt:
    """Rows and reductions by ``rows``, other parallel loops as `LoopsDealt` does it.

    ``order``: what the program allows of its sums.
    """

    analysis: NestAnalysis
    rows: Deal
    order: Order = field(default_factory=Order)

    def deal(self, op: Operation, middles: Middles) -> Divide | None:
        """The member's part of a reduction, a search, a scan, a row, or loops."""
        reduction = reduction_of(op, self.order)
        if reduction and reduction.is_free:
            return partial(reduce, reduction=reduction, deal=self.rows)
        if best := best_of_row(op):
            return partial(reduce_to_best, op=op, found=best, deal=self.rows)
        scanned = scan_of(op, self.order, self.analysis)
        if scanned and scanned.is_free:
            return partial(scan, found=scanned, deal=self.rows)
        loops = LoopsDealt(self.analysis, self.rows.team).deal(op, middles)
        row = dealt_row(op, self.analysis)
        if row and (self.rows.takes_neighbours or not loops):
            return partial(self._row, op=op)
        return partial(self._others, loops=loops) if loops else None

    def _row(self, b: Builder, op: Operation) -> None:
        self.rows.run(b, row_of(op), [], {})

    def _others(self, b: Builder, loops: Divide) -> None:
        self.rows.kept.forget()
        loops(b)

    def is_of_one_member(
        self, found: Sequence[Dependence], before: Operation, after: Operation
    ) -> bool:
        """Single loops of one start and step are dealt out alike."""
        return deals.is_of_one_member(found, before, after)

    def note(self, op: Operation) -> None:
        """Members may have other elements, or what they have may have changed."""
        kept = self.rows.kept
        if op.regions or op.name in WAITS:
            kept.forget()
        elif op.name in STORES:
            kept.note_write(op.operands[1])
        elif op.name in LOADS:
            kept.note_read(op.operands[0])
