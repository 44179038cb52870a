"""Functions of words in this process: compiled once for a machine, then kept."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from gpucodegen.runtime.host import modules
from gpucodegen.runtime.storage import cache, machine_code


def address(
    module: str, functions: Mapping[str, str], entry: str, *assumed: object
) -> int:
    """Where the function of a symbol lies, one of these that a module has.

    ``functions``: their names by their symbols.  ``assumed``: what the code takes for
    granted of this process.  0 if linkers do not know what else the code refers to.
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
    with modules.SYNTAX_TREES:
        text = str(native(functions))
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return machine_code.as_object(entry, module, machine.emit_object(module))
