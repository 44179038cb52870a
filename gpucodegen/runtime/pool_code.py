"""The functions of a pool as machine code: compiled once for a machine, then kept."""

from __future__ import annotations

from importlib import import_module

from gpucodegen.runtime import cache, machine_code

SIGNATURES = {
    "gpucodegen.intrinsics.pool.loops": {
        "worker": "int64(int64)",
        "parallel_for": "void(int64, int64, int64, int64)",
    },
    "gpucodegen.intrinsics.pool.by_numba": {
        "worker": "void(int64, int64, int64, int64)",
        "parallel_for": "void(int64, int64, int64, int64)",
    },
}
"""By module; the memory of the pool has to be known to linkers."""


def address(module: str, name: str) -> int:
    """Where a function lies in this process."""
    objects = machine_code.OBJECTS
    key = cache.digest(module, name, machine_code.host(), cache.package_digest())
    stored = objects.get(key)
    found = machine_code.address_in(stored) if stored is not None else 0
    if not found:
        made = _compiled(module, name)
        objects.put(key, made)
        found = machine_code.address_in(made)
    assert found, name
    return found


def _compiled(module: str, name: str) -> bytes:
    dispatcher = getattr(import_module(module), name)
    dispatcher.compile(SIGNATURES[module][name])
    (compiled,) = dispatcher.overloads.values()
    return machine_code.as_object(compiled)
