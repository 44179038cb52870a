"""scf.forall: iterations in order, each writing its slices of the shared results.

What an iteration reads of a shared result is the tensor that the loop was given, as
tensors are values: what other iterations write shows only after the loop.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.tensors.slices import insert_into
from gpucodegen.interp.values.indices import given, steps
from gpucodegen.ir.operation import Operation


def _bounds(op: Operation, name: str, dynamic: tuple[int, ...]) -> tuple[int, ...]:
    values = iter(dynamic)
    return tuple(next(values) if n == DYNAMIC_MARK else n for n in op.numbers(name))


def _forall(m: Machine, op: Operation, *_: Any) -> Any:
    groups = m.groups(op)
    lower = _bounds(op, "staticLowerBound", groups["dynamicLowerBound"])
    upper = _bounds(op, "staticUpperBound", groups["dynamicUpperBound"])
    step = _bounds(op, "staticStep", groups["dynamicStep"])
    shared = groups["outputs"]
    made = tuple(value.copy() for value in shared)
    outputs = op.body.arguments[len(upper) :]
    for point in product(*map(steps, lower, upper, step)):
        end, _values = m.region(op.regions[0], (*point, *shared))
        for insert in end.body.operations if end is not None and end.regions else ():
            source, dest = m.of(insert.operands[:2])
            number = outputs.index(insert.operands[1])
            assert dest is shared[number]
            insert_into(m, insert, source, made[number])
    return given(made)


OPERATIONS: dict[str, Evaluate] = {"scf.forall": _forall}
