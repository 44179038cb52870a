"""The least work of a call: floating-point operations and memory traffic.

`work_of` takes a program and the arguments of a call, and counts on the affine nests
that the compiler starts from.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from gpucodegen.dialects.func import Function
from gpucodegen.ir.types import FloatType, VectorType, element_type
from gpucodegen.passes.analysis.work import total_work
from gpucodegen.tuning.schedules import affine_nests

if TYPE_CHECKING:
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.ir.operation import Operation, Value
    from gpucodegen.program import Program

FLOPS = {
    **dict.fromkeys(("arith.addf", "arith.subf", "arith.mulf", "arith.divf"), 1),
    **dict.fromkeys(("arith.maximumf", "arith.minimumf", "arith.negf"), 1),
    **dict.fromkeys(("math.fma", "vector.fma"), 2),
}
"""Floating-point operations per operation; others, such as exponentials, count as none.
"""


def work_of(program: Program, name: str, arguments: Sequence[Any]) -> dict[str, Any]:
    """``flops`` and ``bytes`` of a call, ``dtype`` of its first array of floats.

    Each array that is read, and each that is written, is moved once.  Flops are 0 where
    they depend on numbers that the program computes.

    >>> import numpy as np
    >>> import gpucodegen as gcg
    >>> program = gcg.compile('''
    ... func.func @twice(%a: memref<?xf32>, %b: memref<?xf32>) {
    ...   %c0 = arith.constant 0 : index
    ...   %n = memref.dim %a, %c0 : memref<?xf32>
    ...   affine.for %i = 0 to %n {
    ...     %v = affine.load %a[%i] : memref<?xf32>
    ...     %w = arith.addf %v, %v : f32
    ...     affine.store %w, %b[%i] : memref<?xf32>
    ...   }
    ...   return
    ... }''', target="cpu")
    >>> work_of(program, "twice", [np.zeros(100, "f4"), np.zeros(100, "f4")])
    {'flops': 100, 'bytes': 800, 'dtype': 'f32'}
    """
    module = affine_nests(program, name, arguments)
    function = Function(module.functions[name])
    body = module.functions[name].regions[0].blocks[0].operations
    sizes = [getattr(argument, "nbytes", 0) for argument in arguments]
    pairs = zip(function.arguments, sizes, strict=False)
    moved = [size * len(_uses(module, value)) for value, size in pairs if size]
    elements = [element_type(value.type) for value in function.arguments]
    kinds = [str(one) for one in elements if isinstance(one, FloatType)]
    flops = total_work(body, {}, _flops)
    return {
        "flops": flops or 0,
        "bytes": sum(moved),
        "dtype": kinds[0] if kinds else "",
    }


def _flops(op: Operation) -> int:
    if op.name not in FLOPS:
        return 0
    ty = op.results[0].type
    return FLOPS[op.name] * (prod(ty.shape) if isinstance(ty, VectorType) else 1)


def _uses(module: Module, value: Value) -> set[str]:
    """Whether an array is read, written or both; both if it escapes."""
    found: set[str] = set()
    for op in module.walk():
        if value in op.operands:
            _, _, kind = op.name.rpartition(".")
            if kind.endswith(("load", "read")):
                found.add("read")
            elif kind.endswith(("store", "write")):
                found.add("written")
            elif kind != "dim":
                found |= {"read", "written"}
    return found
