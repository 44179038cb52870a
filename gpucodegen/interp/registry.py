"""Registry of evaluators; a dialect is loaded on first use.

>>> evaluator("arith.addi").__name__
'evaluate'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

Evaluate = Callable[..., Any]
"""Evaluator: machine, operation and operand values to results.

A single value for one result, a tuple for several, None for none.
"""

_TABLES = {
    "affine": (
        "control.AFFINE_OPERATIONS",
        "memref.ACCESS_OPERATIONS",
        "memref.TRANSFER_OPERATIONS",
    ),
    "arith": (
        "arith.ARITH_OPERATIONS",
        "casts.OPERATIONS",
        "arith.COMPARISON_OPERATIONS",
    ),
    "bufferization": ("views.BUFFERIZATION_OPERATIONS",),
    "builtin": ("functions.FUNC_OPERATIONS",),
    "cf": (
        "control.CF_OPERATIONS",
        "functions.EXTERNAL_OPERATIONS",
    ),
    "check": ("functions.EXTERNAL_OPERATIONS",),
    "complex": ("complex.OPERATIONS",),
    "func": ("functions.FUNC_OPERATIONS",),
    "gcg": ("functions.EXTERNAL_OPERATIONS",),
    "gpu": (
        "gpu.LAUNCH_OPERATIONS",
        "gpu.IDENTITY_OPERATIONS",
        "gpu_communication.COMMUNICATION_OPERATIONS",
        "gpu.MEMORY_OPERATIONS",
        "gpu_matrices.SUBGROUP_OPERATIONS",
    ),
    "index": ("arith.INDEX_OPERATIONS",),
    "linalg": (
        "linalg.STRUCTURED_OPERATIONS",
        "linalg_relayout.RELAYOUT_OPERATIONS",
        "linalg_relayout.WINOGRAD_OPERATIONS",
        "linalg.LEGACY_OPERATIONS",
    ),
    "math": ("math.OPERATIONS",),
    "memref": (
        "memref.MEMREF_OPERATIONS",
        "memref.ACCESS_OPERATIONS",
        "views.VIEW_OPERATIONS",
        "memref.TRANSFER_OPERATIONS",
        "memref.ATOMIC_OPERATIONS",
    ),
    "nvgpu": (
        "nvgpu.COPY_OPERATIONS",
        "gpu_matrices.FRAGMENT_OPERATIONS",
        "nvgpu.BARRIER_OPERATIONS",
        "nvgpu.WARPGROUP_OPERATIONS",
    ),
    "nvvm": (
        "gpu_communication.NVVM_OPERATIONS",
        "nvgpu.BARRIER_OPERATIONS",
    ),
    "scf": (
        "control.SCF_OPERATIONS",
        "control.FORALL_OPERATIONS",
        "control.PARALLEL_OPERATIONS",
    ),
    "shape": (
        "shape.SHAPE_OPERATIONS",
        "shape.ASSUMING_OPERATIONS",
    ),
    "tensor": (
        "tensors.TENSOR_OPERATIONS",
        "tensors.SLICE_OPERATIONS",
        "tensors.GATHER_OPERATIONS",
        "linalg_relayout.RELAYOUT_OPERATIONS",
    ),
    "ub": ("control.CF_OPERATIONS",),
    "vector": (
        "vectors.ELEMENT_OPERATIONS",
        "vectors.SHAPE_OPERATIONS",
        "vector_memory.MEMORY_OPERATIONS",
        "vector_memory.TRANSFER_OPERATIONS",
        "vectors.PRODUCT_OPERATIONS",
        "vectors.MASK_OPERATIONS",
        "vectors.LEGACY_OPERATIONS",
        "functions.EXTERNAL_OPERATIONS",
    ),
}
"""The tables of each dialect's evaluators: module and name."""


@cache
def evaluator(name: str) -> Evaluate | None:
    return operations(name.partition(".")[0]).get(name)


@cache
def operations(dialect: str) -> Mapping[str, Evaluate]:
    """The evaluators of a dialect by the names of its operations."""
    found: dict[str, Evaluate] = {}
    for place in _TABLES.get(dialect, ()):
        home, _, name = place.partition(".")
        module = import_module(f"gpucodegen.interp.{home}")
        table: Mapping[str, Evaluate] = getattr(module, name)
        found |= {n: f for n, f in table.items() if n.startswith(f"{dialect}.")}
    return found
