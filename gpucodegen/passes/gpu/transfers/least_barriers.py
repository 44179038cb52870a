"""Barriers that kernels with transfers do without.

Where threads meet is decided before it is known which transfers a wait ends, and a loop
may be left without entering it.  So a barrier of the mapping may order nothing that the
waits do not: it is left out if the kernel is proven without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.dma import WAITS
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.gpu.collectives.needless import BARRIER, without_needless


@dataclass(frozen=True, slots=True)
class LeastBarriers(ModulePass):
    """Kernels with waits keep the barriers that their proof needs."""

    name: ClassVar[str] = "least-barriers"

    def apply(self, module: Module) -> Module:
        """The module without the others."""
        surroundings = Surroundings.of(module)

        def rewrite(op: Operation) -> list[Operation] | None:
            if op.name != "gpu.func":
                return None
            inner = [o.name for o in op.walk()]
            if WAITS.isdisjoint(inner) or BARRIER not in inner:
                return None
            asked = [False] * inner.count(BARRIER)
            return [without_needless(op, asked, surroundings)]

        (root,) = rewrite_bottom_up(module.operation, rewrite)
        return Module(root)
