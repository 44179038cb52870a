"""Memory of the checks in loops: a flag for each iteration, and their assertion."""

from __future__ import annotations

import numpy as np

from gpucodegen.ir.operation import Value, substitute_values
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.python import reductions
from gpucodegen.python.arrays import View, allocated, fill
from gpucodegen.python.range_checks import Block, Flags, asserted, leave
from gpucodegen.python.scalars import NATURAL, Scalar, integers, known


def before_loop(b: OperationList, body: Block) -> list[tuple[Flags, View]]:
    """Emit the checks that leave a loop, and the flags that its iterations set."""
    leave(b, body)
    made: list[tuple[Flags, View]] = []
    memory: dict[Value, Value] = {}
    used = {v for op in body.operations for each in op.walk() for v in each.used}
    for flags in body.flags:
        if flags.memory not in used:
            continue
        extents = tuple(_trips(b, loop) for loop in flags.loops)
        view = allocated(b, np.dtype(bool), extents)
        fill(b, view, known(False))
        made.append((flags, view))
        memory[flags.memory] = view.memory
    if memory:
        body.operations[:] = [substitute_values(op, memory) for op in body.operations]
    return made


def _trips(b: OperationList, loop: Block) -> Scalar:
    """An extent that holds all positions of a loop."""
    assert loop.ends is not None
    start, stop, _ = loop.ends
    size = integers(b, "sub", stop, start)
    if size.value is None:
        return known(max(size.constant, 0))
    if size.is_natural:
        return size
    value = b.value("arith.maxsi", (size.value, known(0).ssa(b)), INDEX)
    return Scalar(int, value, limits=NATURAL)


def after_loop(b: OperationList, made: list[tuple[Flags, View]]) -> None:
    """Assert that no flag is set."""
    before = b.location
    for flags, view in made:
        b.location = flags.location
        axes = range(len(view.extents))
        found = reductions.reduced(b, reductions.ANY, view, axes)
        assert isinstance(found, Scalar)
        asserted(b, found.ssa(b), flags.limits)
    b.location = before
