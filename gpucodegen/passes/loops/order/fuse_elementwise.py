"""Neighbouring nests that are parallel throughout become one, where they share data.

    for i { t[i] = f(a[i]) }                for i { t[i] = f(a[i])
    for i { b[i] = g(t[i]) }          =>            b[i] = g(t[i]) }

Legal where the fused nest is proven to carry no dependence that was between the two
(`fusion`), and taken where all its loops stay parallel.  A buffer that only one
iteration then uses is left to `contract-arrays`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.loops.framework.naming import FOR
from gpucodegen.passes.loops.order.locality_fusion import LocalityFuser


@dataclass(frozen=True, slots=True)
class FuseElementwise(ModulePass):
    """Fuse neighbours that sweep over one array and have parallel loops only.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<8xf32>, %B: memref<8xf32>) {
    ...   affine.for %i = 0 to 8 {
    ...     %a = affine.load %A[%i] : memref<8xf32>
    ...     affine.store %a, %B[%i] : memref<8xf32>
    ...   }
    ...   affine.for %j = 0 to 8 {
    ...     %b = affine.load %B[%j] : memref<8xf32>
    ...     %c = arith.negf %b : f32
    ...     affine.store %c, %A[%j] : memref<8xf32>
    ...   }
    ...   return
    ... }''')
    >>> str(FuseElementwise().apply(module)).count("affine.for")
    1
    """

    name: ClassVar[str] = "fuse-elementwise"

    def apply(self, module: Module) -> Module:
        """Fuse in the body of every function."""
        surroundings = Surroundings.of(module)
        fuser = LocalityFuser(surroundings, 1, _is_sequential)
        return in_functions(module, lambda op: [with_blocks(op, fuser.all_fused)])


def _is_sequential(op: Operation, analysis: NestAnalysis) -> bool:
    """Whether a loop of the nest has to run in order."""
    return not all(analysis.is_parallel(o) for o in op.walk() if o.name == FOR)
