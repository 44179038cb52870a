"""Distribution of parallel loops, rows, reductions and products over a thread group.

Parallel loops are distributed together when each has a fixed start and surely ends
within a constant number of iterations; a guard around the body handles earlier ends.
The innermost loop runs along neighbouring threads.  A loop without inner loops may end
anywhere: each thread strides over its iterations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.dialects.gcg import TileProductNote
from gpucodegen.dialects.shared.dma import STARTS, TRANSFERS, WAITS, ends_of
from gpucodegen.ir.affine import AffineExpr, Binary
from gpucodegen.ir.operation import Operation, Value, clone, substitute_values
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.analysis.work import Middles, inside, iterations
from gpucodegen.passes.contraction.gpu.block_products import (
    RunningProduct,
    TileProduct,
    surely_runs,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import (
    Index,
    bounds_of,
    compact,
    substituted,
)
from gpucodegen.passes.framework.nests import inner_operations, perfect_chain
from gpucodegen.passes.gpu.blocks import barrier_phases
from gpucodegen.passes.gpu.blocks.barrier_phases import (
    STORES,
    Divide,
    KeptSums,
    WorkDistribution,
)
from gpucodegen.passes.gpu.blocks.row_distribution import (
    LaneGroup,
    RowDistribution,
    row_of,
)
from gpucodegen.passes.gpu.blocks.scans import (
    best_of_row,
    reduce_to_best,
    scan,
    scan_of,
)
from gpucodegen.passes.gpu.blocks.thread_reductions import reduce, reduction_of
from gpucodegen.passes.gpu.nest_mapping import MappedLoop, mapped_loops
from gpucodegen.passes.vectorize.accumulations import Order
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.machine.gpu.thread_groups import side_by_side
from gpucodegen.tiling.proof.dependences import Dependence


def divides(chain: Sequence[Operation]) -> bool:
    """Whether loop bounds contain divisions, as those of skewed wavefronts do."""
    maps = [
        m for op in chain for m in (affine.For(op).lower_map, affine.For(op).upper_map)
    ]
    return any(_divides(result) for m in maps for result in m.results)


def _divides(expression: AffineExpr) -> bool:
    if not isinstance(expression, Binary):
        return False
    here = expression.op not in ("+", "*")
    return here or _divides(expression.lhs) or _divides(expression.rhs)


def is_straight(chain: Sequence[Operation]) -> bool:
    """Whether the innermost body consists of plain operations with loads.

    Several bounds with divisions make proofs too long.
    """
    body = inner_operations(chain[-1])
    loads = any(op.name == "affine.load" for op in body)
    return loads and not divides(chain) and not any(op.regions for op in body)


def spreadable_chain(op: Operation, analysis: NestAnalysis) -> list[Operation]:
    """The perfectly nested parallel loops from ``op`` inwards, of any bounds.

    DMA copies are cooperative, so none may stand inside.
    """
    if any(inner.name in TRANSFERS for inner in op.walk()):
        return []
    return perfect_chain(op, analysis.is_parallel)


def spread(
    b: Builder,
    chain: Sequence[Operation],
    lanes: Sequence[tuple[Index, int]],
    together: int = 1,
) -> None:
    """Distribute nested parallel loops cyclically over the threads.

    ``together``: iterations of the innermost loop that a thread runs interleaved, so
    that it waits for their loads at once.
    """
    body = inner_operations(chain[-1])

    def level(inner: Builder, depth: int, values: dict[Value, Value]) -> None:
        loop = affine.For(chain[depth])
        place, count = lanes[depth]
        known = {old: Index.of(new) for old, new in values.items()}
        lowers, uppers = bounds_of(loop)
        starts = [
            compact(substituted(lower, known) + place * loop.step) for lower in lowers
        ]
        ends = [substituted(upper, known) for upper in uppers]
        stride, hint = loop.step * count, loop.iv.name

        def one(i: Builder, iv: Value) -> None:
            now = {**values, loop.iv: iv}
            if depth + 1 < len(chain):
                level(i, depth + 1, now)
            else:
                i.operations += [substitute_values(o, now) for o in body]

        def several(i: Builder, iv: Value) -> None:
            last = Index.of(iv) + (together - 1) * stride
            i.guard(
                [compact(end - 1 - last) for end in ends],
                lambda whole: _side_by_side(whole, body, places(whole, iv)),
                lambda rest: rest.loop(iv, ends, one, step=stride, hint=hint),
            )

        def places(i: Builder, iv: Value) -> list[dict[Value, Value]]:
            others = [Index.of(iv) + n * stride for n in range(1, together)]
            found = [iv, *(i.index(other, hint) for other in others)]
            return [{**values, loop.iv: place} for place in found]

        joins = together > 1 and depth + 1 == len(chain)
        step = stride * together if joins else stride
        inner.loop(starts, ends, several if joins else one, step=step, hint=hint)

    level(b, 0, {})


def _side_by_side(
    b: Builder, body: Sequence[Operation], known: list[dict[Value, Value]]
) -> None:
    """Interleaved copies of a body; ``known``: the values in each copy."""
    for op in body:
        for values in known:
            b.operations.append(clone(op, values))


MAX_THREADS = 256


@dataclass(frozen=True, slots=True)
class Dealt:
    """A parallel loop of at most ``extent`` iterations; limits may end it earlier."""

    loop: MappedLoop
    extent: int
    limits: tuple[Index, ...]


def dealt_loops(op: Operation, analysis: NestAnalysis) -> list[Dealt]:
    """The perfectly nested parallel loops from ``op`` inwards that can be distributed.

    DMA copies are cooperative, so none may stand inside.
    """
    loops: list[Dealt] = []
    if any(inner.name in TRANSFERS for inner in op.walk()):
        return loops
    while op.name == "affine.for":
        found = [_dealt(loop) for loop in mapped_loops(op, analysis)]
        if not found or found[0] is None:
            break
        loops.append(found[0])
        inner = inner_operations(op)
        if len(inner) != 1:
            break
        op = inner[0]
    return loops


def _dealt(loop: MappedLoop) -> Dealt | None:
    spans = [compact(upper - loop.lower).constant for upper in loop.uppers]
    known = [span for span in spans if span is not None]
    if not known:
        return None
    open_ends = (u for u, span in zip(loop.uppers, spans, strict=True) if span is None)
    return Dealt(loop, max(0, -(-min(known) // loop.step)), tuple(open_ends))


def dealt_row(op: Operation, analysis: NestAnalysis) -> MappedLoop | None:
    """A parallel loop without inner loops; it may end anywhere."""
    found = mapped_loops(op, analysis) if op.name == "affine.for" else []
    if len(found) != 1 or any(o.regions for o in inner_operations(op)):
        return None
    return None if any(o.name in TRANSFERS for o in op.walk()) else found[0]


def thread_count(operations: Sequence[Operation], analysis: NestAnalysis) -> int:
    """Threads for the largest distributed loop nest, at most `MAX_THREADS`."""
    largest = max(
        (
            prod(loop.extent for loop in dealt_loops(inner, analysis))
            for op in operations
            for inner in op.walk()
            if inner.name == "affine.for"
        ),
        default=1,
    )
    return max(WARP, min(MAX_THREADS, -(-largest // WARP) * WARP))


def divide(b: Builder, loops: Sequence[Dealt], thread: Index, threads: int) -> None:
    """Distribute the iterations of a parallel nest over the threads."""
    body = inner_operations(loops[-1].loop.operation)

    def iteration(inner: Builder, number: Value) -> None:
        values: dict[Value, Value] = {}
        limits: list[Index] = []
        for dealt, position in zip(loops, _positions(loops, number), strict=True):
            loop = dealt.loop
            known = {old: Index.of(new) for old, new in values.items()}
            place = substituted(loop.lower, known) + position * loop.step
            iv = inner.index(compact(place), loop.iv.name)
            values[loop.iv] = iv
            limits += [substituted(limit, known) - 1 - iv for limit in dealt.limits]
        inner.guard(
            limits,
            lambda i: i.operations.extend(substitute_values(o, values) for o in body),
        )

    total = prod(loop.extent for loop in loops)
    b.loop(thread, total, iteration, step=threads, hint="e")


def _positions(loops: Sequence[Dealt], number: Value) -> list[Index]:
    """The position in each loop of the ``number``-th iteration, innermost fastest."""
    positions: list[Index] = []
    size = 1
    for depth, loop in reversed(list(enumerate(loops))):
        here = Index.of(number) // size if size > 1 else Index.of(number)
        positions.insert(0, here % loop.extent if depth else here)
        size *= loop.extent
    return positions


LOADS = frozenset({"affine.load", "memref.load", "affine.vector_load"})


@dataclass(frozen=True, slots=True)
class LoopShares:
    """Distribution of parallel nests over one position or several ones."""

    analysis: NestAnalysis
    team: LaneGroup

    def deal(self, op: Operation, middles: Middles) -> Divide | None:
        """The member's iterations of a parallel nest.

        Several loop bounds with divisions make proofs too long.
        """
        team, loops = self.team, dealt_loops(op, self.analysis)
        chain = spreadable_chain(op, self.analysis)
        if not loops and not chain:
            return None
        if len(team.positions) == 1 and len(loops) >= len(chain):
            return partial(divide, loops=loops, thread=team.number, threads=team.size)
        lanes, together = self.lanes(chain, middles)
        return partial(spread, chain=chain, lanes=lanes, together=together)

    def lanes(
        self, chain: Sequence[Operation], middles: Middles
    ) -> tuple[list[tuple[Index, int]], int]:
        """Positions and their counts for each loop of a chain.

        The second result: innermost iterations that a thread runs interleaved.
        """
        extents: list[int | None] = []
        for loop in chain:
            run = iterations(loop, middles)
            extents.append(None if run is None else max(len(run), 1))
            middles = inside(loop, middles)
        most = 1 if divides(chain) else len(chain)
        lanes = self.team.lanes(extents, most)
        if not is_straight(chain):
            return lanes, 1
        return lanes, side_by_side(extents[-1], lanes[-1][1])

    def is_of_one_member(
        self, found: Sequence[Dependence], before: Operation, after: Operation
    ) -> bool:
        """Loops of one start and step are distributed alike."""
        return barrier_phases.is_of_one_member(found, before, after)

    def note(self, op: Operation) -> None:
        """Nothing to record: members keep no values between operations."""


@dataclass(frozen=True, slots=True)
class RowShares:
    """Rows and reductions by ``rows``, other parallel loops as `LoopShares`.

    ``order``: the reassociation that the program allows.
    """

    analysis: NestAnalysis
    rows: RowDistribution
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
        loops = LoopShares(self.analysis, self.rows.team).deal(op, middles)
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
        """Loops of one start and step are distributed alike."""
        return barrier_phases.is_of_one_member(found, before, after)

    def note(self, op: Operation) -> None:
        """Forget register values of elements."""
        kept = self.rows.kept
        if op.regions or op.name in WAITS:
            kept.forget()
        elif op.name in STORES:
            kept.note_write(op.operands[1])
        elif op.name in LOADS:
            kept.note_read(op.operands[0])


@dataclass(frozen=True, slots=True)
class ProductShares:
    """Products by all threads, other operations by ``others``."""

    products: Mapping[Operation, RunningProduct]
    others: WorkDistribution

    def deal(self, op: Operation, middles: Middles) -> Divide | None:
        """The thread's part of a product; all threads run the operations around it."""
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
        """As ``others``; the threads of a product read data of all threads."""
        is_product = before in self.products or after in self.products
        return not is_product and self.others.is_of_one_member(found, before, after)

    def note(self, op: Operation) -> None:
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
    """Threads per block in the plan of the first product that has one."""
    planned = [product.plans[0].threads for product in products if product.plans]
    return planned[0] if planned else None


def running(
    b: Builder,
    products: Sequence[TileProduct],
    thread: Index,
    threads: int,
    analysis: NestAnalysis,
) -> dict[Operation, RunningProduct]:
    """The products distributed over the threads, by their nests."""
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
    """Whether a loop waits for copies that began before it."""
    inside = list(loop.walk())
    tags = {ends_of(op)[-1].memref for op in inside if op.name in STARTS}
    waits = (op for op in inside if op.name in WAITS)
    return any(ends_of(op)[0].memref not in tags for op in waits)


def noted(
    products: Sequence[TileProduct], warps: Mapping[Operation, RunningProduct]
) -> Iterator[TileProductNote]:
    """A note on the mapping of each product."""
    for product in products:
        found = warps.get(product.nest)
        mechanism = found.mechanism if found else "an element a thread"
        reason = found.how if found else product.reason or UNLIKE
        yield TileProductNote(product.names, mechanism, reason, product.nest.location)


UNLIKE = "another product of the block takes another number of threads"
