"""Vectors outside of nests: they live in kernels only, so kernels run what makes them.

A pure operation is repeated by every kernel that uses its result; one that touches
memory, makes a number for the host, or depends on one of these, joins a kernel.
"""

from __future__ import annotations

from collections.abc import Collection

from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import VectorType
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect


def is_repeatable(op: Operation) -> bool:
    """Whether kernels compute a vector anew instead of taking it."""
    return has_no_effect(op) and any(isinstance(v.type, VectorType) for v in op.results)


def needs_kernel(op: Operation, made: Collection[Value]) -> bool:
    """Whether an operation on vectors has to join the kernel that makes ``made``."""
    definition = lookup(op.name)
    if definition is None or definition.has(Trait.TERMINATOR):
        return False
    values = (*op.operands, *op.results)
    has_vectors = any(isinstance(value.type, VectorType) for value in values)
    if not has_vectors and op.dialect != "vector":
        return False
    gives_number = bool(op.results) and not is_repeatable(op)
    is_pure = definition.has(Trait.PURE) and not gives_number
    return not is_pure or any(v in made for v in op.operands)


def made_into_vectors(function: Operation) -> set[Value]:
    """Values that vectors are made of, directly or by way of others."""
    found: set[Value] = set()
    for op in reversed(list(function.walk())):
        if is_repeatable(op) or not found.isdisjoint(op.results):
            found.update(op.operands)
    return found
