"""Numba's compiled helpers, loaded without Numba: its way of errors.

Machine code that Numba made calls them by name.  They are extension modules which need
nothing of the package around them, and which Numba takes as they are if it comes later.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from gpucodegen.runtime.machine.c_library import C_LIBRARY


def address_of(symbol: str) -> int:
    """Where a symbol of this process or of a helper lies; 0 if nowhere."""
    return _in_process(symbol) or _errors().get(symbol, 0)


def _in_process(symbol: str) -> int:
    try:
        found = getattr(ctypes.CDLL(C_LIBRARY), symbol)
    except AttributeError:
        return 0
    return ctypes.cast(found, ctypes.c_void_p).value or 0


@cache
def _errors() -> dict[str, int]:
    """What code calls if Python has to hear of an error."""
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
"""Those that need no set-up by Numba."""


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
