"""Loop normalisation: lower bound 0 and step 1.

    i = lower + step * x,    0 <= x < ceil((upper - lower) / step)

Always legal: the iterations run in the same order.  The old variable is an
``affine.apply`` in the body, which `canonicalize` puts into the maps that use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, single_block
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.indexing import Index, as_map
from gpucodegen.passes.loops.framework.naming import Site
from gpucodegen.passes.loops.framework.ranges import LoopRange, range_of, with_range
from gpucodegen.passes.loops.framework.replacement import (
    Replacement,
    in_sequence,
    with_single_bounds,
)
from gpucodegen.passes.loops.framework.rewriting import chosen_loops, rewrite_loops


@dataclass(frozen=True, slots=True)
class NormalizeLoops(ModulePass):
    """Loops count from 0 in steps of 1; default: all of them.

    A loop that starts at the largest of several bounds becomes one for each of them.

    >>> import gpucodegen as gcg
    >>> from gpucodegen.passes.prepare.affine.canonicalize import Canonicalize
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<9xf32>, %v: f32) {
    ...   affine.for %i = 1 to 9 step 3 {
    ...     affine.store %v, %A[%i] : memref<9xf32>
    ...   }
    ...   return
    ... }''')
    >>> print(Canonicalize().apply(NormalizeLoops().apply(module)))
    module {
      func.func @f(%A: memref<9xf32>, %v: f32) {
        affine.for %i = 0 to 3 {
          affine.store %v, %A[%i * 3 + 1] : memref<9xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "normalize-loops"
    function: str = ""
    loop: str = ""

    def apply(self, module: Module) -> Module:
        """Normalise the chosen loops."""
        chosen = chosen_loops(module, self.function, self.loop, lambda _: True)
        return rewrite_loops(module, chosen, _transform)


def _transform(site: Site, op: Operation) -> Replacement | None:
    del site
    given = range_of(op)
    if given.step == 1 and [bound.constant for bound in given.lowers] == [0]:
        return None
    return with_single_bounds(op, _normalized, sides=("lowers",))


def _normalized(op: Operation, given: LoopRange) -> Replacement:
    counted = LoopRange(
        (Index.of(0),),
        tuple((upper - given.lower).ceildiv(given.step) for upper in given.uppers),
    )
    old, *carried = op.body.arguments
    trip = old.renewed()
    map_, operands = as_map([given.after(Index.of(trip))])
    value = affine.apply(map_, operands, location=op.location).with_(results=(old,))
    body = single_block((value, *op.body.operations), (trip, *carried))
    return in_sequence(op, [with_range(op.with_(regions=(body,)), counted)])
