"""Interprets shape: shapes are tuples of extents or tensors of rank 1.

Shapes that disagree raise an error where they are combined; a constraint that fails
raises one at the ``shape.assuming`` that relies on it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import array_of, constant, given, is_array
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import INDEX, TensorType, Type

Dims = tuple[int, ...]


def dims(value: Any) -> Dims:
    return tuple(map(int, value))


def shaped(found: Sequence[int], ty: Type) -> Any:
    """Extents as a value of a shape type."""
    is_tensor = isinstance(ty, TensorType)
    return array_of(found, (len(found),), INDEX) if is_tensor else tuple(found)


def _disagree(op: Operation, *shapes: Any) -> errors.Error:
    listed = " and ".join(str(list(dims(s))) for s in shapes)
    return errors.ShapesDisagree(problem=f"'{op.name}' of {listed}")


def broadcast(*shapes: Dims) -> Dims | None:
    """The broadcast shape; None if extents disagree.

    >>> broadcast((2, 1), (3,)), broadcast((2,), (3,))
    ((2, 3), None)
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def _of_shapes(function: Callable[..., Sequence[int]]) -> Evaluate:
    """A function of shapes whose result is one."""

    def evaluate(_: Machine, op: Operation, *shapes: Any) -> Any:
        found = function(*map(dims, shapes))
        return shaped(found, op.results[0].type)

    return evaluate


def _broadcast(_: Machine, op: Operation, *shapes: Any) -> Any:
    found = broadcast(*map(dims, shapes))
    if found is None:
        raise _disagree(op, *shapes)
    return shaped(found, op.results[0].type)


def _equal(_: Machine, __: Operation, *shapes: Any) -> int:
    return int(len({dims(s) for s in shapes}) <= 1)


def _broadcastable(_: Machine, __: Operation, *shapes: Any) -> int:
    return int(broadcast(*map(dims, shapes)) is not None)


def _joined(_: Machine, op: Operation, *values: Any) -> Any:
    """Shapes or sizes that must be equal."""
    if isinstance(values[0], int):
        if len(set(values)) > 1:
            raise _disagree(op, values)
        return values[0]
    if not _equal(_, op, *values):
        raise _disagree(op, *values)
    return shaped(dims(values[0]), op.results[0].type)


def _extremes(function: Callable[[int, int], int]) -> Evaluate:
    def evaluate(_: Machine, op: Operation, a: Any, b: Any) -> Any:
        """Combine two sizes, or two shapes of one rank extent by extent."""
        if isinstance(a, int):
            return function(a, b)
        if len(a) != len(b):
            raise _disagree(op, a, b)
        found = [function(m, n) for m, n in zip(dims(a), dims(b), strict=True)]
        return shaped(found, op.results[0].type)

    return evaluate


def _sizes(function: Callable[[int, int], int]) -> Evaluate:
    def evaluate(_: Machine, __: Operation, a: int, b: int) -> int:
        return function(a, b)

    return evaluate


def _divide(_: Machine, __: Operation, a: int, b: int) -> int:
    """Rounded down. Raises DivisionByZero."""
    if b == 0:
        raise errors.DivisionByZero
    return a // b


def _extent(_: Machine, __: Operation, shape: Any, at: int) -> int:
    """One extent. Raises IndexOutOfBounds."""
    found = dims(shape)
    if not 0 <= at < len(found):
        raise errors.IndexOutOfBounds(index=at, buffer="the shape", shape=(len(found),))
    return found[at]


def _dim(m: Machine, op: Operation, value: Any, at: int) -> int:
    return _extent(m, op, value.shape, at)


def _split(_: Machine, op: Operation, shape: Any, at: int) -> Any:
    """Extents before and after a position; a negative one counts from the end."""
    found = dims(shape)
    place = at + len(found) if at < 0 else at
    if not 0 <= place <= len(found):
        raise errors.IndexOutOfBounds(index=at, buffer="the shape", shape=(len(found),))
    parts = found[:place], found[place:]
    return tuple(shaped(p, r.type) for p, r in zip(parts, op.results, strict=True))


def _reduce(m: Machine, op: Operation, shape: Any, *start: Any) -> Any:
    """Run the body for every extent with its position."""
    for place, extent in enumerate(dims(shape)):
        start = m.results(op.regions[0], (place, extent, *start))
    return given(start)


def _constant(_: Machine, op: Operation) -> Any:
    value = op.attributes["shape"]
    found = constant(value, value.type) if hasattr(value, "type") else ()  # pyright: ignore[reportAttributeAccessIssue]
    return shaped(dims(found), op.results[0].type)


def _size(_: Machine, op: Operation) -> int:
    return op.integer("value")


def _same(_: Machine, __: Operation, value: Any) -> Any:
    return value


def _shape_of(_: Machine, op: Operation, value: Any) -> Any:
    return shaped(value.shape, op.results[0].type)


def _from_extents(_: Machine, op: Operation, *extents: int) -> Any:
    return shaped(extents, op.results[0].type)


def _with_shape(_: Machine, op: Operation, value: Any, shape: Any) -> Any:
    """The value, if it has this shape. Raises ShapesDisagree."""
    if is_array(value) and value.shape != dims(shape):
        raise _disagree(op, value.shape, shape)
    return value


def _print(_: Machine, __: Operation, value: Any) -> Any:
    import sys

    sys.stdout.write(f"{list(dims(value)) if hasattr(value, '__len__') else value}\n")
    return value


def _elements(_: Machine, __: Operation, shape: Any) -> int:
    return prod(dims(shape))


def _rank(_: Machine, __: Operation, shape: Any) -> int:
    return len(shape)


SHAPE_OPERATIONS: dict[str, Evaluate] = {
    "shape.add": _sizes(operator.add),
    "shape.any": _joined,
    "shape.broadcast": _broadcast,
    "shape.concat": _of_shapes(lambda *shapes: reduce(operator.add, shapes, ())),
    "shape.const_shape": _constant,
    "shape.const_size": _size,
    "shape.debug_print": _print,
    "shape.dim": _dim,
    "shape.div": _divide,
    "shape.from_extent_tensor": _of_shapes(lambda shape: shape),
    "shape.from_extents": _from_extents,
    "shape.get_extent": _extent,
    "shape.index_to_size": _same,
    "shape.is_broadcastable": _broadcastable,
    "shape.max": _extremes(max),
    "shape.meet": _joined,
    "shape.min": _extremes(min),
    "shape.mul": _sizes(operator.mul),
    "shape.num_elements": _elements,
    "shape.rank": _rank,
    "shape.reduce": _reduce,
    "shape.shape_eq": _equal,
    "shape.shape_of": _shape_of,
    "shape.size_to_index": _same,
    "shape.split_at": _split,
    "shape.to_extent_tensor": _of_shapes(lambda shape: shape),
    "shape.value_as_shape": _of_shapes(lambda shape: shape),
    "shape.value_of": _same,
    "shape.with_shape": _with_shape,
}


def _constraint_constant(_: Machine, op: Operation) -> bool:
    return bool(op.integer("passing"))


def _constraint_equal(_: Machine, __: Operation, *shapes: Any) -> bool:
    return len({dims(shape) for shape in shapes}) <= 1


def _constraint_broadcastable(_: Machine, __: Operation, *shapes: Any) -> bool:
    return broadcast(*map(dims, shapes)) is not None


def _require(_: Machine, __: Operation, condition: int) -> bool:
    return bool(condition)


def _all(_: Machine, __: Operation, *witnesses: bool) -> bool:
    return all(witnesses)


def _assuming(m: Machine, op: Operation, witness: bool) -> Any:
    """Run the region. Raises AssertionFailed if the witness is false."""
    if not witness:
        raise errors.AssertionFailed(message="the constraint of 'shape.assuming'")
    return given(m.results(op.regions[0]))


ASSUMING_OPERATIONS: dict[str, Evaluate] = {
    "shape.assuming": _assuming,
    "shape.assuming_all": _all,
    "shape.const_witness": _constraint_constant,
    "shape.cstr_broadcastable": _constraint_broadcastable,
    "shape.cstr_eq": _constraint_equal,
    "shape.cstr_require": _require,
}
