"""Fuses neighbouring nests that use the same rows, so that one kernel runs them.

A chain such as a softmax reads and writes each row once where one kernel keeps it.  The
fusion is that for locality; contractions stay alone, and so do reductions of so few
rows that teams of threads would leave the device idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.contraction.gpu.forms import paying_contraction
from gpucodegen.passes.cpu.cpu_outliner import needs_host
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.gpu.blocks.rows.reduce import extent
from gpucodegen.passes.gpu.blocks.transfer_spans import needs_block
from gpucodegen.passes.loops.framework.chains import chain_of
from gpucodegen.passes.loops.order.distribution import distribute
from gpucodegen.passes.loops.order.locality_fusion import LocalityFuser
from gpucodegen.tiling.machine.gpu.product_plan import planned_for


@dataclass(frozen=True, slots=True)
class FuseRows(ModulePass):
    """Fuse neighbours that share rows where all rows together fill a GPU.

    ``arch``: the architecture of that GPU; any one by default.
    """

    name: ClassVar[str] = "fuse-rows"
    arch: str = ""

    def apply(self, module: Module) -> Module:
        """Fuse in the body of every function."""
        surroundings = Surroundings.of(module)
        processors = planned_for(self.arch).processors

        def is_left_alone(op: Operation, analysis: NestAnalysis) -> bool:
            return _is_left_alone(op, analysis, processors)

        fuser = LocalityFuser(surroundings, processors, is_left_alone)

        def function(op: Operation) -> list[Operation]:
            return [with_blocks(op, lambda o: _fused(fuser, o))]

        return in_functions(module, function)


def _fused(fuser: LocalityFuser, operations: Sequence[Operation]) -> list[Operation]:
    return fuser.all_fused(operations)


def _is_left_alone(op: Operation, analysis: NestAnalysis, processors: int) -> bool:
    """Contractions, nests of whole blocks or the host, reductions of few rows."""
    if needs_block(op) or any(map(needs_host, op.walk())):
        return True
    if any(map(paying_contraction, distribute(op, analysis))):
        return True
    rows = extent(op)
    is_few = rows is not None and rows < processors
    return is_few and not all(map(analysis.is_parallel, chain_of(op)))
