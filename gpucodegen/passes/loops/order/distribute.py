"""The pass `distribute`: a loop becomes one loop per part of its body.

Parts that depend on each other in a cycle, that share a scalar or that compute a
carried value together stay in one loop; the others run one after the other
(`gpucodegen.passes.loops.order.distribution`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.loops.framework import legality
from gpucodegen.passes.loops.framework.naming import Site, find_loops, functions, sites
from gpucodegen.passes.loops.framework.replacement import Replacement
from gpucodegen.passes.loops.framework.rewriting import rewrite_loops
from gpucodegen.passes.loops.order.distribution import distributed, finest
from gpucodegen.tiling.proof.legality import Refusal


@dataclass(frozen=True, slots=True)
class Distribute(ModulePass):
    """Distribute a loop over its body; default: all loops, inner ones first.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%A: memref<9xf32>, %B: memref<9xf32>, %v: f32) {
    ...   affine.for %i = 0 to 8 {
    ...     %x = affine.load %A[%i] : memref<9xf32>
    ...     affine.store %x, %B[%i] : memref<9xf32>
    ...     affine.store %v, %A[%i + 1] : memref<9xf32>
    ...   }
    ...   return
    ... }''')
    >>> print(Distribute().apply(module))
    module {
      func.func @f(%A: memref<9xf32>, %B: memref<9xf32>, %v: f32) {
        affine.for %i = 0 to 8 {
          affine.store %v, %A[%i + 1] : memref<9xf32>
        }
        affine.for %i = 0 to 8 {
          %x = affine.load %A[%i] : memref<9xf32>
          affine.store %x, %B[%i] : memref<9xf32>
        }
        return
      }
    }
    """

    name: ClassVar[str] = "distribute"
    function: str = ""
    loop: str = ""

    def apply(self, module: Module) -> Module:
        """Distribute; a named loop with asynchronous copies is refused."""
        if self.loop:
            chosen = find_loops(module, self.function, self.loop)
            for site in chosen:
                refusal = _refusal_of(site.loop)
                what = f"distribution of the loop at {site.shown}"
                legality.demand(refusal, site.loop, what)
            return _distributed(module, chosen)
        names = [
            (function.attributes["sym_name"], site.path)
            for function in functions(module, self.function)
            for site in sites(function)
        ]
        for name, path in reversed(names):
            again = [
                site
                for function in functions(module, self.function)
                if function.attributes["sym_name"] == name
                for site in sites(function)
                if site.path == path and _refusal_of(site.loop) is None
            ]
            module = _distributed(module, again)
        return module


def _refusal_of(op: Operation) -> Refusal | None:
    return legality.without_copies([op])


def _distributed(module: Module, chosen: Sequence[Site]) -> Module:
    surroundings = Surroundings.of(module)

    def transform(site: Site, op: Operation) -> Replacement | None:
        parts = finest(op)
        if len(parts) < 2:
            return None
        analysis = legality.analysed(site, op, surroundings, fine=True)
        return distributed([op], parts, analysis)

    return rewrite_loops(module, chosen, transform)
