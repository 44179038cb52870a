"""A time loop as the plan of its tiles sees it: counts, extents, margins."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.arith import element_bits
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.framework.indexing import compact
from gpucodegen.passes.gpu.stencils.cells import ACCESSES, memref_of
from gpucodegen.passes.gpu.stencils.time_nest import Sweep, TimeNest
from gpucodegen.tiling.machine.gpu.temporal_tiling import SweepWork, TimeProblem

Way = tuple[int, tuple[int, ...]]


def problem_of(nest: TimeNest) -> TimeProblem:
    """The counts of a time loop."""
    return TimeProblem(
        tuple(_extent(nest, dimension) for dimension in range(nest.rank)),
        compact(nest.steps.upper - nest.steps.lower).constant,
        nest.reach.slopes,
        tuple(_work(nest, sweep) for sweep in nest.sweeps),
        tuple(max(1, element_bits(a.type.element) // 8) for a in nest.arrays),
        tuple(array.carried for array in nest.arrays),
    )


def _extent(nest: TimeNest, dimension: int) -> int | None:
    """The most cells that a sweep computes along a dimension, if they are known."""
    spans = [
        compact(sweep.axes[dimension].upper - sweep.axes[dimension].lower).constant
        for sweep in nest.sweeps
    ]
    known = [span for span in spans if span is not None]
    return max(known) if len(known) == len(spans) else None


def _work(nest: TimeNest, sweep: Sweep) -> SweepWork:
    loads = [op for op in sweep.body if ACCESSES.get(op.name) == 0]
    local = _ways(nest, sweep, loads)
    return SweepWork(
        nest.margins(sweep),
        local,
        _ways(nest, sweep, list(sweep.stores)),
        sum(op.name not in ACCESSES for op in sweep.body),
        len(loads) - len(local),
    )


def _ways(
    nest: TimeNest, sweep: Sweep, accesses: Sequence[Operation]
) -> tuple[Way, ...]:
    numbers = {array.memref: number for number, array in enumerate(nest.arrays)}
    return tuple(
        (numbers[memref_of(op)], sweep.offsets[id(op)])
        for op in accesses
        if id(op) in sweep.offsets
    )
