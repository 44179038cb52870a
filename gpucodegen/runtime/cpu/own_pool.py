"""The thread pool of `gpucodegen.intrinsics.pool` in this process: memory and code.

Workers start with the first job.  They do not use Python, never end, and use nothing
that the shutdown of the interpreter frees. `address` compiles functions of words once
per machine, and caches them.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from gpucodegen.intrinsics.pool import layout
from gpucodegen.runtime.host import generated_code
from gpucodegen.runtime.storage import cache, machine_code


def address(
    module: str, functions: Mapping[str, str], entry: str, *assumed: object
) -> int:
    """The address of the function of a symbol, one of ``functions`` of a module.

    ``functions``: their names by their symbols.  ``assumed``: facts about this process
    that the code depends on.  0 if a symbol that the code refers to is unknown.
    """
    objects = machine_code.OBJECTS
    situation = machine_code.host(), cache.package_digest(), assumed
    key = cache.digest(module, entry, situation)
    stored = objects.get(key)
    found = machine_code.address_in(stored) if stored is not None else 0
    if not found:
        names = vars(import_module(module))
        made = compiled({symbol: names[f] for symbol, f in functions.items()}, entry)
        objects.put(key, made)
        found = machine_code.address_in(made)
    return found


def compiled(functions: Any, entry: str) -> bytes:
    """Functions of words, by their symbols, as an object with that entry."""
    import llvmlite.binding as llvm

    from gpucodegen.intrinsics.framework.native import native

    machine = machine_code.machine()
    with generated_code.SYNTAX_TREES:
        text = str(native(functions))
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return machine_code.as_object(entry, module, machine.emit_object(module))


STACK = 8 << 20
"""Bytes of a worker's stack, for the small arrays of kernels; macOS gives half a MB."""
DETACHED = {"Linux": 1, "Darwin": 2}
ALIGNMENT = 8 * layout.LINE
MODULE = "gpucodegen.intrinsics.pool.loops"
FUNCTIONS = {layout.RAISE: "raise_kept", **layout.FUNCTIONS}


def entry() -> int:
    """The address of ``parallel_for``; initialises the pool."""
    import llvmlite.binding as llvm

    libc = ctypes.CDLL(None)
    memory = _memory(libc)
    llvm.add_symbol(layout.MEMORY, ctypes.addressof(memory))
    _reset(libc, memory)
    os.register_at_fork(after_in_child=lambda: _reset(libc, memory))
    found = address(MODULE, FUNCTIONS, layout.ENTRY)
    assert found
    return found


def _memory(libc: Any) -> Any:
    """The words of the pool, which outlive the interpreter."""
    libc.calloc.restype = ctypes.c_void_p
    start = libc.calloc(ctypes.c_size_t(8 * layout.WORDS + ALIGNMENT), 1)
    assert start
    aligned = -(-start // ALIGNMENT) * ALIGNMENT
    return (ctypes.c_int64 * layout.WORDS).from_address(aligned)


def _reset(libc: Any, memory: Any) -> None:
    """A pool without workers: at first, and in the child of a fork."""
    ctypes.memset(memory, 0, ctypes.sizeof(memory))
    memory[layout.MAIN] = threading.main_thread().ident
    start = ctypes.addressof(memory)
    places = layout.MUTEX, layout.ATTRIBUTES, layout.SIGNAL, layout.FINISHED
    mutex, attributes, *conditions = (
        ctypes.c_void_p(start + 8 * word) for word in places
    )
    libc.pthread_mutex_init(mutex, None)
    for condition in conditions:
        libc.pthread_cond_init(condition, None)
    libc.pthread_attr_init(attributes)
    libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(STACK))
    detached = DETACHED.get(os.uname().sysname, 1)
    libc.pthread_attr_setdetachstate(attributes, detached)
