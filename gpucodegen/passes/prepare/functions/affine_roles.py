"""Code moved into another function keeps the rules of affine operands, where it can.

A function may take an index as ``symbol(%i)`` because it is one of its arguments. In
the place of a call it may be a loop variable, which is a dimension and no symbol. An
affine expression does not mind, unless it multiplies or divides by the index.
"""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.verifier.affine_values import (
    check_affine_values,
    variable_symbols,
)
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.map_operands import rewrite_maps


def with_roles(function: Operation) -> Operation | None:
    """The function with loop variables as dimensions; None if that breaks the rules.

    What bounds a loop of the callee may be computed in a loop of the caller.
    """
    if _keeps_roles(function):
        return function
    known = {value: Index.of(value) for value in variable_symbols(function)}
    (changed,) = rewrite_bottom_up(function, lambda op: [rewrite_maps(op, known)])
    return changed if _keeps_roles(changed) else None


def _keeps_roles(function: Operation) -> bool:
    """Whether affine operands may be that still."""
    try:
        check_affine_values(function)
    except errors.NotADimension:
        return False
    return True
