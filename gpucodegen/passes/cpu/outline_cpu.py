"""Kernels of the CPU and the function around them, of every function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting.buffers.aliases import groups_in
from gpucodegen.passes.cpu.cpu_outliner import CpuOutliner
from gpucodegen.passes.cpu.outline_blocks import outline_blocks
from gpucodegen.passes.cpu.vector_runs import made_into_vectors
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import (
    definitions,
    in_functions,
    users,
    with_blocks,
)
from gpucodegen.passes.prepare.affine.dead_code import without_dead_code


@dataclass(frozen=True, slots=True)
class OutlineCpu(ModulePass):
    """Runs of nests become kernel functions called by the host function."""

    name: ClassVar[str] = "outline-cpu"

    def apply(self, module: Module) -> Module:
        """Outline every function."""

        def outline(op: Operation) -> list[Operation]:
            name, groups = symbol_name(op), groups_in(op)
            is_straight = len(op.regions[0].blocks) == 1
            outliner = CpuOutliner(
                name,
                is_straight,
                definitions(op),
                users(op),
                made_into_vectors(op),
                groups,
            )
            host = without_dead_code(with_blocks(op, outliner.operations))
            if not outliner.kernels and not is_straight:
                return outline_blocks(op, f"{symbol_name(op)}_k0") or [op]
            return [*outliner.kernels, host]

        return in_functions(module, outline)
