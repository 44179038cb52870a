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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

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
from gpucodegen.passes.loops.order.distribution import distribute
from gpucodegen.passes.loops.order.locality_fusion import LocalityFuser
from gpucodegen.passes.loops.tiling.tiled_nest import tiled
from gpucodegen.tiling.machine.locality import continues, innermost_cost, turned_against

MAX_DEPTH = 6
"""Longer chains are left as they are."""
SHORTEST = 8
"""Loops of fewer iterations do not fill a vector; they do not go innermost."""
SERIAL = 1.5
"""Cache lines per iteration that a loop may cost more if it becomes vectors."""
BLOCK = 128
"""Least columns a thread takes: whole cache lines, and prefetching pays."""


@dataclass(frozen=True, slots=True)
class ImproveLocality(ModulePass):
    """Choose the innermost loop of every nest, and fuse neighbours, where it pays.

    ``contractions``: leave products that `map-cpu` recognises to it.

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

    def apply(self, module: Module) -> Module:
        """Improve every nest in the body of a function."""
        surroundings = Surroundings.of(module)

        def function(op: Operation) -> list[Operation]:
            shared = shared_buffers(op, surroundings)
            return [with_blocks(op, lambda o: self._block(o, surroundings, shared))]

        return in_functions(module, function)

    def _block(
        self,
        operations: Sequence[Operation],
        surroundings: Surroundings,
        shared: frozenset[Value],
    ) -> list[Operation]:
        current: list[Operation] = []
        for at, op in enumerate(operations):
            if op.name == FOR:
                before = operations[:at]
                rows = self._by_rows(op, before, surroundings, shared)
                current += rows or self._nest(op, before, surroundings)
            else:
                current.append(op)
        fuser = LocalityFuser(surroundings, self.threads, self._is_left_alone)
        return fuser.all_fused(current)

    def _is_left_alone(self, op: Operation, analysis: NestAnalysis) -> bool:
        """Whether register tiles are made of the nest."""
        return self.contractions and holds_contraction(op, analysis)

    def _by_rows(
        self,
        op: Operation,
        before: Sequence[Operation],
        surroundings: Surroundings,
        shared: frozenset[Value],
    ) -> list[Operation]:
        """A nest that ran along columns in parts that run along rows; else nothing."""
        if not any(o.name == FOR and o.results for o in op.walk()):
            return []
        analysis = analyse([op], before, surroundings)
        if self._is_left_alone(op, analysis) or not runs_along_columns(op, analysis):
            return []
        found = expanded(op, shared)
        if found is None:
            return []
        before = (*before, *found.allocations)
        parts = distribute(found.nest, analyse([found.nest], before, surroundings))
        better = [self._reordered(part, before, surroundings) for part in parts]
        if not any(better):
            return []
        made = [new or old for new, old in zip(better, parts, strict=True)]
        return [*found.allocations, *made, *found.deallocations]

    def _nest(
        self, op: Operation, before: Sequence[Operation], surroundings: Surroundings
    ) -> list[Operation]:
        """The nest in a better order, or in parts of which one is, or as it is."""
        analysis = analyse([op], before, surroundings)
        if self._is_left_alone(op, analysis):
            return [op]
        parts = distribute(op, analysis)
        better = [self._reordered(part, before, surroundings) for part in parts]
        if not any(better):
            return [op]
        return [new or old for new, old in zip(better, parts, strict=True)]

    def _reordered(
        self, op: Operation, before: Sequence[Operation], surroundings: Surroundings
    ) -> Operation | None:
        nest = sunk(op)
        chain = chain_of(nest)
        if not 2 <= len(chain) <= MAX_DEPTH:
            return None
        analysis = analyse([nest], before, surroundings)
        for order in _better_orders(analysis, chain):
            if interchange.refusal_of(analysis, chain, order) is None:
                return self._in_order(analysis, chain, order)
        return None

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


def _better_orders(
    analysis: NestAnalysis, chain: Sequence[Operation]
) -> list[tuple[int, ...]]:
    """Orders with a cheaper loop innermost, the cheapest first.

    A loop that is not parallel must gain more to take the place of one that is.
    """
    last = len(chain) - 1
    loops = legality.lifted_loops(analysis, chain)
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
    """The order with a loop that transposes with the innermost one directly around it.

    Only parallel loops change places: each remains as parallel as it is.
    """
    loops = legality.lifted_loops(analysis, chain)
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


def _is_short(op: Operation) -> bool:
    axis = axis_of(op)
    return axis is not None and axis.extent < SHORTEST
