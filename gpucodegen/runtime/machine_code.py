"""Compiled kernels as object files: a later process runs them without Numba.

Comes in: what Numba made of a kernel.  Goes out, now or in another process: a function
of addresses and numbers.  Importing Numba takes longer than loading a hundred kernels,
so a process that finds all of its kernels here never does.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

from gpucodegen.runtime import cache as disk
from gpucodegen.runtime import helpers, threads
from gpucodegen.runtime.spec import KernelSpec

OBJECTS = disk.Store("object")
TYPES = {
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "index": ctypes.c_int64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}
"""Numbers that are passed as C passes them."""

Entry = Callable[..., None]


def keep(spec: KernelSpec, compiled: Any) -> None:
    """Store what Numba compiled, if it can be loaded without it."""
    library = compiled.library
    if _types(spec) is None or library.has_dynamic_globals:
        return
    entry = compiled.fndesc.llvm_cfunc_wrapper_name
    code = library._get_compiled_object()  # noqa: SLF001
    OBJECTS.put(_key(spec), as_object(entry, library._final_module, code))  # noqa: SLF001


def as_object(entry: str, module: Any, code: bytes) -> bytes:
    """What `address_in` takes: a line about the code, and the code, an object file."""
    header = {"entry": entry, "needs": sorted(_undefined(module))}
    return json.dumps(header).encode() + b"\n" + code


def _undefined(module: Any) -> Iterable[str]:
    """The symbols that a module takes from elsewhere."""
    for symbol in (*module.functions, *module.global_variables):
        if symbol.is_declaration and not symbol.name.startswith("llvm."):
            yield symbol.name


def is_kept(spec: KernelSpec) -> bool:
    """Whether a later process finds the kernel, or could not have it from here."""
    return _types(spec) is None or OBJECTS.get(_key(spec)) is not None


def load(spec: KernelSpec) -> Entry | None:
    """The kernel as it was kept; None if it was not, or if Numba is here anyway."""
    if "numba" in sys.modules:
        return None
    types = _types(spec)
    stored = None if types is None else OBJECTS.get(_key(spec))
    if types is None or stored is None:
        return None
    if spec.parallel and not threads.provided():
        return None
    address = address_in(stored)
    return ctypes.CFUNCTYPE(None, *types)(address) if address else None


def address_of(function: Any) -> int:
    """Where the code of what `load` returns lies."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def address_in(stored: bytes) -> int:
    """Link an object; the address of its function, 0 if the process lacks a symbol."""
    import llvmlite.binding as llvm

    header, _, code = stored.partition(b"\n")
    facts = json.loads(header)
    if not all(map(_is_found, facts["needs"])):
        return 0
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return int(engine.get_function_address(facts["entry"]))


def _types(spec: KernelSpec) -> Sequence[Any] | None:
    """C's types of the parameters, or None if one has none."""
    kinds = [
        ctypes.c_void_p if kind == "pointer" else TYPES.get(dtype)
        for kind, dtype in spec.signature
    ]
    return None if None in kinds else kinds


def _is_found(symbol: str) -> bool:
    """Whether the process, or a helper of Numba, has a symbol; LLVM is told where."""
    import llvmlite.binding as llvm

    known = llvm.address_of_symbol(symbol)
    if known:
        return True
    address = helpers.address_of(symbol)
    if address:
        llvm.add_symbol(symbol, address)
    return bool(address)


@cache
def _engine() -> Any:
    """Where object files are linked; lives as long as the process."""
    import llvmlite.binding as llvm

    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())


def machine() -> Any:
    """The host as LLVM compiles for it, any processor of its kind."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(jit=True)


def _key(spec: KernelSpec) -> str:
    return disk.digest(
        spec.source,
        spec.name,
        spec.signature,
        spec.parallel,
        spec.fastmath,
        threads.count(spec.threads),
        host(),
        disk.package_digest(),
    )


@cache
def host() -> tuple[object, ...]:
    """What machine code depends on besides its source; told without Numba."""
    import llvmlite
    import llvmlite.binding as llvm

    settings = [item for item in os.environ.items() if item[0].startswith("NUMBA_")]
    return (
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        sorted(settings),
        llvmlite.__version__,
        version("numba"),
        sys.version_info[:2],
    )
