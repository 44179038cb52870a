"""Object files: stored on disk, and linked into this process by LLVM.

`as_object` makes from an LLVM module and its machine code an object file, which
`linked` loads in this or another process.  `host` is the key of everything that it
depends on besides its text. Code of Numba calls compiled helper functions by name;
`extension` loads these extension modules without importing Numba, which uses them as
they are if it is imported later. `libc` comes from `ctypes`.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any

from gpucodegen.records import dataclass
from gpucodegen.runtime.storage import cache as disk

C_LIBRARY = "ucrtbase" if sys.platform == "win32" else None
"""Its name; None, which Windows does not know, is whatever the process has loaded."""


def address_of(symbol: str) -> int:
    """The address of a symbol of this process or of a helper; 0 if unknown."""
    return _in_process(symbol) or _errors().get(symbol, 0)


def _in_process(symbol: str) -> int:
    try:
        found = getattr(ctypes.CDLL(C_LIBRARY), symbol)
    except AttributeError:
        return 0
    return ctypes.cast(found, ctypes.c_void_p).value or 0


@cache
def _errors() -> dict[str, int]:
    """The functions that code calls to raise Python exceptions."""
    found: dict[str, int] = {}
    for module, prefix in (
        ("numba._helperlib", "numba_"),
        ("numba.core.runtime._nrt_python", "NRT_"),
    ):
        loaded = extension(module)
        if loaded is not None:
            found |= {prefix + name: at for name, at in loaded.c_helpers.items()}
    return {name: at for name, at in found.items() if name in ALLOWED}


ALLOWED = {
    "numba_complex_adaptor",
    "numba_do_raise",
    "numba_gil_ensure",
    "numba_gil_release",
    "numba_runtime_build_excinfo_struct",
    "numba_unpickle",
    "NRT_Free",
}
"""Numba helpers that need no set-up by Numba."""


@cache
def extension(name: str) -> ModuleType | None:
    """An extension module of Numba by its full name; None if it cannot be loaded."""
    if name in sys.modules:
        return sys.modules[name]
    package = importlib.util.find_spec("numba")
    if package is None or package.origin is None:
        return None
    stem = Path(package.origin).parent.joinpath(*name.split(".")[1:])
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = stem.with_name(stem.name + suffix)
        if path.exists():
            spec = importlib.util.spec_from_file_location(name, path)
            if spec is None or spec.loader is None:
                return None
            try:
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
            except ImportError:
                return None
            return module
    return None


OBJECTS = disk.Store("object")


@dataclass(frozen=True, slots=True)
class Linked:
    """A linked object file: its function, and where its symbols are."""

    address: int
    facts: Mapping[str, Any]
    engine: Any


def as_object(entry: str, module: Any, code: bytes, **symbols: str) -> bytes:
    """The input of `linked`: a line about the code, and the code, an object file."""
    header = {"entry": entry, "needs": sorted(_undefined(module)), **symbols}
    return json.dumps(header).encode() + b"\n" + code


def _undefined(module: Any) -> Iterable[str]:
    for symbol in (*module.functions, *module.global_variables):
        if symbol.is_declaration and not symbol.name.startswith("llvm."):
            yield symbol.name


def address_in(stored: bytes) -> int:
    """The address of an object's function, 0 if the process lacks a symbol."""
    found = linked(stored)
    return found.address if found else 0


@cache
def linked(stored: bytes) -> Linked | None:
    """Links an object; None if the process lacks a symbol."""
    import llvmlite.binding as llvm

    header, _, code = stored.partition(b"\n")
    facts = json.loads(header)
    if not all(map(_is_found, facts["needs"])):
        return None
    engine = _engine_without(facts["entry"])
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Linked(engine.get_function_address(facts["entry"]), facts, engine)


def _is_found(symbol: str) -> bool:
    """Whether a symbol is known; passes its address to LLVM."""
    import llvmlite.binding as llvm

    known = llvm.address_of_symbol(symbol)
    if known:
        return True
    address = address_of(symbol)
    if address:
        llvm.add_symbol(symbol, address)
    return bool(address)


_ENGINES: list[tuple[Any, set[str]]] = []
"""LLVM engines with linked object files, and their entries; they live as long as the
process.

Numba names a function by its text and its flags, and not by its number of threads.
"""


def _engine_without(entry: str) -> Any:
    """An engine without such an entry, which is reserved from now on."""
    import llvmlite.binding as llvm

    for engine, entries in _ENGINES:
        if entry not in entries:
            entries.add(entry)
            return engine
    made = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())
    _ENGINES.append((made, {entry}))
    return made


def machine() -> Any:
    """The LLVM target machine of the host, for any processor of its kind."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(jit=True)


@cache
def host() -> tuple[object, ...]:
    """The dependencies of machine code besides its source; found without Numba."""
    return *kind_of_host(), disk.package_stamp("numba")


@cache
def kind_of_host() -> tuple[object, ...]:
    """A key that two machines share if they can run each other's machine code.

    It includes only packages that are imported anyway.
    """
    import llvmlite
    import llvmlite.binding as llvm
    import numpy as np

    settings = [item for item in os.environ.items() if item[0].startswith("NUMBA_")]
    return (
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        sorted(settings),
        llvmlite.__version__,
        np.__version__,
        *interpreter(),
    )


def interpreter() -> tuple[object, ...]:
    """The facts that determine the layout of Python objects.

    >>> sys.implementation.cache_tag in interpreter()
    True
    """
    flags = getattr(sys, "abiflags", "")
    return sys.implementation.cache_tag, flags, EXTENSION_SUFFIXES[0], sys.platform
