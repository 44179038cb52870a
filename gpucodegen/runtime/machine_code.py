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
from collections.abc import Callable, Iterable
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import version
from itertools import chain
from typing import Any

from gpucodegen.intrinsics.elements import element
from gpucodegen.runtime import cache as disk
from gpucodegen.runtime import helpers, threads
from gpucodegen.runtime.spec import KernelSpec

OBJECTS = disk.Store("object")
POINTER = (ctypes.c_void_p,)
TYPES: dict[str, tuple[Any, ...]] = {
    "int8": (ctypes.c_int8,),
    "int16": (ctypes.c_int16,),
    "int32": (ctypes.c_int32,),
    "int64": (ctypes.c_int64,),
    "boolean": (ctypes.c_bool,),
    "float32": (ctypes.c_float,),
    "float64": (ctypes.c_double,),
    "complex64": (ctypes.c_float, ctypes.c_float),
    "complex128": (ctypes.c_double, ctypes.c_double),
}
"""How C passes a number that Numba calls so: a complex one as its two parts."""

Entry = Callable[..., None]


def keep(spec: KernelSpec, compiled: Any) -> None:
    """Store what Numba compiled, if it can be loaded without it."""
    library = compiled.library
    if library.has_dynamic_globals:
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


def load(spec: KernelSpec) -> tuple[Entry, int] | None:
    """The kernel as it was kept, and where its code lies; None if it was not."""
    stored = OBJECTS.get(_key(spec))
    if stored is None or (spec.parallel and not threads.provided()):
        return None
    address = address_in(stored)
    return (_function(spec, address), address) if address else None


def _function(spec: KernelSpec, address: int) -> Entry:
    """A kernel as a function of addresses and numbers."""
    passed = [_passed(*parameter) for parameter in spec.signature]
    function = ctypes.CFUNCTYPE(None, *chain.from_iterable(passed))(address)
    if all(len(types) == 1 for types in passed):
        return function

    def entry(*arguments: Any) -> None:
        pairs = zip(passed, arguments, strict=True)
        parts = ((a.real, a.imag) if len(types) == 2 else (a,) for types, a in pairs)
        function(*chain.from_iterable(parts))

    return entry


def _passed(kind: str, dtype: str) -> tuple[Any, ...]:
    """C's types of a parameter."""
    return POINTER if kind == "pointer" else TYPES[element(dtype).carrier]


@cache
def address_in(stored: bytes) -> int:
    """Link an object; the address of its function, 0 if the process lacks a symbol."""
    import llvmlite.binding as llvm

    header, _, code = stored.partition(b"\n")
    facts = json.loads(header)
    if not all(map(_is_found, facts["needs"])):
        return 0
    engine = _engine_without(facts["entry"])
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return int(engine.get_function_address(facts["entry"]))


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


_ENGINES: list[tuple[Any, set[str]]] = []
"""Where object files are linked, and their entries; they live as long as the process.

Numba names a function by its text and its flags, and not by its number of threads.
"""


def _engine_without(entry: str) -> Any:
    """An engine that has no such entry yet, and has one from now on."""
    import llvmlite.binding as llvm

    for engine, entries in _ENGINES:
        if entry not in entries:
            entries.add(entry)
            return engine
    made = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())
    _ENGINES.append((made, {entry}))
    return made


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
    import numpy as np

    settings = [item for item in os.environ.items() if item[0].startswith("NUMBA_")]
    return (
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        sorted(settings),
        llvmlite.__version__,
        version("numba"),
        np.__version__,
        *interpreter(),
    )


def interpreter() -> tuple[object, ...]:
    """What the layout of Python's own objects depends on.

    >>> sys.implementation.cache_tag in interpreter()
    True
    """
    flags = getattr(sys, "abiflags", "")
    return sys.implementation.cache_tag, flags, EXTENSION_SUFFIXES[0], sys.platform
