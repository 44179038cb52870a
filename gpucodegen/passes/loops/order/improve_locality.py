"""Better order of memory accesses: which loop runs innermost, which nests are one.

After McKinley, Carr and Tseng ("Improving data locality with loop transformations",
1996), each step proven legal and taken only where it is expected to pay:

1. The loop that touches the fewest cache lines goes innermost, the others keep their
   order, but what stands between two loops that transpose goes outside of both, unless
   it is one row with the inner one.  An imperfect nest is distributed first if a part
   of it gains, and what loops along columns carry goes to memory (`scalar_expansion`).
   If the outermost loop becomes sequential, blocks of the parallel one
   run outside, one a thread.
2. Neighbours that sweep over one array are fused as far as that keeps parallel loops
   parallel.  Innermost loops are fused only if they are parallel, for they become
   vectors; a sum next to them would keep them from it.

The order of each element's sum stays.  Nests that become register tiles are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.contraction.cpu.forms import holds_contraction
from gpucodegen.passes.contraction.recognition.reduction_to_memory import shared_buffers
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.framework.nests import axis_of
from gpucodegen.passes.loops.cells.scalar_expansion import expanded, runs_along_columns
from gpucodegen.passes.loops.framework import legality
from gpucodegen.passes.loops.framework.chains import chain_of, sunk
from gpucodegen.passes.loops.framework.naming import FOR
from gpucodegen.passes.loops.order import interchange
from gpucodegen.passes.loops.order.asked import (
    APART,
    TOGETHER,
    Asked,
    Order,
    not_there,
)
from gpucodegen.passes.loops.order.best_order import best_order, order_menu
from gpucodegen.passes.loops.order.distribution import distribute
from gpucodegen.passes.loops.order.locality_fusion import LocalityFuser, Span
from gpucodegen.passes.loops.tiling.tiled_nest import tiled
from gpucodegen.tiling.machine.menu import Menu
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.tuning.knobs import LOOPS, Knob, menu_knob

MAX_DEPTH = 6
"""Longer chains are left as they are."""
BLOCK = 128
"""Least columns a thread takes: whole cache lines, and prefetching pays."""


@dataclass(frozen=True, slots=True)
class ImproveLocality(ModulePass):
    """Choose the innermost loop of every nest, and fuse neighbours, where it pays.

    ``contractions``: leave products that `map-cpu` recognises to it.  ``plan``: orders
    and fusions that are asked for in the place of these choices (`asked`), as names and
    numbers in turn: ``plan=[order0,21,fusion0,1]``.

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
    threads: int = 1
    contractions: bool = True
    plan: tuple[int | str, ...] = ()

    def apply(self, module: Module) -> Module:
        """Improve every nest in the body of a function.

        Raises IllegalTransformation for what is asked for and is not legal.
        """
        return self._improved(module, [])

    def knobs(self, module: Module) -> Sequence[Knob]:
        """The orders of each nest and the fusions that are legal, the default first."""
        found: list[Menu] = []
        self._improved(module, found, keeps=True)
        return [replace(menu_knob(menu), option=LOOPS) for menu in found]

    def _improved(
        self, module: Module, found: list[Menu], *, keeps: bool = False
    ) -> Module:
        """The better module; what else it could be is added to ``found``."""
        surroundings, asked = Surroundings.of(module), Asked.of(self.plan)
        numbers = count()

        def function(op: Operation) -> list[Operation]:
            shared = shared_buffers(op, surroundings)
            block = _Block(self, surroundings, shared, asked, numbers, keeps, found)
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


@dataclass(frozen=True, slots=True)
class _Block:
    """The nests of a block: counted by ``numbers``, improved by a pass or as asked.

    ``keeps``: what else they could be is added to ``found``.
    """

    choice: ImproveLocality
    surroundings: Surroundings
    shared: frozenset[Value]
    asked: Asked
    numbers: Iterator[int]
    keeps: bool
    found: list[Menu]

    def improved(self, operations: Sequence[Operation]) -> list[Operation]:
        """The block with each nest in its order, and neighbours fused."""
        current: list[Operation] = []
        spans: dict[Operation, Span] = {}
        for at, op in enumerate(operations):
            if op.name != FOR:
                current.append(op)
                continue
            number = next(self.numbers)
            made = self._ordered(op, operations[:at], number)
            spans |= {part: (number, number) for part in made if part.name == FOR}
            current += made
        fused, joined = self._fuser(self.asked.fusions).spanned(current, spans)
        if self.keeps:
            self.found.extend(self._fusions(current, spans, list(joined.values())))
        return fused

    def _fuser(self, wishes: Mapping[int, int]) -> LocalityFuser:
        choice = self.choice
        return LocalityFuser(
            self.surroundings, choice.threads, choice.is_left_alone, wishes
        )

    def _fusions(
        self,
        current: Sequence[Operation],
        spans: Mapping[Operation, Span],
        joined: Sequence[Span],
    ) -> Iterator[Menu]:
        """For neighbours that are fused or could be, whether they are.

        No model tells which is better.
        """
        numbers = sorted({number for number, _ in spans.values()})
        for number in numbers[:-1]:
            name = f"fusion{number}"
            wish = APART if any(a <= number < b for a, b in joined) else TOGETHER
            try:
                self._fuser({number: wish}).spanned(current, spans)
            except errors.IllegalTransformation:
                continue
            yield Menu(({}, {name: wish}), (1.0, 1.0))

    def _ordered(
        self, op: Operation, before: Sequence[Operation], number: int
    ) -> list[Operation]:
        """The nest in the order that is asked for, or in the best one."""
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
        chain, analysis = chain_of(nest), analyse([nest], before, self.surroundings)
        shown = ", ".join(str(position + 1) for position in order)
        refusal = None
        if self.choice.is_left_alone(op, analysis):
            refusal = Refusal("they become a product in register tiles")
        elif len(chain) != len(order):
            refusal = Refusal(f"{len(chain)} loops are perfectly nested")
        else:
            refusal = interchange.refusal_of(analysis, chain, order)
        legality.demand(refusal, op, f"order ({shown}) of the loops")
        if order == tuple(range(len(chain))):
            return op
        return self._in_order(analysis, chain, order)

    def _orders(
        self,
        op: Operation,
        before: Sequence[Operation],
        number: int,
        made: Sequence[Operation],
    ) -> Iterator[Menu]:
        """What else the order of a nest could be, next to what was made of it."""
        nest = sunk(op)
        chain = chain_of(nest)
        if not 2 <= len(chain) <= MAX_DEPTH:
            return
        analysis = analyse([nest], before, self.surroundings)
        if self.choice.is_left_alone(op, analysis):
            return
        default = None
        if sum(part.name == FOR for part in made) == 1:
            default = best_order(analysis, chain) or tuple(range(len(chain)))
        menu = order_menu(f"order{number}", analysis, chain, default)
        if menu is not None:
            yield menu

    def _by_rows(self, op: Operation, before: Sequence[Operation]) -> list[Operation]:
        """A nest that ran along columns in parts that run along rows; else nothing."""
        if not any(o.name == FOR and o.results for o in op.walk()):
            return []
        analysis = analyse([op], before, self.surroundings)
        if self.choice.is_left_alone(op, analysis) or not runs_along_columns(
            op, analysis
        ):
            return []
        found = expanded(op, self.shared)
        if found is None:
            return []
        before = (*before, *found.allocations)
        parts = distribute(found.nest, analyse([found.nest], before, self.surroundings))
        better = [self._reordered(part, before) for part in parts]
        if not any(better):
            return []
        made = [new or old for new, old in zip(better, parts, strict=True)]
        return [*found.allocations, *made, *found.deallocations]

    def _nest(self, op: Operation, before: Sequence[Operation]) -> list[Operation]:
        """The nest in a better order, or in parts of which one is, or as it is."""
        analysis = analyse([op], before, self.surroundings)
        if self.choice.is_left_alone(op, analysis):
            return [op]
        parts = distribute(op, analysis)
        better = [self._reordered(part, before) for part in parts]
        if not any(better):
            return [op]
        return [new or old for new, old in zip(better, parts, strict=True)]

    def _reordered(
        self, op: Operation, before: Sequence[Operation]
    ) -> Operation | None:
        nest = sunk(op)
        chain = chain_of(nest)
        if not 2 <= len(chain) <= MAX_DEPTH:
            return None
        analysis = analyse([nest], before, self.surroundings)
        order = best_order(analysis, chain)
        return None if order is None else self._in_order(analysis, chain, order)

    def _in_order(
        self, analysis: NestAnalysis, chain: Sequence[Operation], order: Sequence[int]
    ) -> Operation:
        first, outermost = chain[0], chain[order[0]]
        was_parallel = analysis.is_parallel(first)
        axis = axis_of(first)
        if (
            self.choice.threads == 1
            or axis is None
            or not was_parallel
            or analysis.is_parallel(outermost)
        ):
            return interchange.interchanged(chain, order)
        size = max(BLOCK, -(-axis.extent // self.choice.threads))
        if axis.extent < 2 * BLOCK:
            return interchange.interchanged(chain, order)
        blocks = chain_of(tiled([first], [size], first.body.operations))
        return interchange.interchanged(blocks, [0, *(at + 1 for at in order)])
