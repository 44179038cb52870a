"""What loops of CPU kernels tell the optimiser."""

from __future__ import annotations

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cpu_engine import ENGINE
from gpucodegen.intrinsics.lowering import Lowering, signature


def _one_at_a_time(low: Lowering) -> None:
    """An effect without an instruction, which no vectoriser may repeat."""
    function = ir.FunctionType(ir.VoidType(), [])
    low.builder.call(ir.InlineAsm(function, "", "", side_effect=True), [])


one_at_a_time = ENGINE.define(
    "one_at_a_time", 0, lambda: signature(types.void), _one_at_a_time
)
"""``one_at_a_time()``: the iterations of the loop around it stay scalar."""
