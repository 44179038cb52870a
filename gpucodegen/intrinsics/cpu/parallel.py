"""A loop on the threads of the pool, without Numba's analysis of parallel loops.

That analysis looks for array expressions to fuse and for reductions.  Generated code
has neither: its parallel loops are proven, and outlined
(`gpucodegen.runtime.cpu.outline`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import cgutils, compiler, types
from numba.core.extending import intrinsic
from numba.core.targetconfig import ConfigStack
from numba.core.typing import signature

from gpucodegen.intrinsics.framework.lowering import I64
from gpucodegen.intrinsics.framework.pipeline import KernelCompiler
from gpucodegen.intrinsics.pool.layout import ENTRY

WORK = ir.FunctionType(ir.VoidType(), [I64] * 3)
"""What the pool calls: first iteration, end, address of the values."""
TRAP = ir.FunctionType(ir.VoidType(), [])
POOL = ir.FunctionType(I64, [I64] * 4)
"""The pool: address of a `WORK`, address of the values, iterations, threads."""


@cache
def parallel_for(threads: int) -> Any:
    """``parallel_for(body, n, values)``: ``body(begin, end, *values)`` for parts of n.

    Not 0 if not all of them ran, and the kernel shall return.  ``body`` is a jitted
    function; at most ``threads`` parts run at a time.
    """

    @intrinsic
    def shared(context: Any, body: Any, count: Any, values: Any) -> Any:
        del context
        if not isinstance(body, types.Dispatcher):
            return None
        taken = (types.intp, types.intp, *map(types.unliteral, values.types))

        def lower(target: Any, builder: Any, sig: Any, args: Any) -> Any:
            compiled = _compiled(target, body.dispatcher.py_func, taken)
            data = cgutils.pack_struct(builder, cgutils.unpack_tuple(builder, args[2]))
            work = _work(target, builder.module, compiled, data.type)
            place = cgutils.alloca_once_value(builder, data)
            total = target.cast(builder, args[1], sig.args[1], types.intp)
            pool = cgutils.get_or_insert_function(builder.module, POOL, ENTRY)
            addresses = [builder.ptrtoint(each, I64) for each in (work, place)]
            return builder.call(pool, [*addresses, total, I64(threads)])

        return signature(types.int64, body, count, values), lower

    return shared


def _compiled(target: Any, function: Any, taken: Sequence[Any]) -> Any:
    """The function as code of the caller's own module, optimised once together."""
    flags = ConfigStack().top().copy()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    return compiler.compile_extra(
        target.typing_context,
        target,
        function,
        tuple(taken),
        types.void,
        flags,
        {},
        target.active_code_library,
        KernelCompiler,
    )


def _work(target: Any, module: Any, compiled: Any, data: Any) -> ir.Function:
    """The function that runs some iterations; generated code raises nothing."""
    work = ir.Function(module, WORK, module.get_unique_name("part"))
    work.linkage = "internal"
    builder = ir.IRBuilder(work.append_basic_block())
    begin, end, place = work.args
    stored = builder.load(builder.inttoptr(place, data.as_pointer()))
    values = cgutils.unpack_tuple(builder, stored)
    about = compiled.fndesc
    body = target.declare_function(module, about)
    status, _ = target.call_conv.call_function(
        builder, body, about.restype, about.argtypes, [begin, end, *values]
    )
    with builder.if_then(status.is_error, likely=False):
        builder.call(cgutils.get_or_insert_function(module, TRAP, "llvm.trap"), [])
    builder.ret_void()
    return work
