"""Arguments of NumPy's functions: arrays, numbers, shapes, dtypes and axes."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from gpucodegen.python.arrays import Extents, Lazy, View, allocated
from gpucodegen.python.context import Bound, Context, described
from gpucodegen.python.range_checks import convert
from gpucodegen.python.results import is_tuple
from gpucodegen.python.scalars import Scalar, known
from gpucodegen.python.types import NUMPY, Kind, category, dtype_of


def array_given(c: Context, node: ast.AST, value: Bound) -> View | Lazy:
    if isinstance(value, View | Lazy):
        return value
    if is_tuple(value) and value:
        return array_of(c, node, value)
    raise c.wrong(node, "an array function", [value], "Pass an array")


def array_of(c: Context, node: ast.AST, value: Bound, dtype: Bound = None) -> View:
    """A new array of the numbers in nested tuples."""
    shape, numbers = _nested(c, node, value)
    kinds = [dtype_of(number.kind) for number in numbers] or [np.dtype("f8")]
    kind = dtype_given(c, node, dtype, np.result_type(*kinds))
    made = allocated(c.b, kind, tuple(map(known, shape)))
    for place, number in zip(np.ndindex(*shape), numbers, strict=True):
        made.put(c.b, [known(n) for n in place], number)
    return made


def _nested(c: Context, node: ast.AST, value: Bound) -> tuple[list[int], list[Scalar]]:
    if not is_tuple(value):
        return [], [number_given(c, node, value)]
    parts = [_nested(c, node, part) for part in value]
    if any(shape != parts[0][0] for shape, _ in parts):
        raise c.refuse(node, "lists of different lengths", "Make a rectangle of them")
    inner = parts[0][0] if parts else []
    return [len(parts), *inner], [n for _, own in parts for n in own]


def number_given(c: Context, node: ast.AST, value: Bound) -> Scalar:
    if isinstance(value, Scalar):
        return value
    raise c.wrong(node, "a number", [value], "Pass a number")


def integer_given(c: Context, node: ast.AST, value: Bound, what: str) -> Scalar:
    """An integer, as an index."""
    if isinstance(value, Scalar) and category(value.kind) in "iu":
        return convert(c.b, value, int)
    raise c.wrong(node, what, [value], "Give it as an integer")


def constant_given(c: Context, node: ast.AST, value: Bound, what: str) -> Any:
    """A number or text that is known when the function is compiled."""
    if isinstance(value, Scalar) and value.value is None:
        return value.constant
    if value is None or isinstance(value, str):
        return value
    raise c.wrong(node, what, [value], "Give it as a constant")


def shape_given(c: Context, node: ast.AST, shape: Bound) -> Extents:
    entries: tuple[Bound, ...] = shape if is_tuple(shape) else (shape,)
    if not all(isinstance(e, Scalar) and category(e.kind) in "iu" for e in entries):
        raise c.wrong(node, "a shape", list(entries), "Give integers, such as a.shape")
    return tuple(convert(c.b, e, int) for e in entries)


def dtype_given(
    c: Context, node: ast.AST, given: Bound, default: Kind
) -> np.dtype[Any]:
    if given is None:
        return np.dtype(default)
    try:
        found = np.dtype(given)
    except TypeError:
        found = np.dtype(object)
    if found.name not in NUMPY:
        hint = "Use a dtype such as numpy.float32 or a.dtype"
        raise c.refuse(node, f"the dtype {described(given)}", hint)
    return found


def axes_given(c: Context, node: ast.AST, rank: int, axis: Bound) -> tuple[int, ...]:
    """The dimensions that ``axis=`` names; all for None."""
    if axis is None:
        return tuple(range(rank))
    entries = axis if is_tuple(axis) else (axis,)
    found = tuple(axis_given(c, node, rank, entry) for entry in entries)
    if len({*found}) < len(found):
        raise c.refuse(node, "an axis named twice", "Name each axis once")
    return found


def axis_given(c: Context, node: ast.AST, rank: int, axis: Bound) -> int:
    is_integer = isinstance(axis, Scalar) and category(axis.kind) in "iu"
    if not is_integer or axis.value is not None:
        raise c.wrong(node, "axis=", [axis], "Give it as a number")
    if not -rank <= axis.constant < rank:
        hint = f"The array has {rank} dimensions"
        raise c.refuse(node, f"axis={axis.constant}", hint)
    return int(axis.constant) % rank


def flag_given(c: Context, node: ast.AST, value: Bound, what: str) -> bool:
    return bool(constant_given(c, node, value, what))
