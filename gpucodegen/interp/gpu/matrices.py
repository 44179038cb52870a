"""gpu: matrices of a subgroup, whole in each of its threads.

Which elements a lane holds is not said by MLIR, so `extract_thread_local` and
`insert_thread_local` have no meaning here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import fsum
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.gpu.mma.checks import element, matrix
from gpucodegen.interp.gpu.communication import exchanged
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.scalars.arith import combine
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.interp.values.elements import (
    Array,
    array_of,
    canonical,
    filled,
    numbers,
)
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FloatType, Type

_BINARY = {
    "maxf": "maximumf",
    "minf": "minimumf",
    "divs": "divsi",
    "divu": "divui",
    **{name: name for name in "addf mulf subf divf addi muli subi".split()},
}


def type_of(ty: Type) -> Type:
    """The element type of a matrix type."""
    found = element({"res": [ty]}, {})
    assert found is not None
    return found[0]


def _places(
    op: Operation, ty: Type, buffer: MemRef, index: Sequence[int], name: str
) -> Array:
    """Where in the line of memory each element lies."""
    shape = matrix(ty)[:2]
    rows = np.arange(shape[0])[:, None] * op.integer("leadDimension")
    if "transpose" in op.attributes:
        rows = np.arange(shape[1])[:, None] * op.integer("leadDimension")
        offsets = (rows + np.arange(shape[0])).T
    else:
        offsets = rows + np.arange(shape[1])
    found = buffer.place(index, name) + offsets
    if found.max() >= len(buffer.memory):
        raise errors.IndexOutOfBounds(index=index, buffer=name, shape=buffer.shape)
    return found


def _load(_: Machine, op: Operation, source: MemRef, *index: int) -> Array:
    at = _places(op, op.results[0].type, source, index, name_of(op.operands[0]))
    return source.memory[at]


def _store(
    m: Machine, op: Operation, value: Array, target: MemRef, *index: int
) -> None:
    """Once all lanes have come; each writes the same."""
    exchanged(m, op, None, of_warp=True)
    at = _places(op, op.operands[0].type, target, index, name_of(op.operands[1]))
    target.memory[at] = value


def _compute(_: Machine, op: Operation, a: Array, b: Array, c: Array) -> Array:
    """Each sum is rounded once."""
    tables = [
        np.array(numbers(v, type_of(o.type)), object).reshape(v.shape)
        for v, o in zip((a, b, c), op.operands, strict=True)
    ]
    lhs, rhs, start = tables
    lhs = lhs.T if "a_transpose" in op.attributes else lhs
    rhs = rhs.T if "b_transpose" in op.attributes else rhs
    ty = type_of(op.results[0].type)
    made = [
        summed([start[i, j], *(lhs[i] * rhs[:, j])], ty) for i, j in np.ndindex(c.shape)
    ]
    return array_of(made, c.shape, ty)


def summed(terms: Sequence[Any], ty: Type) -> Any:
    """The exact sum as a number of a type."""
    return canonical(fsum(terms) if isinstance(ty, FloatType) else sum(terms), ty)


def _constant(_: Machine, op: Operation, value: Any) -> Array:
    ty = op.results[0].type
    return filled(value, matrix(ty)[:2], type_of(ty))


def _elementwise(_: Machine, op: Operation, *values: Array) -> Array:
    word = str(op.attributes.get("opType")).partition("<")[2].removesuffix(">")
    ty = type_of(op.results[0].type)
    function: Callable[..., Any] = (
        combine(_BINARY[word], ty)
        if word in _BINARY
        else lambda x: canonical(-x if word.startswith("negate") else x, ty)
    )
    rows = [
        numbers(v, type_of(o.type)) for v, o in zip(values, op.operands, strict=True)
    ]
    return array_of(
        [function(*row) for row in zip(*rows, strict=True)], values[0].shape, ty
    )


OPERATIONS: dict[str, Evaluate] = {
    "gpu.subgroup_mma_load_matrix": _load,
    "gpu.subgroup_mma_store_matrix": _store,
    "gpu.subgroup_mma_compute": _compute,
    "gpu.subgroup_mma_constant_matrix": _constant,
    "gpu.subgroup_mma_elementwise": _elementwise,
}
