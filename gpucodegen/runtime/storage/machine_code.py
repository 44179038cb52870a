"""Object files on disk, and how this process links them.

Comes in: a module of LLVM and its machine code.  Goes out, now or in another process:
the address of its function.  What it depends on besides its text is `host`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

from gpucodegen.runtime.cpu import helpers
from gpucodegen.runtime.storage import cache as disk

OBJECTS = disk.Store("object")


@dataclass(frozen=True, slots=True)
class Linked:
    """An object file in this process: its function, and where its symbols are."""

    address: int
    facts: Mapping[str, Any]
    engine: Any


def as_object(entry: str, module: Any, code: bytes, **symbols: str) -> bytes:
    """What `linked` takes: a line about the code, and the code, an object file."""
    header = {"entry": entry, "needs": sorted(_undefined(module)), **symbols}
    return json.dumps(header).encode() + b"\n" + code


def _undefined(module: Any) -> Iterable[str]:
    """The symbols that a module takes from elsewhere."""
    for symbol in (*module.functions, *module.global_variables):
        if symbol.is_declaration and not symbol.name.startswith("llvm."):
            yield symbol.name


def address_in(stored: bytes) -> int:
    """The address of an object's function, 0 if the process lacks a symbol."""
    found = linked(stored)
    return found.address if found else 0


@cache
def linked(stored: bytes) -> Linked | None:
    """Link an object; None if the process lacks a symbol."""
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
    """Whether the process or Numba's helpers have a symbol; its place goes to LLVM."""
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


@cache
def host() -> tuple[object, ...]:
    """What machine code depends on besides its source; found without Numba."""
    return *kind_of_host(), disk.package_stamp("numba")


@cache
def kind_of_host() -> tuple[object, ...]:
    """What two machines have in common where one's machine code is the other's.

    Of packages it has those that are imported anyway.
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
    """What the layout of Python's own objects depends on.

    >>> sys.implementation.cache_tag in interpreter()
    True
    """
    flags = getattr(sys, "abiflags", "")
    return sys.implementation.cache_tag, flags, EXTENSION_SUFFIXES[0], sys.platform
