"""The function that evaluates each operation; a dialect is loaded when first asked for.

>>> evaluator("arith.addi").__name__
'evaluate'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

Evaluate = Callable[..., Any]
"""Of the machine, the operation and the values of its operands: its results.

One value for one result, a tuple for several, None for none.
"""

_MODULES = {
    "affine": "control.affine memory.accesses memory.transfers",
    "arith": "scalars.arith scalars.casts scalars.comparisons",
    "bufferization": "memory.bufferization",
    "builtin": "control.func",
    "cf": "control.cf control.outside",
    "check": "control.outside",
    "complex": "scalars.complex",
    "func": "control.func",
    "gpu": "gpu.launch gpu.identities gpu.communication gpu.memory gpu.matrices",
    "index": "scalars.index",
    "linalg": "linalg.structured linalg.relayout linalg.winograd linalg.old",
    "math": "scalars.math",
    "memref": "memory.memref memory.accesses memory.views memory.transfers"
    " memory.atomics",
    "nvgpu": "gpu.copies gpu.fragments gpu.barriers gpu.warpgroups",
    "nvvm": "gpu.nvvm gpu.barriers",
    "scf": "control.scf control.forall control.parallel",
    "shape": "tensors.shape control.assuming",
    "tensor": "tensors.tensor tensors.slices tensors.gather linalg.relayout",
    "ub": "control.cf",
    "vector": "vectors.elements vectors.shapes vectors.memory vectors.transfers"
    " vectors.products vectors.masks vectors.old control.outside",
}


@cache
def evaluator(name: str) -> Evaluate | None:
    """What evaluates an operation; None for one that nothing does."""
    return operations(name.partition(".")[0]).get(name)


@cache
def operations(dialect: str) -> Mapping[str, Evaluate]:
    """The evaluators of a dialect by the names of its operations."""
    found: dict[str, Evaluate] = {}
    for place in _MODULES.get(dialect, "").split():
        module = import_module(f"gpucodegen.interp.{place}")
        table: Mapping[str, Evaluate] = module.OPERATIONS
        found |= {n: f for n, f in table.items() if n.startswith(f"{dialect}.")}
    return found


def names() -> tuple[str, ...]:
    """Every operation that runs, but terminators, which their parents read."""
    return tuple(name for dialect in _MODULES for name in operations(dialect))
