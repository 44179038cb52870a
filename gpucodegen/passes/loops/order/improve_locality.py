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
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.contraction.cpu.forms import holds_contraction
from gpucodegen.passes.contraction.recognition.reduction_to_memory import shared_buffers
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.loops.order.asked import Asked, not_there
from gpucodegen.passes.loops.order.better_block import Block
from gpucodegen.tiling.machine.plan_space import PlanSpace
from gpucodegen.tiling.tuning.knobs import LOOPS, Knob, menu_knob


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
        found: list[PlanSpace] = []
        self._improved(module, found, keeps=True)
        return [replace(menu_knob(menu), option=LOOPS) for menu in found]

    def _improved(
        self, module: Module, found: list[PlanSpace], *, keeps: bool = False
    ) -> Module:
        """The better module; what else it could be is added to ``found``."""
        surroundings, asked = Surroundings.of(module), Asked.of(self.plan)
        numbers = count()

        def function(op: Operation) -> list[Operation]:
            shared = shared_buffers(op, surroundings)
            given = self.threads, self.is_left_alone, surroundings, shared
            block = Block(*given, asked, numbers, keeps, found)
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
