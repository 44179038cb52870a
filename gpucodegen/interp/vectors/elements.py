"""vector: broadcasts, extracts, inserts, slices, shuffles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.vector import position
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.elements import (
    Array,
    array_of,
    code,
    empty,
    filled,
    number,
)
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type, VectorType, element_type


def vector_type(ty: Type) -> VectorType:
    """A type that is a vector."""
    assert isinstance(ty, VectorType)
    return ty


def part(array: Array, ty: Type) -> Any:
    """A piece of a vector: a number, or a vector that is copied."""
    if isinstance(ty, VectorType):
        return np.array(array).reshape(ty.shape)
    return number(np.asarray(array).reshape(-1)[0], ty)


def stored(value: Any, ty: Type) -> Any:
    """A number or a vector as it lies in a larger one."""
    return value if isinstance(value, np.ndarray) else code(value, element_type(ty))


def _broadcast(_: Machine, op: Operation, source: Any) -> Array:
    ty = vector_type(op.results[0].type)
    if isinstance(source, np.ndarray):
        return np.array(np.broadcast_to(source, ty.shape))
    return filled(source, ty.shape, ty.element)


def _from_elements(_: Machine, op: Operation, *elements: Any) -> Array:
    ty = vector_type(op.results[0].type)
    return array_of(elements, ty.shape, ty.element)


def _to_elements(_: Machine, op: Operation, source: Array) -> Any:
    ty = element_type(op.operands[0].type)
    made = tuple(number(x, ty) for x in source.reshape(-1))
    return made[0] if len(made) == 1 else made


def _at(
    op: Operation, dynamic: Sequence[int], shape: Sequence[int]
) -> tuple[int, ...] | None:
    """The position; None where it says that anything will do.

    Raises IndexOutOfBounds.
    """
    given = iter(dynamic)
    at = tuple(next(given) if n == DYNAMIC_MARK else n for n in position(op))
    if -1 in position(op):
        return None
    if not all(0 <= i < n for i, n in zip(at, shape, strict=False)):
        raise errors.IndexOutOfBounds(index=at, buffer="the vector", shape=tuple(shape))
    return at


def _extract(_: Machine, op: Operation, source: Array, *dynamic: int) -> Any:
    at, ty = _at(op, dynamic, source.shape), op.results[0].type
    if at is None:
        at = (0,) * len(position(op))
    return part(source[at], ty)


def _insert(_: Machine, op: Operation, value: Any, dest: Array, *dynamic: int) -> Array:
    made, at = dest.copy(), _at(op, dynamic, dest.shape)
    if at is not None:
        made[at] = stored(value, op.operands[0].type)
    return made


def integers(op: Operation, name: str) -> tuple[int, ...]:
    """The numbers of an array of attributes, or of a dense one."""
    entries = (e.value for e in op.entries(name) if isinstance(e, IntegerAttr))
    return tuple(entries) or op.numbers(name)


def _cut(op: Operation, sizes: Sequence[int]) -> Any:
    """Slices of the dimensions that have a size."""
    offsets = integers(op, "offsets")
    strides = integers(op, "strides") or (1,) * len(sizes)
    return tuple(
        slice(o, o + (n - 1) * s + 1, s)
        for o, n, s in zip(offsets, sizes, strides, strict=False)
    )


def _extract_slice(_: Machine, op: Operation, source: Array) -> Array:
    return source[_cut(op, integers(op, "sizes"))].copy()


def _insert_slice(_: Machine, op: Operation, value: Array, dest: Array) -> Array:
    made = dest.copy()
    skipped = dest.ndim - value.ndim
    sizes = (*(1,) * skipped, *value.shape)
    offsets = integers(op, "offsets")
    steps = (*(1,) * skipped, *integers(op, "strides"))
    cut = tuple(
        slice(o, o + (n - 1) * s + 1, s)
        for o, n, s in zip(offsets, sizes, steps, strict=False)
    )
    made[cut] = value.reshape(sizes)
    return made


def _shuffle(_: Machine, op: Operation, first: Array, second: Array) -> Array:
    """Rows of either; -1 stands for any."""
    rows = [*np.atleast_1d(first), *np.atleast_1d(second)]
    ty = vector_type(op.results[0].type)
    made = empty(ty.shape, ty.element)
    for i, row in enumerate(integers(op, "mask")):
        if row >= 0:
            made[i] = rows[row]
    return made


def _interleave(_: Machine, op: Operation, lhs: Array, rhs: Array) -> Array:
    shape = vector_type(op.results[0].type).shape
    return np.stack([lhs, rhs], axis=-1).reshape(shape)


def _deinterleave(_: Machine, __: Operation, source: Array) -> tuple[Array, Array]:
    return source[..., ::2].copy(), source[..., 1::2].copy()


def _scalable_insert(_: Machine, op: Operation, value: Array, dest: Array) -> Array:
    made, at = dest.copy(), op.integer("pos")
    made[at : at + len(value)] = value
    return made


def _scalable_extract(_: Machine, op: Operation, source: Array) -> Array:
    at, (count,) = op.integer("pos"), vector_type(op.results[0].type).shape
    return source[at : at + count].copy()


OPERATIONS: dict[str, Evaluate] = {
    "vector.broadcast": _broadcast,
    "vector.from_elements": _from_elements,
    "vector.to_elements": _to_elements,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.extract_strided_slice": _extract_slice,
    "vector.insert_strided_slice": _insert_slice,
    "vector.shuffle": _shuffle,
    "vector.interleave": _interleave,
    "vector.deinterleave": _deinterleave,
    "vector.scalable.insert": _scalable_insert,
    "vector.scalable.extract": _scalable_extract,
}
