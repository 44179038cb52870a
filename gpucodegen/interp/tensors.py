"""Interprets tensor: tensors are values, so updates return new arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.interp.buffers import copied, fresh
from gpucodegen.interp.casts import bitcast
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memref import dim, filled_in, name_of, rank
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import (
    Array,
    array_of,
    code,
    empty,
    filled,
    number,
)
from gpucodegen.interp.views import (
    check_groups,
    check_shape,
    collapsed,
    dropped,
    expanded,
    groups_of,
    mixed,
    without,
)
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
    """The region computes each padding element from its index."""
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


TENSOR_OPERATIONS: dict[str, Evaluate] = {
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


Numbers = tuple[int, ...]


def chosen(
    array: Array, offsets: Numbers, sizes: Numbers, strides: Numbers, name: str
) -> Array:
    """A view of the elements of a slice.  Raises IndexOutOfBounds."""
    cut: list[slice] = []
    rows = zip(offsets, sizes, strides, array.shape, strict=True)
    for offset, size, stride, extent in rows:
        last = offset + (size - 1) * stride
        if size < 0:
            raise errors.NegativeExtent(shape=sizes)
        if size and not (0 <= offset < extent and 0 <= last < extent):
            raise errors.IndexOutOfBounds(
                index=tuple(
                    o + (n - 1) * s
                    for o, n, s in zip(offsets, sizes, strides, strict=True)
                ),
                buffer=name,
                shape=array.shape,
            )
        end = last + (1 if stride > 0 else -1)
        cut.append(
            slice(offset, None if end < 0 else end, stride or 1)
            if size
            else slice(0, 0)
        )
    found = array[tuple(cut)]
    if any(s == 0 and n > 1 for n, s in zip(sizes, strides, strict=True)):
        raise errors.InvalidLoopStep(step=0)
    return found


def _name(op: Operation, number: int) -> str:
    hint = op.operands[number].name
    return f"%{hint}" if hint else "the tensor"


def _shape(op: Operation, number: int) -> Sequence[int | None]:
    ty = (op.results[0] if number < 0 else op.operands[number]).type
    assert isinstance(ty, TensorType)
    return ty.shape


def _extract_slice(m: Machine, op: Operation, source: Array, *_: int) -> Array:
    offsets, sizes, strides = mixed(m, op)
    found = chosen(source, offsets, sizes, strides, _name(op, 0))
    gone = dropped(sizes, _shape(op, -1))
    return found.reshape(without(sizes, gone)).copy()


def insert_into(m: Machine, op: Operation, source: Array, dest: Array) -> None:
    """Write a slice of a tensor.  Raises ShapesDisagree."""
    offsets, sizes, strides = mixed(m, op)
    target = chosen(dest, offsets, sizes, strides, _name(op, 1))
    kept = without(sizes, dropped(sizes, _shape(op, 0)))
    if kept != source.shape:
        raise errors.ShapesDisagree(
            problem=f"'{op.name}' puts {source.shape} where {kept} fits"
        )
    target[...] = source.reshape(sizes)


def _insert_slice(
    m: Machine, op: Operation, source: Array, dest: Array, *_: int
) -> Array:
    made = dest.copy()
    insert_into(m, op, source, made)
    return made


SLICE_OPERATIONS: dict[str, Evaluate] = {
    "tensor.extract_slice": _extract_slice,
    "tensor.insert_slice": _insert_slice,
}


Selected = tuple[tuple[int, ...], tuple[int | slice, ...]]


def _slices(
    op: Operation, whole: Array, indices: Array, name: str, number: int
) -> Iterator[Selected]:
    """The index positions, and the slice that each selects."""
    dims = op.numbers(name)
    for place in np.ndindex(*indices.shape[:-1]):
        at: list[int | slice] = [slice(None)] * whole.ndim
        for d, i in zip(dims, indices[place].tolist(), strict=True):
            if not 0 <= i < whole.shape[d]:
                raise errors.IndexOutOfBounds(
                    index=i, buffer=name_of(op.operands[number]), shape=whole.shape
                )
            at[d] = i
        yield place, tuple(at)


def _gather(_: Machine, op: Operation, source: Array, indices: Array) -> Array:
    """One slice per index; indexed dimensions may remain with extent 1."""
    leading = indices.shape[:-1]
    ty = op.results[0].type
    shape = getattr(ty, "shape", ())
    dims = op.numbers("gather_dims")
    kept = [1 if d in dims else n for d, n in enumerate(source.shape)]
    if len(shape) != len(leading) + source.ndim:
        kept = [n for d, n in enumerate(source.shape) if d not in dims]
    made = empty((*leading, *kept), element_type(ty))
    for place, at in _slices(op, source, indices, "gather_dims", 0):
        made[place] = source[at].reshape(kept)
    return made


def _scatter(
    _: Machine, op: Operation, source: Array, dest: Array, indices: Array
) -> Array:
    made = dest.copy()
    for place, at in _slices(op, dest, indices, "scatter_dims", 1):
        made[at] = source[place].reshape(made[at].shape)
    return made


GATHER_OPERATIONS: dict[str, Evaluate] = {
    "tensor.gather": _gather,
    "tensor.scatter": _scatter,
}
