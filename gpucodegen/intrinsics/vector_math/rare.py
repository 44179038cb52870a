"""Arguments that a formula leaves out.

On the CPU they are the C library's, lane by lane; what has none has a second formula.
The branch is taken where some lane needs it; the other lanes keep their result, so no
lane depends on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from gpucodegen.intrinsics.framework.lowering import I1, I64, suffix
from gpucodegen.intrinsics.vector_math.lanes import F32, Lanes


def otherwise(
    result: Lanes, is_rare: Any, name: str, formula: Callable[..., Lanes], *args: Lanes
) -> Lanes:
    """``result``, and where the bit is set the library's function or the formula."""
    low, builder = result.low, result.low.builder
    is_vector = isinstance(is_rare.type, ir.VectorType)
    some = is_rare
    if is_vector:
        some = low.call(f"llvm.vector.reduce.or.{suffix(is_rare.type)}", I1, [is_rare])
    before = builder.block
    with builder.if_then(some, likely=False):
        if is_vector:
            value = _one_by_one(result, name, args)
            value = builder.select(is_rare, value, result.value)
        else:
            value = formula(*args).value
        inside = builder.block
    merged = builder.phi(result.value.type)
    merged.add_incoming(result.value, before)
    merged.add_incoming(value, inside)
    return result.of(merged)


def _one_by_one(result: Lanes, name: str, args: Sequence[Lanes]) -> Any:
    """The library's function of every lane, in a loop: its code stands there once."""
    low, builder = result.low, result.low.builder
    dtype = types.float32 if result.scalar == F32 else types.float64
    target = cgutils.alloca_once_value(builder, result.value)
    count = ir.Constant(I64, result.value.type.count)
    with cgutils.for_range(builder, count) as loop:
        lanes = [builder.extract_element(arg.value, loop.index) for arg in args]
        value = low.face.function(low, name, dtype, lanes)
        changed = builder.insert_element(builder.load(target), value, loop.index)
        builder.store(changed, target)
    return builder.load(target)
