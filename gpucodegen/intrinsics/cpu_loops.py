"""What loops of CPU kernels tell the optimiser."""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cpu_engine import ENGINE
from gpucodegen.intrinsics.lowering import I32, Lowering, signature

BYTES = ir.IntType(8).as_pointer()


def _one_at_a_time(low: Lowering) -> None:
    """An effect without an instruction, which no vectoriser may repeat."""
    function = ir.FunctionType(ir.VoidType(), [])
    low.builder.call(ir.InlineAsm(function, "", "", side_effect=True), [])


one_at_a_time = ENGINE.define(
    "one_at_a_time", 0, lambda: signature(types.void), _one_at_a_time
)
"""``one_at_a_time()``: the iterations of the loop around it stay scalar."""


@cache
def prefetch(write: bool, locality: int) -> Any:
    """``prefetch(p, i)``: an element will be used, again and again for locality 3."""

    def lower(low: Lowering, p: Any, i: Any) -> None:
        place = low.builder.bitcast(low.builder.gep(p, [i]), BYTES)
        hints = (ir.Constant(I32, int(write)), ir.Constant(I32, locality))
        data = ir.Constant(I32, 1)
        low.call("llvm.prefetch.p0", ir.VoidType(), (place, *hints, data))

    return ENGINE.define("prefetch", 2, lambda p, i: signature(types.void, p, i), lower)
