"""Hints for the optimiser about loops of CPU kernels."""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cpu.face import FACE
from gpucodegen.intrinsics.framework.lowering import I32, Lowering, signature

BYTES = ir.IntType(8).as_pointer()


def _one_at_a_time(low: Lowering) -> None:
    """An effect without an instruction, which no vectoriser may repeat."""
    function = ir.FunctionType(ir.VoidType(), [])
    low.builder.call(ir.InlineAsm(function, "", "", side_effect=True), [])


one_at_a_time = FACE.define(
    "one_at_a_time", 0, lambda: signature(types.void), _one_at_a_time
)
"""``one_at_a_time()``: the iterations of the loop around it stay scalar."""


@cache
def prefetch(write: bool, locality: int) -> Any:
    """``prefetch(p, i, distances)``: elements that will be used.

    They are at constant ``distances`` from the one at ``i``; locality 3 stands for
    those that are used again and again.
    """

    def lower(low: Lowering, p: Any, i: Any, distances: Any) -> None:
        build, data = low.builder, ir.Constant(I32, 1)
        hints = (ir.Constant(I32, int(write)), ir.Constant(I32, locality))
        for distance in low.pieces(distances):
            place = build.bitcast(build.gep(p, [build.add(i, distance)]), BYTES)
            low.call("llvm.prefetch.p0", ir.VoidType(), (place, *hints, data))

    return FACE.define(
        "prefetch", 3, lambda p, i, d: signature(types.void, p, i, d), lower
    )
