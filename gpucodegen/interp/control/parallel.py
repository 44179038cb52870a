"""scf.parallel: its iterations in order, its reductions from left to right."""

from __future__ import annotations

from itertools import product
from typing import Any

from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.indices import given, steps
from gpucodegen.ir.operation import Operation


def _parallel(m: Machine, op: Operation, *operands: Any) -> Any:
    count = len(op.body.arguments)
    lower, upper, step = (operands[i * count : (i + 1) * count] for i in range(3))
    carried = operands[3 * count :]
    for point in product(*map(steps, lower, upper, step)):
        end, values = m.region(op.regions[0], point)
        if end is not None and end.regions:
            carried = tuple(
                m.results(region, pair)[0]
                for region, pair in zip(
                    end.regions, zip(carried, values, strict=True), strict=True
                )
            )
    return given(carried)


OPERATIONS: dict[str, Evaluate] = {"scf.parallel": _parallel}
