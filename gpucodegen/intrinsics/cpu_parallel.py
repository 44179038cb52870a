"""A loop on the threads of Numba's pool, without Numba's analysis of parallel loops.

That analysis looks for array expressions to fuse and for reductions.  Generated code
has neither: its parallel loops are proven, and outlined (`gpucodegen.runtime.outline`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, compiler, types
from numba.core.extending import intrinsic
from numba.core.targetconfig import ConfigStack
from numba.core.typing import signature

from gpucodegen.intrinsics.lowering import I8, I64

BYTES = I8.as_pointer()
WORK = ir.FunctionType(
    ir.VoidType(), [BYTES.as_pointer(), I64.as_pointer(), I64.as_pointer(), BYTES]
)
"""What a pool calls: addresses, sizes, steps, data.

The first address is the number of the first share, the first size how many there are.
"""
POOL = ir.FunctionType(ir.VoidType(), [BYTES] * 5 + [I64] * 3)


@intrinsic
def parallel_for(context: Any, body: Any, count: Any, values: Any) -> Any:
    """``parallel_for(body, n, values)``: ``body(begin, end, *values)`` for parts of n.

    ``body`` is a jitted function; each thread gets at most one part of equal size.
    """
    del context
    if not isinstance(body, types.Dispatcher):
        return None
    taken = (types.intp, types.intp, *map(types.unliteral, values.types))

    def lower(target: Any, builder: Any, sig: Any, args: Any) -> Any:
        compiled = _compiled(target, body.dispatcher.py_func, taken)
        total = target.cast(builder, args[1], sig.args[1], types.intp)
        given = cgutils.unpack_tuple(builder, args[2])
        _divided(target, builder, compiled, total, given)
        return target.get_dummy_value()

    return signature(types.void, body, count, values), lower


def _compiled(target: Any, function: Any, taken: Sequence[Any]) -> Any:
    """The function as code of the caller's own module, optimised once together."""
    flags = ConfigStack().top().copy()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    return compiler.compile_internal(
        target.typing_context,
        target,
        target.active_code_library,
        function,
        tuple(taken),
        types.void,
        flags,
        {},
    )


def _divided(
    target: Any, builder: Any, compiled: Any, total: Any, values: Sequence[Any]
) -> None:
    """Hand out ``min(total, threads)`` parts; a single one stays with the caller."""
    module = builder.module
    chosen = cgutils.get_or_insert_function(
        module, ir.FunctionType(I64, []), "get_num_threads"
    )
    threads = builder.call(chosen, [])
    is_few = builder.icmp_signed("<", total, threads)
    parts = builder.select(is_few, total, threads)
    data = cgutils.pack_struct(builder, [total, parts, *values])
    work = _work(target, module, compiled, data.type)
    place = builder.bitcast(cgutils.alloca_once_value(builder, data), BYTES)
    first = cgutils.alloca_once_value(builder, ir.Constant(BYTES, None))
    size = cgutils.alloca_once_value(builder, parts)
    step = cgutils.alloca_once_value(builder, I64(1))
    ways = [first, size, step]
    with builder.if_then(builder.icmp_signed("==", parts, I64(1))):
        builder.call(work, [*ways, place])
    with builder.if_then(builder.icmp_signed(">", parts, I64(1))):
        pool = cgutils.get_or_insert_function(module, POOL, "numba_parallel_for")
        shown = [builder.bitcast(each, BYTES) for each in (work, *ways)]
        builder.call(pool, [*shown, place, I64(0), I64(1), threads])


def _work(target: Any, module: Any, compiled: Any, data: Any) -> ir.Function:
    """The function that runs some parts.

    Part p of m begins at ``p * (n // m) + min(p, n % m)``.
    """
    work = ir.Function(module, WORK, module.get_unique_name("parts"))
    work.linkage = "internal"
    builder = ir.IRBuilder(work.append_basic_block())
    numbers, sizes, _, place = work.args
    stored = builder.bitcast(place, data.as_pointer())
    total, parts, *values = cgutils.unpack_tuple(builder, builder.load(stored))
    first = builder.ptrtoint(builder.load(numbers), I64)
    each, rest = builder.sdiv(total, parts), builder.srem(total, parts)

    def start(part: Any) -> Any:
        is_early = builder.icmp_signed("<", part, rest)
        extra = builder.select(is_early, part, rest)
        return builder.add(builder.mul(part, each), extra)

    bounds = [start(first), start(builder.add(first, builder.load(sizes)))]
    about = compiled.fndesc
    body = target.declare_function(module, about)
    target.call_conv.call_function(
        builder, body, about.restype, about.argtypes, [*bounds, *values]
    )
    builder.ret_void()
    return work
