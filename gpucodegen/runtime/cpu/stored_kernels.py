"""Compiled kernels as object files: a later process runs them without Numba.

Comes in: what Numba made of a kernel.  Goes out, now or in another process: a function
of addresses and numbers.  Importing Numba takes longer than loading a hundred kernels,
so a process that finds all of its kernels here never does.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from gpucodegen.runtime.cpu import helpers
from gpucodegen.runtime.host.spec import KernelSpec
from gpucodegen.runtime.storage import cache, machine_code
from gpucodegen.runtime.threads import pool

FORMAT = 2
"""Changes with what `keep` writes."""
Entry = Callable[..., None]


def keep(spec: KernelSpec, compiled: Any) -> None:
    """Store what Numba compiled, if it can be loaded without it."""
    library, description = compiled.library, compiled.fndesc
    if library.has_dynamic_globals:
        return
    stored = machine_code.as_object(
        description.llvm_cfunc_wrapper_name,
        library._final_module,  # noqa: SLF001
        library._get_compiled_object(),  # noqa: SLF001
        python=description.llvm_cpython_wrapper_name,
        environment=description.env_name,
    )
    machine_code.OBJECTS.put(_key(spec), stored)


def load(spec: KernelSpec) -> tuple[Entry, int] | None:
    """The kernel as it was kept, and where its code lies; None if it was not."""
    stored = machine_code.OBJECTS.get(_key(spec))
    if stored is None or (spec.parallel and not pool.provided()):
        return None
    found = machine_code.linked(stored)
    entry = None if found is None else _function(spec.name, found)
    return None if found is None or entry is None else (entry, found.address)


def _function(name: str, found: machine_code.Linked) -> Entry | None:
    """A kernel as a function of Python, which takes addresses and numbers.

    Numba's own: its code looks for an environment before it looks at its arguments.
    """
    maker = helpers.extension("numba._dynfunc")
    if maker is None:
        return None
    environment = maker.Environment({})
    _ENVIRONMENTS.append(environment)
    symbols, address = found.facts, found.engine.get_global_value_address
    place = address(symbols["environment"])
    ctypes.c_void_p.from_address(place).value = id(environment)
    code = found.engine.get_function_address(symbols["python"])
    module = sys.modules[__name__]
    return maker.make_function(module, name, "", code, environment, ())


_ENVIRONMENTS: list[Any] = []
"""They live as long as the code."""


def _key(spec: KernelSpec) -> str:
    return cache.digest(
        FORMAT,
        spec.source,
        spec.name,
        spec.signature,
        spec.parallel,
        spec.fastmath,
        pool.count(spec.threads),
        machine_code.host(),
        cache.package_digest(),
    )
