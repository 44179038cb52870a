"""tensor: slices, taken out and put in."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.views import dropped, mixed, without
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.elements import Array
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import TensorType

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


def _extract(m: Machine, op: Operation, source: Array, *_: int) -> Array:
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


def _insert(m: Machine, op: Operation, source: Array, dest: Array, *_: int) -> Array:
    made = dest.copy()
    insert_into(m, op, source, made)
    return made


OPERATIONS: dict[str, Evaluate] = {
    "tensor.extract_slice": _extract,
    "tensor.insert_slice": _insert,
}
