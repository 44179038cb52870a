"""The pass: every innermost loop that is proven parallel and has a vector form.

Legal iff no iteration of the loop depends on another one of the same execution:

    { d in distances of the loop's dependences : d != 0 } = {}

The variables of the loops around are parameters.  Each element's operations stay, so
results are the same bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Region
from gpucodegen.passes.analysis import analyse
from gpucodegen.passes.base import ModulePass
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.lifting import Surroundings
from gpucodegen.passes.nests import inner_operations
from gpucodegen.passes.vectorize.loops import RANGES, Range, in_blocks, vector_loop
from gpucodegen.passes.vectorize.recognize import recognize
from gpucodegen.tiling.register_tile import VectorUnit
from gpucodegen.tiling.vector_plan import InnerLoop, plan_lanes, thread_block


@dataclass(frozen=True, slots=True)
class Vectorize(ModulePass):
    """Run innermost parallel loops on vectors of ``vector_bits``.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<20xf32>, %a: f32) {
    ...   affine.for %i = 0 to 20 {
    ...     %x = affine.load %A[%i] : memref<20xf32>
    ...     %y = arith.mulf %a, %x : f32
    ...     affine.store %y, %A[%i] : memref<20xf32>
    ...   }
    ...   return
    ... }''')
    >>> print(Vectorize(vector_bits=256).apply(module))
    module {
      func.func @f(%A: memref<20xf32>, %a: f32) {
        affine.for %i = 0 to 16 step 8 {
          %x = affine.vector_load %A[%i] : memref<20xf32>, vector<8xf32>
          %a_0 = vector.broadcast %a : f32 to vector<8xf32>
          %y = arith.mulf %a_0, %x : vector<8xf32>
          affine.vector_store %y, %A[%i] : memref<20xf32>, vector<8xf32>
        }
        %x = affine.vector_load %A[16] : memref<20xf32>, vector<4xf32>
        %a_0 = vector.broadcast %a : f32 to vector<4xf32>
        %y = arith.mulf %a_0, %x : vector<4xf32>
        affine.vector_store %y, %A[16] : memref<20xf32>, vector<4xf32>
        return
      }
    }
    """

    name: ClassVar[str] = "vectorize"
    vector_bits: int = 256
    registers: int = 16
    threads: int = 2

    def apply(self, module: Module) -> Module:
        """Vectorize in every function with a body."""
        unit = VectorUnit(self.vector_bits, self.registers)
        rewriter = _Rewriter(unit, self.threads, Surroundings.of(module))
        return module.with_operations(rewriter.operations(module.operations, ()))


@dataclass(frozen=True, slots=True)
class _Rewriter:
    unit: VectorUnit
    threads: int
    surroundings: Surroundings = field(default_factory=Surroundings)

    def operations(
        self, operations: Sequence[Operation], context: Sequence[Operation]
    ) -> list[Operation]:
        """Rewrite a list of operations; ``context`` runs before them."""
        made: list[Operation] = []
        before = [*context]
        for op in operations:
            if not op.regions:
                made.append(op)
                before.append(op)
            else:
                made += self._loop(op, before) or [self._inside(op, before)]
        return made

    def _inside(self, op: Operation, context: Sequence[Operation]) -> Operation:
        regions = tuple(
            Region(
                tuple(
                    block.with_operations(self.operations(block.operations, context))
                    for block in region.blocks
                )
            )
            for region in op.regions
        )
        return op.with_(regions=regions)

    def _loop(self, op: Operation, context: Sequence[Operation]) -> list[Operation]:
        """What replaces an innermost loop; nothing if it stays."""
        range_of = RANGES.get(op.name)
        range_ = range_of and range_of(op)
        if not range_:
            return []
        iv = op.body.arguments[0]
        body = recognize(iv, inner_operations(op))
        if body is None or (range_.trips is None and not body.takes_masks):
            return []
        loop = InnerLoop(range_.trips, frozenset(body.bits))
        lanes = plan_lanes(loop, self.unit)
        if not lanes or not self._is_parallel(op, context):
            return []
        b = Builder(op.location)
        if op.name == "affine.for":
            vector_loop(b, body, range_, lanes)
            return b.operations

        def block(inner: Builder, part: Range) -> None:
            vector_loop(inner, body, part, lanes)

        return [in_blocks(op, range_, thread_block(loop, self.threads), block)]

    def _is_parallel(self, op: Operation, context: Sequence[Operation]) -> bool:
        """Whether the program says so, or no dependence says otherwise."""
        if op.name == "affine.parallel":
            return True
        return analyse([op], context, self.surroundings).is_parallel(op)
