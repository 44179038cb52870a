"""Index-set splitting: a loop becomes one up to a point and one from there.

    { i in D } = { i in D : i < at } and then { i in D : i >= at }

Always legal: the iterations run in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.loops.framework.naming import Site, value_named
from gpucodegen.passes.loops.framework.ranges import LoopRange, range_of
from gpucodegen.passes.loops.framework.replacement import (
    Replacement,
    in_pieces,
    with_single_bounds,
)
from gpucodegen.passes.loops.framework.rewriting import (
    chosen_loops,
    is_outermost,
    rewrite_loops,
)


@dataclass(frozen=True, slots=True)
class SplitIndexSet(ModulePass):
    """Split loops where their variable reaches ``at``; default: the outermost ones.

    ``at`` is a number or the name of an index argument of the function.

    >>> import gpucodegen as gcg
    >>> print(SplitIndexSet(at="m").apply(gcg.parse('''
    ... func.func @f(%A: memref<9xf32>, %m: index, %v: f32) {
    ...   affine.for %i = 0 to 9 {
    ...     affine.store %v, %A[%i] : memref<9xf32>
    ...   }
    ...   return
    ... }''')))
    module {
      func.func @f(%A: memref<9xf32>, %m: index, %v: f32) {
        affine.for %i = 0 to min affine_map<(d0) -> (9, d0)>(%m) {
          affine.store %v, %A[%i] : memref<9xf32>
        }
        affine.for %i = max affine_map<(d0) -> (0, d0)>(%m) to 9 {
          affine.store %v, %A[%i] : memref<9xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "split-index-set"
    at: str
    function: str = ""
    loop: str = ""

    def apply(self, module: Module) -> Module:
        """Split the chosen loops."""
        chosen = chosen_loops(module, self.function, self.loop, is_outermost)
        return rewrite_loops(module, chosen, self._transform)

    def _transform(self, site: Site, op: Operation) -> Replacement:
        at = value_named(site.function, self.at, self.name)

        def split(op: Operation, given: LoopRange) -> Replacement:
            rest = given.starting(_reached(given, at))
            return in_pieces(op, [("", given.below(at)), ("rest", rest)])

        given = range_of(op)
        if given.step == 1:
            return split(op, given)
        return with_single_bounds(op, split, sides=("lowers",))


def _reached(given: LoopRange, at: Index) -> Index:
    """The first value from ``at`` that the loop takes, if it goes on for ever."""
    if given.step == 1:
        return at
    return given.after((at - given.lower).ceildiv(given.step))
