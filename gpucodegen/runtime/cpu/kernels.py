"""CPU kernels: compiled by Numba, kept on disk, called with addresses and numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from gpucodegen.debugging.levels import tell
from gpucodegen.debugging.spans import span
from gpucodegen.runtime.cpu import stored_kernels
from gpucodegen.runtime.cpu.outline import CALL, outlined
from gpucodegen.runtime.host import modules
from gpucodegen.runtime.host.collection import collected_afterwards
from gpucodegen.runtime.host.spec import KernelSpec
from gpucodegen.runtime.threads import pool


@dataclass(frozen=True, slots=True)
class CpuKernel:
    """A compiled kernel; ``entry`` takes addresses and numbers in parameter order.

    ``address``: where C finds the same function.
    """

    spec: KernelSpec
    entry: Callable[..., None]
    address: int


@collected_afterwards()
def compile_cpu(spec: KernelSpec) -> CpuKernel:
    """Compile a kernel, or take it from the disk cache."""
    loaded = stored_kernels.load(spec)
    tell(1, f"kernel {spec.name}: {'from disk' if loaded else 'compiled by Numba'}")
    if loaded is not None:
        return CpuKernel(spec, *loaded)
    dispatcher, types = dispatcher_of(spec)
    with span(spec.name, "machine code"):
        dispatcher.compile(types)
    dispatcher.disable_compile()
    compiled = dispatcher.overloads[types]
    stored_kernels.keep(spec, compiled)
    symbol = compiled.fndesc.llvm_cfunc_wrapper_name
    address = compiled.library.get_pointer_to_function(symbol)
    return CpuKernel(spec, compiled.entry_point, address)


def assembly(spec: KernelSpec) -> str:
    """The machine code of a kernel as text; always compiles, as caches have none."""
    dispatcher, types = dispatcher_of(spec)
    dispatcher.compile(types)
    return str(dispatcher.inspect_asm(types))


def dispatcher_of(spec: KernelSpec) -> tuple[Any, tuple[Any, ...]]:
    """What Numba compiles the kernel with, and the types of its parameters."""
    import numba

    from gpucodegen.intrinsics.cpu.face import parameter
    from gpucodegen.intrinsics.cpu.target import jit

    module = modules.load(spec.source)
    function = _on_threads(module, spec) if spec.parallel else vars(module)[spec.name]
    dispatcher = jit(
        function,
        nogil=True,
        error_model="numpy",
        fastmath=set(spec.fastmath) or False,
    )
    signature = numba.types.void(*(parameter(*p) for p in spec.signature))
    return dispatcher, signature.args


def _on_threads(module: ModuleType, spec: KernelSpec) -> Any:
    """The kernel with its parallel loops as functions that the pool calls."""
    from gpucodegen.intrinsics.cpu.parallel import parallel_for
    from gpucodegen.intrinsics.cpu.target import jit

    pool.provided()  # compiled code refers to the pool by name
    with modules.SYNTAX_TREES:
        made = outlined(spec.source, spec.name)
        code = compile(made.tree, str(module.__file__), "exec")
    shared = parallel_for(pool.count(spec.threads))
    names = {"__name__": module.__name__, CALL: shared}
    exec(code, names)
    names.update((part, jit(names[part])) for part in made.parts)
    return names[spec.name]
