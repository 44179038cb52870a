"""tensor: values in the shape of arrays; whatever changes one makes a new one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.memref import dim, filled_in, name_of, rank
from gpucodegen.interp.memory.views import (
    check_groups,
    check_shape,
    collapsed,
    expanded,
    groups_of,
)
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.scalars.casts import bitcast
from gpucodegen.interp.values.elements import (
    Array,
    array_of,
    code,
    empty,
    filled,
    number,
)
from gpucodegen.interp.values.written import copied, fresh
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import TensorType, element_type


def _type(op: Operation) -> TensorType:
    ty = op.results[0].type
    assert isinstance(ty, TensorType)
    return ty


def _empty(m: Machine, op: Operation, *sizes: int) -> Array:
    shape = filled_in(_type(op).shape, sizes)
    if any(n < 0 for n in shape):
        raise errors.NegativeExtent(shape=shape)
    made = empty(shape, _type(op).element)
    return fresh(made, rank=len(shape), arbitrary=m.shared.arbitrary)


def _inside(op: Operation, tensor: Array, index: Sequence[int], operand: int) -> Any:
    shape = tensor.shape[: len(index)]
    if not all(0 <= i < n for i, n in zip(index, shape, strict=True)):
        raise errors.IndexOutOfBounds(
            index=tuple(index), buffer=name_of(op.operands[operand]), shape=shape
        )
    return tuple(index)


def _extract(_: Machine, op: Operation, tensor: Array, *index: int) -> Any:
    return number(tensor[_inside(op, tensor, index, 0)], op.results[0].type)


def _insert(_: Machine, op: Operation, scalar: Any, dest: Array, *index: int) -> Array:
    made = copied(dest)
    made[_inside(op, dest, index, 1)] = code(scalar, element_type(_type(op)))
    return made


def _cast(_: Machine, op: Operation, source: Array) -> Array:
    ty = op.results[0].type
    if isinstance(ty, TensorType):
        check_shape(op, source.shape, ty.shape)
    return source


def _from_elements(_: Machine, op: Operation, *elements: Any) -> Array:
    return array_of(elements, filled_in(_type(op).shape, ()), _type(op).element)


def _splat(_: Machine, op: Operation, value: Any, *sizes: int) -> Array:
    return filled(value, filled_in(_type(op).shape, sizes), _type(op).element)


def _generate(m: Machine, op: Operation, *sizes: int) -> Array:
    shape, of = filled_in(_type(op).shape, sizes), _type(op).element
    rows = (m.results(op.regions[0], index)[0] for index in np.ndindex(*shape))
    return array_of(rows, shape, of)


def _numbers(op: Operation, name: str, dynamic: Sequence[int]) -> list[int]:
    values = iter(dynamic)
    return [next(values) if n == DYNAMIC_MARK else n for n in op.numbers(name)]


def _pad(m: Machine, op: Operation, source: Array, *_: int) -> Array:
    """The region gives what stands outside of the source, by its place."""
    groups, of = m.groups(op), _type(op).element
    low = _numbers(op, "static_low", groups["low"])
    high = _numbers(op, "static_high", groups["high"])
    shape = [a + n + b for a, n, b in zip(low, source.shape, high, strict=True)]
    if any(n < 0 for n in shape):
        raise errors.NegativeExtent(shape=tuple(shape))
    made = empty(shape, of)
    for index in np.ndindex(*shape):
        place = tuple(i - a for i, a in zip(index, low, strict=True))
        inside = all(0 <= i < n for i, n in zip(place, source.shape, strict=True))
        if inside:
            made[index] = source[place]
        else:
            made[index] = code(m.results(op.regions[0], index)[0], of)
    return made


def _concat(_: Machine, op: Operation, *inputs: Array) -> Array:
    try:
        return np.concatenate(inputs, axis=op.integer("dim"))
    except ValueError as problem:
        shapes = ", ".join(str(t.shape) for t in inputs)
        raise errors.ShapesDisagree(problem=f"'{op.name}' joins {shapes}") from problem


def _collapse(_: Machine, op: Operation, source: Array) -> Array:
    return source.reshape(collapsed(source.shape, groups_of(op))).copy()


def _expand(_: Machine, op: Operation, source: Array, *sizes: int) -> Array:
    shape = expanded(op, sizes)
    check_groups(op, source.shape, shape)
    return source.reshape(shape).copy()


def _reshape(_: Machine, op: Operation, source: Array, shape: Array) -> Array:
    extents = tuple(map(int, shape.tolist()))
    if prod(extents) != source.size:
        raise errors.ShapesDisagree(
            problem=f"'{op.name}' makes {extents} of {source.shape}"
        )
    return source.reshape(extents).copy()


OPERATIONS: dict[str, Evaluate] = {
    "tensor.empty": _empty,
    "tensor.dim": dim,
    "tensor.rank": rank,
    "tensor.extract": _extract,
    "tensor.insert": _insert,
    "tensor.cast": _cast,
    "tensor.bitcast": bitcast,
    "tensor.from_elements": _from_elements,
    "tensor.splat": _splat,
    "tensor.generate": _generate,
    "tensor.pad": _pad,
    "tensor.concat": _concat,
    "tensor.collapse_shape": _collapse,
    "tensor.expand_shape": _expand,
    "tensor.reshape": _reshape,
}
