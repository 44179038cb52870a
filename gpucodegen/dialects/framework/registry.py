"""Registry of operations by name; a dialect's table is loaded on first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from gpucodegen.dialects.framework.definition import Op

DIALECTS = (
    "affine arith bufferization builtin cf check chlo complex func gcg gpu index linalg"
    " math memref nvgpu nvvm scf shape stablehlo tensor tosa transform ub vector"
).split()

_TABLE: dict[str, Op | None] = {}


def lookup(name: str) -> Op | None:
    """The definition of an operation, or None for an unknown one.

    >>> lookup("arith.addf").name
    'arith.addf'
    """
    try:
        return _TABLE[name]
    except KeyError:
        _TABLE[name] = found = operations(name.partition(".")[0]).get(name)
        return found


@cache
def operations(dialect: str) -> dict[str, Op]:
    """The operations of one dialect; none for an unknown one."""
    if dialect not in DIALECTS:
        return {}
    module = import_module(f"gpucodegen.dialects.{dialect}")
    if hasattr(module, "__path__"):
        module = import_module(f"gpucodegen.dialects.{dialect}.operations")
    return {op.name: op for op in module.OPERATIONS}


def names_like(name: str) -> list[str]:
    """Registered names similar to a misspelt one, for hints."""
    dialect, dot, _ = name.partition(".")
    if dialect in DIALECTS:
        return list(operations(dialect))
    everything = [op for d in DIALECTS for op in operations(d)]
    return everything if dot else [op.partition(".")[2] for op in everything]
