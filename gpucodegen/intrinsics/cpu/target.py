"""Numba target for CPU kernels: scalars, pointers, tiles and ranges, no arrays.

Numba's own CPU target loads everything that a Python program may call, from strings to
`scipy.linalg`, and searches it whenever an intrinsic is typed.  Kernels call intrinsics
and the functions of `math`. ``min`` and ``max`` of integers are instructions here;
Numba's own are Python functions, compiled for each kernel. `parallel_for` is a loop on
the thread pool without Numba's analysis of parallel loops: those of generated code are
proven parallel and outlined (`gpucodegen.runtime.cpu.kernels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial, reduce
from typing import Any
from weakref import WeakKeyDictionary

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, compiler, config, imputils, types, typing
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.cpu import CPUContext
from numba.core.dispatcher import Dispatcher
from numba.core.extending import intrinsic
from numba.core.fastmathpass import rewrite_module
from numba.core.target_extension import (
    CPU,
    dispatcher_registry,
    jit_registry,
    target_override,
    target_registry,
)
from numba.core.targetconfig import ConfigStack
from numba.core.typing import signature, templates

from gpucodegen.intrinsics.cpu.front_end import DirectCompiler
from gpucodegen.intrinsics.framework.lowering import I64
from gpucodegen.intrinsics.framework.pipeline import (
    KnownCode,
    KnownTypes,
    Target,
)
from gpucodegen.intrinsics.pool.layout import ENTRY

WORK = ir.FunctionType(ir.VoidType(), [I64] * 3)
"""The type of a loop body for the pool: first iteration, end, address of the values."""
TRAP = ir.FunctionType(ir.VoidType(), [])
POOL = ir.FunctionType(I64, [I64] * 4)
"""The pool: address of a `WORK`, address of the values, iterations, threads."""


@cache
def parallel_for(threads: int) -> Any:
    """``parallel_for(body, n, values)``: ``body(begin, end, *values)`` for parts of n.

    Nonzero if not all parts ran; then the kernel must return.  ``body`` is a jitted
    function; at most ``threads`` parts run at a time.
    """

    @intrinsic
    def shared(context: Any, body: Any, count: Any, values: Any) -> Any:
        del context
        if not isinstance(body, types.Dispatcher):
            return None
        taken = (types.intp, types.intp, *map(_plain, values.types))

        def lower(target: Any, builder: Any, sig: Any, args: Any) -> Any:
            about = _compiled(target, body.dispatcher.py_func, taken)
            data = cgutils.pack_struct(builder, cgutils.unpack_tuple(builder, args[2]))
            work = _work(target, builder.module, about, data.type)
            place = cgutils.alloca_once_value(builder, data)
            total = target.cast(builder, args[1], sig.args[1], types.intp)
            pool = cgutils.get_or_insert_function(builder.module, POOL, ENTRY)
            addresses = [builder.ptrtoint(each, I64) for each in (work, place)]
            return builder.call(pool, [*addresses, total, I64(threads)])

        return signature(types.int64, body, count, values), lower

    return shared


@intrinsic
def call_outlined(context: Any, body: Any, values: Any) -> Any:
    """``call_outlined(body, values)``: ``body(*values)``, compiled once in a kernel."""
    del context
    if not isinstance(body, types.Dispatcher):
        return None
    taken = tuple(map(_plain, values.types))

    def lower(target: Any, builder: Any, _sig: Any, args: Any) -> Any:
        about = _compiled(target, body.dispatcher.py_func, taken)
        _call(target, builder, about, cgutils.unpack_tuple(builder, args[1]))
        return target.get_dummy_value()

    return signature(types.void, body, values), lower


def _plain(kind: Any) -> Any:
    """The type as functions of kernels take it, whose pointers Python never passes."""
    kind = types.unliteral(kind)
    return types.CPointer(kind.dtype) if isinstance(kind, types.CPointer) else kind


_FUNCTIONS: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
"""By library: what is known of its functions, by Python function and types."""


def _compiled(target: Any, function: Any, taken: Sequence[Any]) -> Any:
    """The function as code of the caller's own library, optimised together with it."""
    known = _FUNCTIONS.setdefault(target.active_code_library, {})
    key = function, tuple(taken)
    if key not in known:
        known[key] = _in_library(target, function, taken).fndesc
    return known[key]


def _in_library(target: Any, function: Any, taken: Sequence[Any]) -> Any:
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
        DirectCompiler,
    )


def _call(target: Any, builder: Any, about: Any, values: Sequence[Any]) -> None:
    """Call a function; generated code raises no exceptions."""
    body = target.declare_function(builder.module, about)
    status, _ = target.call_conv.call_function(
        builder, body, about.restype, about.argtypes, values
    )
    with builder.if_then(status.is_error, likely=False):
        function = cgutils.get_or_insert_function(builder.module, TRAP, "llvm.trap")
        builder.call(function, [])


def _work(target: Any, module: Any, about: Any, data: Any) -> ir.Function:
    """The function that runs some iterations, one for all calls of a module."""
    name = f"part.{about.llvm_func_name}"
    if name in module.globals:
        return module.get_global(name)
    work = ir.Function(module, WORK, name)
    work.linkage = "internal"
    builder = ir.IRBuilder(work.append_basic_block())
    begin, end, place = work.args
    stored = builder.load(builder.inttoptr(place, data.as_pointer()))
    values = cgutils.unpack_tuple(builder, stored)
    _call(target, builder, about, [begin, end, *values])
    builder.ret_void()
    return work


CODE: Any = imputils.Registry("extremes")
TYPES: Any = templates.Registry()


def provide(target: str) -> None:
    """Lets a Numba target prefer these implementations."""
    for function, relation in ((min, "<"), (max, ">")):
        _type(function, target)
        _build(function, relation)


def _type(function: Any, target: str) -> None:
    class Extreme(templates.AbstractTemplate):
        key = function
        metadata = {"target": target}  # noqa: RUF012 - Numba reads it from the class

        def generic(self, args: Any, kws: Any) -> Any:
            if kws or len(args) < 2 or any(arg != types.int64 for arg in args):
                return None
            return typing.signature(types.int64, *args)

    TYPES.register_global(function)(Extreme)


def _build(function: Any, relation: str) -> None:
    @CODE.lower(function, types.VarArg(types.int64))
    def extreme(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        def better(first: Any, second: Any) -> Any:
            chosen = builder.icmp_signed(relation, second, first)
            return builder.select(chosen, second, first)

        return reduce(better, args)


NAME = "gpucodegen"


class Kernels(CPU):
    """The target name: implementations for the CPU also apply here."""


target_registry[NAME] = Kernels
provide(NAME)


class TypingContext(KnownTypes):
    """Types of operators, of ``range`` and of the functions of `math`."""

    def load_additional_registries(self) -> None:
        from numba.core.typing import mathdecl

        self.install_registry(TYPES)
        self.install_registry(mathdecl.registry)


class KernelLibrary(JITCodeLibrary):
    """Code that one run of LLVM's module passes optimises.

    Numba runs them three times, to find pairs of reference counts in between.  Loops
    are unrolled where the front end says so (`framework.unrolling`).  Parts of a kernel
    are internal, so that LLVM drops those that it has inlined everywhere.
    """

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout  # noqa: SLF001

    def _optimize_final_module(self) -> None:
        for about in _FUNCTIONS.get(self, {}).values():
            self._final_module.get_function(about.llvm_func_name).linkage = "internal"
        options = llvm.create_pipeline_tuning_options(speed_level=int(config.OPT))
        options.loop_vectorization = bool(config.LOOP_VECTORIZE)
        options.slp_vectorization = bool(config.SLP_VECTORIZE)
        options.loop_unrolling = False
        passes = llvm.create_pass_builder(self._codegen._tm, options)  # noqa: SLF001
        passes.getModulePassManager().run(self._final_module, passes)


class _Codegen(JITCPUCodegen):
    _library_class = KernelLibrary


class Context(KnownCode, CPUContext):
    """The code generation context of the target."""

    def init(self) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        super().init()
        self._internal_codegen = _Codegen("gpucodegen.exec")

    def load_additional_registries(self) -> None:
        from numba.core import optional
        from numba.cpython import builtins, mathimpl, numbers, rangeobj, tupleobj

        del builtins, numbers, optional, rangeobj, tupleobj
        self.install_registry(CODE)
        self.install_registry(mathimpl.registry)

    def post_lowering(self, mod: Any, library: Any) -> None:
        """Applies fast-math flags.

        No library is linked, since nothing counts references.
        """
        del library
        if self.fastmath:
            rewrite_module(mod, self.fastmath)


class KernelDispatcher(Dispatcher):
    """A function of a kernel, compiled for given types."""

    targetdescr = Target(NAME, TypingContext(), Context)

    def compile(self, sig: Any) -> Any:
        """Compile, with this target as the one that overloads are looked up for."""
        with target_override(NAME):
            return super().compile(sig)


def jit(function: Any = None, **options: Any) -> Any:
    """``numba.njit`` for this target; Numba's overloads ask for it by target."""
    if function is None:
        return partial(jit, **options)
    options = {key: value for key, value in options.items() if value is not None}
    options |= {"nopython": True, "_nrt": False}
    return KernelDispatcher(
        function, targetoptions=options, pipeline_class=DirectCompiler
    )


dispatcher_registry[Kernels] = KernelDispatcher
jit_registry[Kernels] = jit
