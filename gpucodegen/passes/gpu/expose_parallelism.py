"""Loop order and fusion for the GPU, chosen by estimated run time.

`ExposeParallelism` compares the orders of isl's scheduler, which place parallel loops
outside with few sequential steps around them, with an order that runs steps along loops
of the text, and keeps the one of fewest estimated clock cycles.  All dependences are
kept.

`FuseRows` fuses neighbouring nests that use the same rows, such as those of a softmax,
so that one kernel reads and writes each row once.  Contractions are not fused, nor are
reductions of so few rows that thread groups would leave the device idle.  A nest that
fills an array is fused with the reductions that begin with its numbers, around these:

    for p { A[p] = c }
    for p { for r { A[p] = A[p] + B[p, r] } }  =>  for p { A[p] = c; for r { .. } }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import takewhile
from math import prod
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.analysis.work import (
    Middles,
    inside,
    iterations,
)
from gpucodegen.passes.contraction.gpu.axes import paying_contraction
from gpucodegen.passes.contraction.recognize import only_accumulates
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.framework.indexing import compact, from_map
from gpucodegen.passes.framework.nests import inner_operations, loop_depth
from gpucodegen.passes.gpu.blocks.thread_reductions import extent
from gpucodegen.passes.gpu.reduction_problems import parallel_outermost
from gpucodegen.passes.gpu.stencil_sweeps import can_tile_time
from gpucodegen.passes.gpu.stepped import TYPICAL, Steps, distributed, lane_programs
from gpucodegen.passes.loops.fusion import Fuser, LocalityFuser
from gpucodegen.passes.loops.interchange import interchanged, refusal_of
from gpucodegen.passes.loops.partial_reductions import with_partial_reductions
from gpucodegen.passes.loops.restructure import (
    Planner,
    reordered,
    rewrite_nests,
)
from gpucodegen.passes.nests.distribution import distribute
from gpucodegen.passes.nests.loop_ranges import chain_of
from gpucodegen.passes.outlining.cpu_outliner import needs_host
from gpucodegen.passes.outlining.transfer_spans import needs_block
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import SCHEDULERS, WARP, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import START
from gpucodegen.tiling.machine.gpu.product_plan import planned_for
from gpucodegen.tiling.machine.gpu.reductions import KEPT, SIZES
from gpucodegen.tiling.machine.gpu.thread_groups import (
    lane_clocks,
    plan_lanes,
    step_clocks,
)
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.proof.liveness import LoopKind, LoopVerdict
from gpucodegen.tiling.schedule.isl_scheduler import (
    Parallel,
    find_schedule,
    schedule_steps,
)


@dataclass(frozen=True, slots=True)
class FuseRows(ModulePass):
    """Fuse neighbours that share rows where all rows together fill a GPU.

    ``arch``: the architecture of that GPU; any one by default.
    """

    name: ClassVar[str] = "fuse-rows"
    looks_for: ClassVar[frozenset[str]] = frozenset({"affine.for"})
    arch: str = ""

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)
        processors = planned_for(self.arch).processors

        def splits(rows: int, length: int) -> bool:
            return rows < processors or length > max(SIZES) * KEPT

        def block(operations: Sequence[Operation]) -> list[Operation]:
            begun = with_initial_values(operations, surroundings)
            begun, split = with_partial_reductions(begun, surroundings.aliases, splits)
            begun = _with_rows_outside(begun, surroundings, processors)

            def is_left_alone(op: Operation, analysis: NestAnalysis) -> bool:
                return op in split or _is_left_alone(op, analysis, processors)

            least = processors
            fuser = LocalityFuser(surroundings, processors, is_left_alone, least=least)
            return fuser.all_fused(begun)

        return in_functions(module, lambda op: [with_blocks(op, block)])


def with_initial_values(
    operations: Sequence[Operation], surroundings: Surroundings
) -> list[Operation]:
    """The block with fills inside of the reductions that begin with them."""
    current, at = list(operations), 0
    while at < len(current):
        made = _begun(current, at, surroundings)
        current, at = (current, at + 1) if made is None else (made, at)
    return current


def _begun(
    operations: list[Operation], at: int, surroundings: Surroundings
) -> list[Operation] | None:
    """The block with the fill at a position fused, if there is one."""
    chain = chain_of(operations[at]) if operations[at].name == "affine.for" else []
    stored = _filled(chain)
    if stored is None or None in map(extent, chain):
        return None
    users = (
        n
        for n, op in enumerate(operations[at + 1 :], at + 1)
        if any(stored in inner.used for inner in op.walk())
    )
    user = next(users, at)
    op = operations[user]
    if user == at or op.name != "affine.for" or len(chain_of(op)) <= len(chain):
        return None
    op = parallel_outermost(op, operations[:user], surroundings)
    analysis = analyse([op], operations[:user], surroundings)
    if any(map(paying_contraction, distribute(op, analysis))):
        return None
    around = chain_of(op)[: len(chain)]
    order = _order_of(chain, around, stored)
    if order is None or not all(map(analysis.is_parallel, around)):
        return None
    turned = list(operations)
    turned[at], turned[user] = interchanged(chain, order), op
    made = Fuser((), None, surroundings, len(chain)).fused(turned, at, user)
    return None if isinstance(made, Refusal) else made


ROWS_OF_THREADS = 1 << 10
"""Rows of each processor from which on a thread per row fills the device."""


def _with_rows_outside(
    operations: Sequence[Operation], surroundings: Surroundings, processors: int
) -> list[Operation]:
    """The block with elementwise nests in the order of the rows that they follow.

    Loops move where a reduction of strided rows, each for one thread, stores what the
    nest loads for each of its rows: then both are fused.
    """
    turned = list(operations)
    rows: dict[Value, list[int]] = {}
    for at, op in enumerate(operations):
        chain = chain_of(op) if op.name == "affine.for" else []
        inside = inner_operations(chain[-1]) if chain else ()
        order = _order_along(chain, inside, rows)
        if order and order != sorted(order):
            analysis = analyse([op], turned[:at], surroundings)
            is_legal = refusal_of(analysis, chain, order) is None
            turned[at] = interchanged(chain, order) if is_legal else op
        counts = [extent(loop) or 0 for loop in chain]
        if inside and inside[0].name == "affine.store" and len(inside) > 1:
            ways = _dimensions(chain, inside[0])
            if ways and prod(counts) >= processors * ROWS_OF_THREADS:
                rows[inside[0].operands[1]] = ways
    return turned


def _order_along(
    chain: Sequence[Operation],
    body: Sequence[Operation],
    rows: Mapping[Value, Sequence[int]],
) -> list[int] | None:
    """The loops of an elementwise nest with those of rows, in their order, outside."""
    variables = [affine.For(op).iv for op in chain]
    for op in body:
        wanted = rows.get(op.operands[0]) if op.name == "affine.load" else None
        places = [v for v in op.operands[1:] if v in variables]
        if wanted and affine.map_of(op).is_identity and len(places) == len(wanted):
            first = [variables.index(places[d]) for d in wanted]
            return [*first, *(n for n in range(len(chain)) if n not in first)]
    return None


def _order_of(
    fill: Sequence[Operation], around: Sequence[Operation], stored: Value
) -> list[int] | None:
    """The fill's loops in the order in which other loops index the array.

    The iterations of a fill may come in any order: each writes an element of its own.
    """
    accesses = (o for o in around[-1].walk() if o.name in affine.ACCESSES)
    user = next((o for o in accesses if stored in o.operands), None)
    (store,) = inner_operations(fill[-1])
    ways = _dimensions(fill, store), user and _dimensions(around, user)
    if None in ways:
        return None
    own, wanted = ({d: n for n, d in enumerate(way or ())} for way in ways)
    return [own[d] for d in wanted] if own.keys() == wanted.keys() else None


def _dimensions(chain: Sequence[Operation], access: Operation) -> list[int] | None:
    """The dimension of the array that each loop alone indexes."""
    position = 1 if access.name == "affine.store" else 0
    indices = from_map(affine.map_of(access), access.operands[position + 1 :])
    found = {
        index.values[0]: d
        for d, index in enumerate(map(compact, indices))
        if index.expr == Dim(0)
    }
    variables = [affine.For(op).iv for op in chain]
    is_each = len(found) == len(indices) == len(chain) and {*variables} <= {*found}
    return [found[v] for v in variables] if is_each else None


def _filled(chain: Sequence[Operation]) -> Value | None:
    """The array that a nest fills with one number that it does not load."""
    body = inner_operations(chain[-1]) if chain else ()
    if len(body) != 1 or body[0].name != "affine.store":
        return None
    return body[0].operands[1]


def _is_left_alone(op: Operation, analysis: NestAnalysis, processors: int) -> bool:
    """Contractions, block programs, host nests, and reductions of few rows."""
    if needs_block(op) or any(map(needs_host, op.walk())):
        return True
    if any(map(paying_contraction, distribute(op, analysis))):
        return True
    rows = [*takewhile(analysis.is_parallel, chain_of(op))] or [op]
    counts = [extent(loop) for loop in rows]
    is_few = None not in counts and prod(n or 1 for n in counts) < processors
    loops = (o for o in op.walk() if o.name == "affine.for")
    return is_few and not all(map(analysis.is_parallel, loops))


Operations = list[Operation]
DEEPEST = 3
"""Deepest nest whose order is searched: isl takes minutes for deeper ones."""
ENOUGH = 8.0
"""Clock cycles, relative to full use of all processors, that are good enough."""
GAIN = 0.8
"""Most clock cycles of a new order, relative to the textual one."""


@dataclass(frozen=True, slots=True)
class ExposeParallelism(ModulePass):
    """Give nests the order of fewest expected clocks.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<4097x4096xf32>) {
    ...   affine.for %i = 1 to 4097 {
    ...     affine.for %j = 0 to 4096 {
    ...       %above = affine.load %A[%i - 1, %j] : memref<4097x4096xf32>
    ...       affine.store %above, %A[%i, %j] : memref<4097x4096xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> print(ExposeParallelism().apply(module))
    module {
      func.func @f(%A: memref<4097x4096xf32>) {
        affine.for %j = 0 to 4096 {
          affine.for %i = 1 to 4097 {
            %above = affine.load %A[%i - 1, %j] : memref<4097x4096xf32>
            affine.store %above, %A[%i, %j] : memref<4097x4096xf32>
          }
        }
        return
      }
    }
    """

    name: ClassVar[str] = "expose-parallelism"
    looks_for: ClassVar[frozenset[str]] = frozenset({"affine.for"})
    arch: str = ""

    def apply(self, module: Module) -> Module:
        best = partial(_best, device=planned_for(self.arch))
        return rewrite_nests(module, best)


def _best(
    op: Operation,
    context: Sequence[Operation],
    surroundings: Surroundings,
    device: GpuDevice,
) -> Operations:
    analysis = analyse([op], context, surroundings)
    if needs_block(op) or _multiplies(op, analysis, context, surroundings):
        return [op]
    if loop_depth(op) > DEEPEST or _has_shared_rows(op, analysis, device):
        return [op]
    textual = _clocks(op, context, surroundings, device, analysis)
    if textual <= ENOUGH * _least_clocks(op, device):
        return [op]
    if can_tile_time(op, analysis, device):
        return [op]
    orders: list[Operations] = []
    for plan in _PLANS:
        made = reordered(op, context, surroundings, plan)
        if not isinstance(made, Refusal):
            orders.append(made)

    def cost(operations: Operations) -> float:
        given = [*context, *(o for o in operations if not o.regions)]
        return sum(
            _clocks(o, given, surroundings, device, analyse([o], given, surroundings))
            for o in operations
            if o.regions
        )

    costs = [cost(order) / GAIN for order in orders]
    least = min(costs, default=textual)
    return orders[costs.index(least)] if least < textual else [op]


def _has_shared_rows(op: Operation, analysis: NestAnalysis, device: GpuDevice) -> bool:
    """Whether rows enough for all processors run several loops, each for a team.

    The estimates here know a thread per row; `map_reductions` gives each row a team.
    """
    rows = chain_of(op)
    counts = [extent(loop) for loop in rows]
    known = prod(count or 0 for count in counts)
    inner = [o for o in inner_operations(rows[-1]) if o.name == "affine.for"]
    kinds = [analysis.verdict(loop) for loop in inner]
    return (
        len(inner) > 1
        and known >= device.processors
        and all(map(analysis.is_parallel, rows))
        and all(found is not None and _is_shared(found) for found in kinds)
    )


def _is_shared(found: LoopVerdict) -> bool:
    """Whether the members of a team may share the iterations of a loop."""
    is_sum = found.kind is LoopKind.REDUCTION and found.reassociable
    return found.kind is LoopKind.PARALLEL or is_sum


def _least_clocks(op: Operation, device: GpuDevice) -> float:
    """Clock cycles where all lanes of the device are used."""
    lanes = SCHEDULERS * WARP * device.processors
    return START * device.clock + _work(op, {}) / lanes


def _work(op: Operation, middles: Middles) -> int:
    """Operations of a nest; unknown extents are estimated."""
    inner = op.nested
    if op.name != "affine.for":
        return sum(_work(o, middles) for o in inner) or 1
    run = iterations(op, middles)
    middles = inside(op, middles)
    once = sum(_work(o, middles) for o in inner)
    return once * (TYPICAL if run is None else len(run))


def _isl(parallel: Parallel) -> Planner:
    return lambda source: find_schedule(source.nest, parallel=parallel)


_PLANS: tuple[Planner, ...] = (
    *map(_isl, Parallel),
    lambda source: schedule_steps(source.nest),
)
"""The planners of loop orders."""


def _multiplies(
    op: Operation,
    analysis: NestAnalysis,
    context: Sequence[Operation],
    surroundings: Surroundings,
) -> bool:
    """Whether a part of the nest becomes the kernel of a contraction."""
    return any(
        paying_contraction(part)
        and only_accumulates(analyse([part], context, surroundings).dependences)
        for part in distribute(op, analysis)
    )


def _clocks(
    op: Operation,
    context: Sequence[Operation],
    surroundings: Surroundings,
    device: GpuDevice,
    analysis: NestAnalysis,
) -> float:
    """Estimated clock cycles of the kernels of a nest."""
    whole, apart = distributed(op, context, surroundings, analysis)
    best = step_clocks(Steps(apart).of([whole]), device=device)
    if found := lane_programs(op, context, surroundings, analysis):
        plan = plan_lanes(found.number, found.neighbours, found.steps, device=device)
        best = min(best, lane_clocks(plan, found.number, found.steps, device))
    return START * device.clock + best
