"""Locality: the innermost loop by cache lines touched, and fusion of adjacent nests.

After McKinley, Carr and Tseng ("Improving data locality with loop transformations",
1996), each step proven legal and taken only where it is expected to pay:

1. The loop that touches the fewest cache lines goes innermost and the others keep their
   order, except that operations between two loops that transpose go outside of both,
   unless they are one row with the inner loop.  An imperfect nest is distributed first
   if a part of it gains, and values that loops along columns carry go to memory
   (`array_privatization`).  If the outermost loop becomes sequential, blocks of the
   parallel one run outside, one per thread.  Where nothing gains, the nests inside are
   ordered for themselves.
2. Adjacent nests that sweep over one array are fused as far as parallel loops stay
   parallel.  Innermost loops are fused only if they are parallel, since they are
   vectorized, which a sum next to them would prevent; or if a reduction whose terms may
   be reordered, and which is vectorized, too, uses what parallel loops compute.

The summation order of each element is kept.  Nests that become register tiles are not
changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field, replace
from itertools import count
from math import prod
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.contraction.cpu.kernel_forms import holds_contraction
from gpucodegen.passes.contraction.reduction_to_memory import shared_buffers
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.framework.nests import axis_of
from gpucodegen.passes.loops import interchange
from gpucodegen.passes.loops.array_privatization import expanded, runs_along_columns
from gpucodegen.passes.loops.fusion import LocalityFuser, Predicate, Span
from gpucodegen.passes.loops.rectangular_tiling import tiled
from gpucodegen.passes.loops.requested_schedules import (
    APART,
    TOGETHER,
    Asked,
    Order,
    not_there,
    number_of,
    orders,
)
from gpucodegen.passes.nests import loop_names
from gpucodegen.passes.nests.distribution import distribute
from gpucodegen.passes.nests.loop_names import FOR
from gpucodegen.passes.nests.loop_ranges import chain_of, sunk
from gpucodegen.passes.vectorize.accumulations import Order as SumOrder
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.locality import (
    LINE_ELEMENTS,
    continues,
    innermost_cost,
    turned_against,
)
from gpucodegen.tiling.machine.plan_space import PlanSpace
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.tuning.knobs import LOOPS, Knob, menu_knob

SHORTEST = 8
"""Fewest iterations of an innermost loop: shorter ones do not fill a vector."""
SERIAL = 1.5
"""Cache lines per iteration charged to sequential loops if the last is parallel."""


def best_order(analysis: NestAnalysis, chain: Sequence[Operation]) -> Order | None:
    """The best legal order, if it is better than the textual one."""
    return next(
        (
            order
            for order in _better_orders(analysis, chain)
            if interchange.refusal_of(analysis, chain, order) is None
        ),
        None,
    )


def order_menu(
    name: str, analysis: NestAnalysis, chain: Sequence[Operation], default: Order | None
) -> PlanSpace | None:
    """The legal orders of a nest except the ``default``, which an empty point means.

    Their cost is the cache lines of their innermost loop over all iterations.  The
    default, None where it is no order, is expected to be the best.
    """
    loops = loop_names.lifted_loops(analysis, chain)
    costs = [innermost_cost(analysis.model, loop) for loop in loops]
    least = min(costs) if default is None else costs[default[-1]]
    legal = [
        order
        for order in orders(len(chain))
        if order != default and interchange.refusal_of(analysis, chain, order) is None
    ]
    if not legal:
        return None
    lines = [least, *(max(least, costs[order[-1]]) for order in legal)]
    every = prod(axis.extent for axis in map(axis_of, chain) if axis)
    clocks = tuple(every * max(each, 1 / LINE_ELEMENTS) for each in lines)
    return PlanSpace(({}, *({name: number_of(order)} for order in legal)), clocks)


def _better_orders(
    analysis: NestAnalysis, chain: Sequence[Operation]
) -> list[tuple[int, ...]]:
    """Orders with a cheaper loop innermost, the cheapest first.

    A loop that is not parallel must gain more to replace one that is.
    """
    last = len(chain) - 1
    loops = loop_names.lifted_loops(analysis, chain)
    costs = [innermost_cost(analysis.model, loop) for loop in loops]
    if analysis.is_parallel(chain[last]):
        serial = [not analysis.is_parallel(op) for op in chain]
        costs = [c + SERIAL * s for c, s in zip(costs, serial, strict=True)]
    cheaper = [
        at for at in range(last) if costs[at] < costs[last] and not _is_short(chain[at])
    ]
    cheaper.sort(key=costs.__getitem__)
    moved = [(*(n for n in range(last + 1) if n != at), at) for at in cheaper]
    found = [
        _transposing(analysis, chain, order) for order in (*moved, range(last + 1))
    ]
    return [order for order in found if order != tuple(range(last + 1))]


def _transposing(
    analysis: NestAnalysis, chain: Sequence[Operation], order: Sequence[int]
) -> tuple[int, ...]:
    """The order with the loop that transposes directly around the innermost one.

    Only parallel loops are exchanged, so each remains as parallel as it is.
    """
    loops = loop_names.lifted_loops(analysis, chain)
    ordered, built = [loops[at] for at in order], analysis.model
    turned = turned_against(built, ordered, ordered[-1])
    if turned is None:
        return tuple(order)
    first = ordered.index(turned)
    if not all(analysis.is_parallel(chain[at]) for at in order[first:]):
        return tuple(order)
    between = range(first + 1, len(order) - 1)
    out = [at for at in between if not continues(built, ordered[at], ordered[-1])]
    rest = [at for at in range(first, len(order)) if at not in out]
    return tuple(order[at] for at in (*range(first), *out, *rest))


def _is_loop(op: Operation) -> bool:
    return op.name == FOR


def _within(op: Operation) -> Iterator[Operation]:
    """The operations of its regions."""
    return (inner for inner in op.walk() if inner is not op)


def _is_short(op: Operation) -> bool:
    axis = axis_of(op)
    return axis is not None and axis.extent < SHORTEST


MAX_DEPTH = 6
"""Deeper chains are unchanged."""
BLOCK = 128
"""Least columns a thread takes: whole cache lines, and prefetching pays."""


@dataclass(frozen=True, slots=True)
class Block:
    """Nests counted by ``numbers``, improved or as ``asked``.

    ``shared``: buffers that several nests use.  ``left_alone`` tells which nests stay.
    ``keeps``: alternatives are added to ``found``.  ``known``: analyses of nests, each
    among the same operations.
    """

    threads: int
    left_alone: Predicate
    surroundings: Surroundings
    shared: frozenset[Value]
    asked: Asked
    numbers: Iterator[int]
    keeps: bool
    found: list[PlanSpace]
    known: dict[Operation, NestAnalysis] = field(
        default_factory=dict[Operation, NestAnalysis]
    )
    sums: SumOrder = field(default_factory=SumOrder)

    def analysed(self, op: Operation, before: Sequence[Operation]) -> NestAnalysis:
        if op not in self.known:
            self.known[op] = analyse([op], before, self.surroundings)
        return self.known[op]

    def improved(self, operations: Sequence[Operation]) -> list[Operation]:
        """The block with each nest in its best order, and neighbours fused."""
        current: list[Operation] = []
        spans: dict[Operation, Span] = {}
        for at, op in enumerate(operations):
            if op.name != FOR:
                current.append(self.inside(op, operations[:at]))
                continue
            number = next(self.numbers)
            made = self._ordered(op, operations[:at], number)
            spans |= {part: (number, number) for part in made if part.name == FOR}
            current += made
        given = self.surroundings, self.threads, self.left_alone
        fuser = LocalityFuser(
            *given, self.asked.fusions, order=self.sums, known=self.known
        )
        fused, joined = fuser.spanned(current, spans)
        if self.keeps:
            wishes = dict.fromkeys(fuser.joinable(fused, joined), TOGETHER)
            wishes |= {n: APART for a, b in joined.values() for n in range(a, b)}
            # the cost model does not rank these orders
            names = {f"fusion{n}": wish for n, wish in sorted(wishes.items())}
            self.found.extend(
                PlanSpace(({}, {n: w}), (1.0, 1.0)) for n, w in names.items()
            )
        return fused

    def _ordered(
        self, op: Operation, before: Sequence[Operation], number: int
    ) -> list[Operation]:
        """The nest in the requested order, or in the best one."""
        order = self.asked.orders.get(number)
        if order is not None:
            return [self._as_asked(op, before, order)]
        made = self._by_rows(op, before) or self._nest(op, before)
        if self.keeps:
            self.found.extend(self._orders(op, before, number, made))
        return made

    def _as_asked(
        self, op: Operation, before: Sequence[Operation], order: Order
    ) -> Operation:
        nest = sunk(op)
        chain, analysis = chain_of(nest), self.analysed(nest, before)
        shown = ", ".join(str(position + 1) for position in order)
        refusal = None
        if self.left_alone(op, analysis):
            refusal = Refusal("they become a product in register tiles")
        elif len(chain) != len(order):
            refusal = Refusal(f"{len(chain)} loops are perfectly nested")
        else:
            refusal = interchange.refusal_of(analysis, chain, order)
        loop_names.demand(refusal, op, f"order ({shown}) of the loops")
        if order == tuple(range(len(chain))):
            return op
        return self._in_order(analysis, chain, order)

    def _orders(
        self,
        op: Operation,
        before: Sequence[Operation],
        number: int,
        made: Sequence[Operation],
    ) -> Iterator[PlanSpace]:
        """The alternative orders of a nest, given its result."""
        nest = sunk(op)
        chain = chain_of(nest)
        if not 2 <= len(chain) <= MAX_DEPTH:
            return
        analysis = self.analysed(nest, before)
        if self.left_alone(op, analysis):
            return
        default = None
        if sum(part.name == FOR for part in made) == 1:
            default = best_order(analysis, chain) or tuple(range(len(chain)))
        menu = order_menu(f"order{number}", analysis, chain, default)
        if menu is not None:
            yield menu

    def _by_rows(self, op: Operation, before: Sequence[Operation]) -> list[Operation]:
        """A nest along columns distributed into parts along rows; else nothing."""
        if not any(o.name == FOR and o.results for o in op.walk()):
            return []
        analysis = self.analysed(op, before)
        if self.left_alone(op, analysis) or not runs_along_columns(op, analysis):
            return []
        found = expanded(op, self.shared)
        if found is None:
            return []
        before = (*before, *found.allocations)
        parts = distribute(found.nest, self.analysed(found.nest, before))
        better = [self._reordered(part, before) for part in parts]
        if not any(better):
            return []
        made = [new or old for new, old in zip(better, parts, strict=True)]
        return [*found.allocations, *made, *found.deallocations]

    def _nest(self, op: Operation, before: Sequence[Operation]) -> list[Operation]:
        """The nest in a better order, distributed, or unchanged."""
        analysis = self.analysed(op, before)
        if self.left_alone(op, analysis):
            return [op]
        parts = distribute(op, analysis)
        better = [self._reordered(part, before) for part in parts]
        if any(better):
            return [new or old for new, old in zip(better, parts, strict=True)]
        chain = chain_of(op)
        threads = 1 if any(map(analysis.is_parallel, chain)) else self.threads
        return [replace(self, threads=threads).inside(op, before)]

    def inside(self, op: Operation, before: Sequence[Operation]) -> Operation:
        """An operation with the nests of its regions in their best orders.

        Parallel ones are fused, where that pays.  A nest is analysed for any values of
        the loops around it, whose iterations keep their order: only dependences within
        one of them constrain it.
        """
        if not any(map(_is_loop, _within(op))):
            return op

        def stays(nest: Operation, analysis: NestAnalysis) -> bool:
            return self.left_alone(nest, analysis) or not analysis.is_parallel(nest)

        given = self.surroundings, self.threads, stays
        fuser = LocalityFuser(*given, context=before, known=self.known)

        def improved(operations: Sequence[Operation]) -> list[Operation]:
            made: list[Operation] = []
            for at, inner in enumerate(operations):
                context = (*before, *operations[:at])
                if inner.name == FOR and any(map(_is_loop, _within(inner))):
                    made += self._nest(inner, context)
                else:
                    made.append(self.inside(inner, context))
            return fuser.all_fused(made)

        return with_blocks(op, improved)

    def _reordered(
        self, op: Operation, before: Sequence[Operation]
    ) -> Operation | None:
        nest = sunk(op)
        chain = chain_of(nest)
        if not 2 <= len(chain) <= MAX_DEPTH:
            return None
        analysis = self.analysed(nest, before)
        order = best_order(analysis, chain)
        return None if order is None else self._in_order(analysis, chain, order)

    def _in_order(
        self, analysis: NestAnalysis, chain: Sequence[Operation], order: Sequence[int]
    ) -> Operation:
        first, outermost = chain[0], chain[order[0]]
        was_parallel = analysis.is_parallel(first)
        axis = axis_of(first)
        if (
            self.threads == 1
            or axis is None
            or not was_parallel
            or analysis.is_parallel(outermost)
        ):
            return interchange.interchanged(chain, order)
        size = max(BLOCK, -(-axis.extent // self.threads))
        if axis.extent < 2 * BLOCK:
            return interchange.interchanged(chain, order)
        blocks = chain_of(tiled([first], [size], first.body.operations))
        return interchange.interchanged(blocks, [0, *(at + 1 for at in order)])


@dataclass(frozen=True, slots=True)
class ImproveLocality(ModulePass):
    """Choose the innermost loop of every nest, and fuse neighbours, where it pays.

    ``contractions``: leave products that `map-cpu` recognises to it.  ``plan``:
    requested orders and fusions (`requested_schedules`), as names and numbers in turn,
    ``plan=[order0,21,fusion0,1]``.  ``relaxed``: sums may run in another order.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<64x64xf32>, %v: f32) {
    ...   affine.for %j = 0 to 64 {
    ...     affine.for %i = 0 to 64 {
    ...       affine.store %v, %A[%i, %j] : memref<64x64xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> print(ImproveLocality().apply(module))
    module {
      func.func @f(%A: memref<64x64xf32>, %v: f32) {
        affine.for %i = 0 to 64 {
          affine.for %j = 0 to 64 {
            affine.store %v, %A[%i, %j] : memref<64x64xf32>
          }
        }
        return
      }
    }
    """

    name: ClassVar[str] = "improve-locality"
    looks_for: ClassVar[frozenset[str]] = frozenset({"affine.for"})
    threads: int = 1
    contractions: bool = True
    plan: tuple[int | str, ...] = ()
    relaxed: bool = False

    def concerns(self, module: Module, found: Collection[str]) -> bool:
        """A plan that no loop can have is an error, even without loops."""
        return bool(self.plan) or ModulePass.concerns(self, module, found)

    def apply(self, module: Module) -> Module:
        """Improve every nest in the body of a function.

        Raises IllegalTransformation for an illegal request.
        """
        return self._improved(module, [])

    def knobs(self, module: Module) -> Sequence[Knob]:
        """The orders of each nest and the fusions that are legal, the default first."""
        found: list[PlanSpace] = []
        self._improved(module, found, keeps=True)
        return [replace(menu_knob(menu), option=LOOPS) for menu in found]

    def _improved(
        self, module: Module, found: list[PlanSpace], *, keeps: bool = False
    ) -> Module:
        """The improved module; alternatives are added to ``found``."""
        surroundings, asked = Surroundings.of(module), Asked.of(self.plan)
        numbers, known = count(), dict[Operation, bool]()

        def left_alone(op: Operation, analysis: NestAnalysis) -> bool:
            if op not in known:
                known[op] = self.is_left_alone(op, analysis)
            return known[op]

        def function(op: Operation) -> list[Operation]:
            shared = shared_buffers(op, surroundings)
            given = self.threads, left_alone, surroundings, shared
            sums = SumOrder(self.relaxed)
            block = Block(*given, asked, numbers, keeps, found, sums=sums)
            return [with_blocks(op, block.improved)]

        made = in_functions(module, function)
        nests = next(numbers)
        for number in asked.orders:
            if number >= nests:
                raise not_there(f"order{number}")
        for number in asked.fusions:
            if number >= nests - 1:
                raise not_there(f"fusion{number}")
        return made

    def is_left_alone(self, op: Operation, analysis: NestAnalysis) -> bool:
        """Whether register tiles are made of the nest."""
        return self.contractions and holds_contraction(op, analysis)
