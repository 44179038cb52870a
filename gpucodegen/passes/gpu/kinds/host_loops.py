"""Sequential loops around parallel ones: they stay on the host, around kernels."""

from __future__ import annotations

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.gpu.facts.mapped_loops import LOOPS
from gpucodegen.passes.gpu.kinds.nest import Nest


def host_loop(nest: Nest) -> list[Operation] | None:
    """The loop itself, with kernels in its body."""
    op, analysis = nest.op, nest.analysis
    if op.name != "affine.for" or op.results:
        return None
    if not any(
        analysis.is_parallel(inner) or inner.name == "affine.parallel"
        for inner in op.walk()
        if inner is not op and inner.name in LOOPS
    ):
        return None
    inner = nest.mapper.operations(op.body.operations, nest.context)
    return [op.with_body(inner)]
