"""Shapes, dtypes and items of arrays, numbers and tuples, most of which are known."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gpucodegen.python import indexing, iterables
from gpucodegen.python.arrays import Extents, Lazy, View, broadcast, in_memory, lazy
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.functions import reduction_functions, shapes
from gpucodegen.python.functions.arguments import (
    array_given,
    axis_given,
    dtype_given,
    integer_given,
    shape_given,
)
from gpucodegen.python.masks import required
from gpucodegen.python.operators import combined, elementwise, truth
from gpucodegen.python.range_checks import convert
from gpucodegen.python.results import is_tuple
from gpucodegen.python.scalars import Scalar, known
from gpucodegen.python.types import PYTHON, category

Rule = Callable[..., Bound]


def shape_of(c: Context, node: ast.AST, value: Bound) -> Extents:
    """The extents of an array, a number or nested tuples."""
    if isinstance(value, Scalar):
        return ()
    if is_tuple(value):
        inner = shape_of(c, node, value[0]) if value else ()
        return (known(len(value)), *inner)
    return array_given(c, node, value).extents


def _rank(c: Context, node: ast.AST, a: Bound) -> Bound:
    return known(len(shape_of(c, node, a)))


def _size(c: Context, node: ast.AST, a: Bound, axis: Bound = None) -> Bound:
    extents = shape_of(c, node, a)
    if axis is not None:
        return extents[axis_given(c, node, len(extents), axis)]
    return shapes.size_of(c.b, extents)


def _common_shape(c: Context, node: ast.AST, *given: Bound) -> Bound:
    """``broadcast_shapes``."""
    numbers = lazy(known(0.0))
    shaped = [replace(numbers, extents=shape_given(c, node, s)) for s in given]
    return broadcast(shaped)[0]


def _common_dtype(c: Context, node: ast.AST, *given: Bound) -> Bound:
    """``result_type`` of arrays, numbers and dtypes."""
    kinds = {bool: True, int: 0, float: 0.0, complex: 0j}
    found: list[Any] = []
    for value in given:
        if isinstance(value, Scalar):
            found.append(kinds[value.kind] if value.kind in PYTHON else value.kind)
        elif isinstance(value, View | Lazy):
            found.append(value.dtype)
        else:
            found.append(dtype_given(c, node, value, float))
    return np.result_type(*found)


def _kind_is(test: Callable[[Any], bool]) -> Rule:
    def rule(c: Context, node: ast.AST, x: Bound) -> Bound:
        return known(test(_common_dtype(c, node, x)))

    return rule


def _limits(of: Any) -> Rule:
    """``finfo`` and ``iinfo`` of a dtype or of an array."""

    def rule(c: Context, node: ast.AST, dtype: Bound) -> Bound:
        try:
            return of(_common_dtype(c, node, dtype))
        except ValueError as problem:
            raise c.refuse(node, "these limits", f"NumPy says: {problem}") from problem

    return rule


def _dtype(c: Context, node: ast.AST, dtype: Bound) -> Bound:
    return dtype_given(c, node, dtype, float)


def _is_instance(c: Context, node: ast.AST, value: Bound, types: Bound) -> Bound:
    """``isinstance`` of arrays, numbers of NumPy, and tuples."""
    stands: Any = types
    if isinstance(value, View | Lazy):
        return known(issubclass(np.ndarray, stands))
    if is_tuple(value):
        return known(issubclass(tuple, stands))
    if isinstance(value, Scalar):
        kind = value.kind if value.kind in PYTHON else value.kind.type
        return known(issubclass(kind, stands))
    if value is None or isinstance(value, str | np.dtype):
        return known(isinstance(value, stands))
    raise c.wrong(node, "`isinstance`", [value], "Use numbers and arrays")


def item(c: Context, node: ast.AST, array: Bound, *places: Bound) -> Bound:
    """The only element, or that of these places, as a number of Python."""
    kinds = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
    if isinstance(array, Scalar):
        return convert(c.b, array, kinds[category(array.kind)])
    whole = in_memory(c.b, array_given(c, node, array))
    if places:
        found = indexing.element(
            c, whole, [integer_given(c, node, p, "an index") for p in places]
        )
    else:
        for extent in whole.extents:
            required(c.b, extent, "eq", 1, "item() is of an array of one element")
        found = whole.element(c.b, [known(0) for _ in whole.extents])
    return convert(c.b, found, kinds[category(found.kind)])


def _is_number(_: Context, __: ast.AST, element: Bound) -> Bound:
    """``isscalar``."""
    return known(isinstance(element, Scalar))


def _sliced(_: Context, __: ast.AST, *ends: Bound) -> Bound:
    return slice(*ends)


def _quotient(c: Context, node: ast.AST, x: Bound, y: Bound) -> Bound:
    """``divmod``."""
    return tuple([combined(c, node, op(), [x, y]) for op in (ast.FloorDiv, ast.Mod)])


def _of_items(name: str, ufunc: np.ufunc, start: Any) -> Rule:
    """``sum``, ``any``, ``all`` and ``math.prod`` of a tuple or of an array."""

    def rule(c: Context, node: ast.AST, items: Bound, first: Bound = None) -> Bound:
        found = known(start) if first is None else first
        is_truth = isinstance(start, bool)
        if isinstance(items, View | Lazy) and (len(items.extents) == 1 or not is_truth):
            dtype = None if is_truth else _common_dtype(c, node, items, found)
            named = {} if is_truth else {"dtype": dtype, "initial": found}
            made = reduction_functions.reduce(c, node, ufunc, items, **named)
            return convert(c.b, made, bool) if is_truth else made
        parts = iterables.known_items(c, node, items)
        if parts is None or isinstance(items, View | Lazy):
            hint = f"Use numpy.{name} of an array"
            raise c.wrong(node, f"`{name}`", [items], hint)
        for part in parts:
            value = truth(c, node, part) if is_truth else part
            found = elementwise(c, node, ufunc, [found, value], f"`{name}`")
        return found

    return rule


FUNCTIONS: dict[Any, Rule] = {
    np.shape: shape_of,
    np.ndim: _rank,
    np.size: _size,
    np.broadcast_shapes: _common_shape,
    np.result_type: _common_dtype,
    np.promote_types: _common_dtype,
    np.iscomplexobj: _kind_is(lambda kind: kind.kind == "c"),
    np.isrealobj: _kind_is(lambda kind: kind.kind != "c"),
    np.finfo: _limits(np.finfo),
    np.iinfo: _limits(np.iinfo),
    np.dtype: _dtype,
    builtins.isinstance: _is_instance,
    builtins.slice: _sliced,
    builtins.divmod: _quotient,
    builtins.sum: _of_items("sum", np.add, 0),
    builtins.any: _of_items("any", np.logical_or, False),
    builtins.all: _of_items("all", np.logical_and, True),
    math.prod: _of_items("prod", np.multiply, 1),
    np.isscalar: _is_number,
    item: item,
}
