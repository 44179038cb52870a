"""Peeling: the first or last iterations of a loop become a loop of their own.

Always legal: the iterations run in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.loops.framework.naming import Site
from gpucodegen.passes.loops.framework.ranges import LoopRange
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
class Peel(ModulePass):
    """Split ``front`` first and ``back`` last iterations off; default: outer loops.

    >>> import gpucodegen as gcg
    >>> print(Peel(front=0, back=1).apply(gcg.parse('''
    ... func.func @f(%A: memref<?xf32>, %n: index, %v: f32) {
    ...   affine.for %i = 0 to %n {
    ...     affine.store %v, %A[%i] : memref<?xf32>
    ...   }
    ...   return
    ... }''')))
    module {
      func.func @f(%A: memref<?xf32>, %n: index, %v: f32) {
        affine.for %i = 0 to affine_map<(d0) -> (d0 - 1)>(%n) {
          affine.store %v, %A[%i] : memref<?xf32>
        }
        affine.for %i = max affine_map<(d0) -> (0, d0 - 1)>(%n) to %n {
          affine.store %v, %A[%i] : memref<?xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "peel"
    function: str = ""
    loop: str = ""
    front: int = 1
    back: int = 0

    def apply(self, module: Module) -> Module:
        """Peel the chosen loops."""
        for option in ("front", "back"):
            if getattr(self, option) < 0:
                raise errors.InvalidPassOption(
                    name=self.name,
                    problem=f"option '{option}' is negative",
                    hint="Give the number of iterations to peel",
                )
        chosen = chosen_loops(module, self.function, self.loop, is_outermost)
        return rewrite_loops(module, chosen, self._transform)

    def _transform(self, site: Site, op: Operation) -> Replacement:
        del site
        return with_single_bounds(op, self._peeled)

    def _peeled(self, op: Operation, given: LoopRange) -> Replacement:
        """[lower, first), [first, last), [last, upper), cut to the range."""
        parts: list[tuple[str, LoopRange]] = []
        rest = given
        if self.front:
            first = given.after(self.front)
            parts.append(("front", rest.below(first)))
            rest = replace(rest, lowers=(first,))
        if self.back:
            last = given.after(given.trips - self.back)
            parts.append(("", replace(rest, uppers=(last,))))
            parts.append(("back", rest.starting(last)))
        else:
            parts.append(("", rest))
        return in_pieces(op, parts)
