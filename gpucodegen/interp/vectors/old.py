"""vector: tuples of slices and flat matrices of 2020."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.scalars.arith import combine
from gpucodegen.interp.values.elements import Array, array_of, numbers
from gpucodegen.interp.vectors.elements import integers, vector_type
from gpucodegen.interp.vectors.products import product as multiplied
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FloatType, element_type


def _tuple(_: Machine, __: Operation, *vectors: Array) -> tuple[Array, ...]:
    return vectors


def _tuple_get(_: Machine, op: Operation, vectors: tuple[Array, ...]) -> Array:
    return vectors[op.integer("index")]


def _boxes(op: Operation, shape: tuple[int, ...]) -> list[tuple[slice, ...]]:
    """The slices in row-major order; the last ones may be smaller."""
    sizes = integers(op, "sizes")
    starts = (range(0, n, size) for n, size in zip(shape, sizes, strict=True))
    return [
        tuple(
            slice(i, min(i + size, n))
            for i, size, n in zip(at, sizes, shape, strict=True)
        )
        for at in product(*starts)
    ]


def _extract_slices(_: Machine, op: Operation, vector: Array) -> tuple[Array, ...]:
    return tuple(vector[box].copy() for box in _boxes(op, vector.shape))


def _insert_slices(_: Machine, op: Operation, vectors: tuple[Array, ...]) -> Array:
    ty = vector_type(op.results[0].type)
    made = np.empty(ty.shape, vectors[0].dtype)
    for box, vector in zip(_boxes(op, ty.shape), vectors, strict=True):
        made[box] = vector
    return made


def _flat_transpose(_: Machine, op: Operation, matrix: Array) -> Array:
    """Columns one after the other become rows."""
    shape = op.integer("columns"), op.integer("rows")
    return matrix.reshape(shape).T.reshape(-1).copy()


def _multiply(_: Machine, op: Operation, lhs: Array, rhs: Array) -> Array:
    """Matrices whose columns stand one after the other."""
    ty = element_type(op.results[0].type)
    rows, inner, columns = (
        op.integer(n) for n in ("lhs_rows", "lhs_columns", "rhs_columns")
    )
    a, b = numbers(lhs, ty), numbers(rhs, ty)
    add = combine("addf" if isinstance(ty, FloatType) else "addi", ty)
    made: list[Any] = []
    for j, i in product(range(columns), range(rows)):
        total: Any = None
        for k in range(inner):
            term = multiplied(a[k * rows + i], b[j * inner + k], ty, ty)
            total = term if total is None else add(total, term)
        made.append(total)
    return array_of(made, (rows * columns,), ty)


OPERATIONS: dict[str, Evaluate] = {
    "vector.tuple": _tuple,
    "vector.tuple_get": _tuple_get,
    "vector.extract_slices": _extract_slices,
    "vector.insert_slices": _insert_slices,
    "vector.flat_transpose": _flat_transpose,
    "vector.matrix_multiply": _multiply,
}
