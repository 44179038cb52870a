"""Loop coalescing: two loops over memory without gaps count as one.

    for a in 0..M { for b in 0..N { f(X[a, b]) } }  =>  for p in 0..M N { f(X'[p]) }

``X'`` is X with both dimensions as one (``memref.collapse_shape``).  It exists iff
every access has, for the extent N of b,

    stride(a) = N stride(b),  both in one index each,  or neither of them.

The iterations of loops in order come in the same order, so that is legal.  Where the
outer loop is parallel, the result is legal iff those inside are parallel, too:

    { d in distances of the inner loops' dependences : d != 0 } = {}

It pays where the result has the accesses of an elementwise nest: what is stored is
accessed at one place only, and totals do not move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.cpu.vectorize.loops import RANGES
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.loops.framework.chains import chain_of
from gpucodegen.passes.loops.iterations.flat_nest import FlatNest, flat_nest


@dataclass(frozen=True, slots=True)
class Coalesce(ModulePass):
    """Run elementwise loops over whole rows as one loop.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<9x5xf32>, %v: f32) {
    ...   affine.for %i = 0 to 9 {
    ...     affine.for %j = 0 to 5 {
    ...       affine.store %v, %A[%i, %j] : memref<9x5xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> print(Coalesce().apply(module))
    module {
      func.func @f(%A: memref<9x5xf32>, %v: f32) {
        %A_0 = memref.collapse_shape %A [[0, 1]] : memref<9x5xf32> into memref<45xf32>
        affine.for %j = 0 to 45 {
          affine.store %v, %A_0[%j] : memref<45xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "coalesce"

    def apply(self, module: Module) -> Module:
        """Coalesce the loops of every function."""
        coalescer = _Coalescer(Surroundings.of(module))
        return in_functions(module, lambda op: [with_blocks(op, coalescer.operations)])


@dataclass(frozen=True, slots=True)
class _Coalescer:
    surroundings: Surroundings

    def operations(self, operations: Sequence[Operation]) -> list[Operation]:
        """Operations with the loops among and inside them coalesced."""
        return [new for op in operations for new in self._operation(op)]

    def _operation(self, op: Operation) -> list[Operation]:
        if not op.regions:
            return [op]
        nest = flat_nest(chain_of(op)) if op.name in RANGES else None
        if nest is None or nest.overlaps(self.surroundings.aliases.may_overlap):
            return [with_blocks(op, self.operations)]
        merged = self._merged(nest)
        return [op] if merged is nest else merged.operations()

    def _merged(self, nest: FlatNest) -> FlatNest:
        """Neighbouring loops merged, the innermost ones first."""
        current = nest
        for at in reversed(range(len(nest.axes) - 1)):
            found = current.merged(at)
            if found and found.is_elementwise and self._is_legal(current, at):
                current = found
        return current

    def _is_legal(self, nest: FlatNest, at: int) -> bool:
        outer, inner = (axis.operation for axis in nest.axes[at : at + 2])
        if outer.name == "affine.for":
            return True
        analysis = analyse([inner], (), self.surroundings)
        return all(map(analysis.is_parallel, chain_of(inner)))
