"""CPU kernels: compiled by Numba, kept on disk, called with addresses and numbers."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from gpucodegen.runtime import cache, machine_code, modules, threads
from gpucodegen.runtime.collection import collected_afterwards
from gpucodegen.runtime.outline import CALL, outlined
from gpucodegen.runtime.spec import KernelSpec

OBJECTS = cache.Store("cpu")


@dataclass(frozen=True, slots=True)
class CpuKernel:
    """A compiled kernel; ``entry`` takes addresses and numbers in parameter order.

    ``address``: where C finds the same function.
    """

    spec: KernelSpec
    entry: Callable[..., None]
    address: int
    from_cache: bool


@collected_afterwards()
def compile_cpu(spec: KernelSpec) -> CpuKernel:
    """Compile a kernel, or take it from the disk cache."""
    loaded = machine_code.load(spec)
    if loaded is not None:
        return CpuKernel(spec, loaded, machine_code.address_of(loaded), from_cache=True)
    dispatcher, types = _dispatcher(spec)
    entries = _Entries(_key(spec), machine_code.is_kept(spec))
    dispatcher._cache = entries  # noqa: SLF001 - Numba's caches are chosen this way only
    dispatcher.compile(types)
    dispatcher.disable_compile()
    compiled = dispatcher.overloads[types]
    if not entries.hit:
        machine_code.keep(spec, compiled)
    symbol = compiled.fndesc.llvm_cfunc_wrapper_name
    address = compiled.library.get_pointer_to_function(symbol)
    return CpuKernel(spec, compiled.entry_point, address, entries.hit)


def assembly(spec: KernelSpec) -> str:
    """The machine code of a kernel as text; always compiles, as caches have none."""
    dispatcher, types = _dispatcher(spec)
    dispatcher.compile(types)
    return str(dispatcher.inspect_asm(types))


def _dispatcher(spec: KernelSpec) -> tuple[Any, tuple[Any, ...]]:
    import numba

    from gpucodegen.intrinsics.cpu_engine import parameter
    from gpucodegen.intrinsics.cpu_target import jit

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
    from gpucodegen.intrinsics.cpu_parallel import parallel_for
    from gpucodegen.intrinsics.cpu_target import jit

    threads.provided()  # compiled code refers to the pool by name
    with modules.SYNTAX_TREES:
        made = outlined(spec.source, spec.name)
        code = compile(made.tree, str(module.__file__), "exec")
    shared = parallel_for(threads.count(spec.threads))
    names = {"__name__": module.__name__, CALL: shared}
    exec(code, names)
    names.update((part, jit(names[part])) for part in made.parts)
    return names[spec.name]


def _key(spec: KernelSpec) -> str:
    import sys

    import llvmlite
    import numba

    from gpucodegen.intrinsics.host import cpu_features, cpu_name

    return cache.digest(
        spec.source,
        spec.name,
        spec.signature,
        spec.parallel,
        spec.fastmath,
        threads.count(spec.threads),
        cpu_name(),
        sorted(cpu_features()),
        numba.__version__,
        llvmlite.__version__,
        sys.version_info[:2],
        cache.package_digest(),
    )


class _Entries:
    """The cache of one dispatcher, as Numba asks for it.

    With ``trusted`` off, it only remembers.
    """

    def __init__(self, key: str, trusted: bool) -> None:
        self.key = key
        self.trusted = trusted
        self.hit = False
        self.cache_path = str(OBJECTS.path(key))

    def load_overload(self, _signature: Any, target_context: Any) -> Any:
        """The compiled kernel, or None; a payload that does not load is rebuilt."""
        from numba.core.compiler import CompileResult

        payload = OBJECTS.get(self.key) if self.trusted else None
        if payload is None:
            return None
        target_context.refresh()
        with contextlib.suppress(Exception):
            states = pickle.loads(payload)  # noqa: S301 - checked, in a private folder
            result = CompileResult._rebuild(target_context, *states)  # noqa: SLF001
            self.hit = True
            return result
        return None

    def save_overload(self, _signature: Any, result: Any) -> None:
        """Keep a compiled kernel."""
        from numba.core.serialize import dumps

        if not result.lifted and not result.library.has_dynamic_globals:
            OBJECTS.put(self.key, dumps(result._reduce()))  # noqa: SLF001

    def enable(self) -> None:
        """Numba's interface; this cache is always on."""

    disable = flush = enable
