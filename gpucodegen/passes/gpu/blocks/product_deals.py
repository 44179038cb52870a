"""Products of tiles among the operations that the threads of a block share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from gpucodegen.dialects.gcg import TileProductNote
from gpucodegen.dialects.shared.dma import STARTS, WAITS, ends_of
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.analysis.work import Middles
from gpucodegen.passes.contraction.in_blocks.forms import TileProduct
from gpucodegen.passes.contraction.in_blocks.keeping import surely_runs
from gpucodegen.passes.contraction.in_blocks.running import RunningProduct
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.blocks.deals import Dealing, Divide
from gpucodegen.passes.gpu.blocks.kept_sums import KeptSums
from gpucodegen.tiling.proof.dependences import Dependence


@dataclass(frozen=True, slots=True)
class ProductsDealt:
    """Products by all threads, what else there is as ``others`` deal it out."""

    products: Mapping[Operation, RunningProduct]
    others: Dealing

    def deal(self, op: Operation, middles: Middles) -> Divide | None:
        """The thread's part of a product; all of them walk what is around it."""
        if op in self.products:
            return partial(self._run, op)
        is_around = self.products and any(o in self.products for o in op.walk())
        return None if is_around else self.others.deal(op, middles)

    def _run(self, op: Operation, b: Builder) -> None:
        self.note(op)
        self.products[op].run(b)

    def is_of_one_member(
        self, found: Sequence[Dependence], before: Operation, after: Operation
    ) -> bool:
        """As others say; in a product, threads read what all have written."""
        is_product = before in self.products or after in self.products
        return not is_product and self.others.is_of_one_member(found, before, after)

    def note(self, op: Operation) -> None:
        """As others do."""
        self.others.note(op)

    @property
    def kept(self) -> dict[Operation, KeptSums]:
        """The loops that carry sums in registers; one product each."""
        return {
            loop: KeptSums(product, loop)
            for product in self.products.values()
            for loop in product.loops
        }


def threads_of(products: Sequence[TileProduct]) -> int | None:
    """Threads of a block that the first product with a plan asks for."""
    planned = [product.plans[0].threads for product in products if product.plans]
    return planned[0] if planned else None


def running(
    b: Builder,
    products: Sequence[TileProduct],
    thread: Index,
    threads: int,
    analysis: NestAnalysis,
) -> dict[Operation, RunningProduct]:
    """The products that so many threads share, by their nests."""
    found: dict[Operation, RunningProduct] = {}
    kept: set[Operation] = set()
    for product in products:
        fitting = [plan for plan in product.plans if plan.threads == threads]
        if not fitting:
            continue
        made = RunningProduct.of(b, product, fitting[0], thread)
        loops = product.loops(analysis)
        if made.reads_first and loops and not surely_runs(loops[0]):
            loops = loops[1:]
        while made.reads_first and loops and _awaits_others(loops[0]):
            loops = loops[1:]
        made.loops = loops if kept.isdisjoint(loops) else ()
        kept.update(made.loops)
        found[product.nest] = made
    return found


def _awaits_others(loop: Operation) -> bool:
    """Whether a loop waits for transfers that began before it, of the sums maybe."""
    inside = list(loop.walk())
    tags = {ends_of(op)[-1].memref for op in inside if op.name in STARTS}
    waits = (op for op in inside if op.name in WAITS)
    return any(ends_of(op)[0].memref not in tags for op in waits)


def noted(
    products: Sequence[TileProduct], warps: Mapping[Operation, RunningProduct]
) -> Iterator[TileProductNote]:
    """What became of each product, in words."""
    for product in products:
        found = warps.get(product.nest)
        mechanism = found.mechanism if found else "an element a thread"
        reason = found.how if found else product.reason or UNLIKE
        yield TileProductNote(product.names, mechanism, reason, product.nest.location)


UNLIKE = "another product of the block takes another number of threads"
