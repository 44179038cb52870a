"""vector: other shapes and types of the same elements, masks of ones, positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.scalars.casts import recast
from gpucodegen.interp.values.elements import Array, array_of
from gpucodegen.interp.vectors.elements import vector_type
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import TupleType, element_type

VSCALE = 1
"""How often the registers of this machine hold a scalable vector's shortest one."""


def _shape_cast(_: Machine, op: Operation, source: Any) -> Any:
    ty = op.results[0].type
    if isinstance(ty, TupleType):
        pairs = zip(source, ty.elements, strict=True)
        return tuple(v.reshape(vector_type(e).shape) for v, e in pairs)
    return source.reshape(vector_type(ty).shape)


def _bitcast(_: Machine, op: Operation, source: Array) -> Array:
    ty = vector_type(op.results[0].type)
    return recast(source, element_type(op.operands[0].type), ty.element, ty.shape)


def _transpose(_: Machine, op: Operation, source: Array) -> Array:
    return source.transpose(op.numbers("permutation")).copy()


def _ones(shape: Sequence[int], lengths: Sequence[int]) -> Array:
    """A box of ones in the corner of an array."""
    made = np.zeros(shape, bool)
    if not shape:
        return np.array(lengths[0] > 0)
    made[tuple(slice(0, max(0, n)) for n in lengths)] = True
    return made


def _create_mask(_: Machine, op: Operation, *lengths: int) -> Array:
    return _ones(vector_type(op.results[0].type).shape, lengths)


def _constant_mask(_: Machine, op: Operation) -> Array:
    lengths = op.numbers("mask_dim_sizes")
    return _ones(vector_type(op.results[0].type).shape, lengths)


def _step(_: Machine, op: Operation) -> Array:
    ty = vector_type(op.results[0].type)
    return array_of(range(ty.shape[0]), ty.shape, ty.element)


OPERATIONS: dict[str, Evaluate] = {
    "vector.shape_cast": _shape_cast,
    "vector.bitcast": _bitcast,
    "vector.transpose": _transpose,
    "vector.create_mask": _create_mask,
    "vector.constant_mask": _constant_mask,
    "vector.vscale": lambda *_: VSCALE,
    "vector.step": _step,
}
