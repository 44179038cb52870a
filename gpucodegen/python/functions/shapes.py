"""NumPy's functions that change shapes: views where memory allows, else new arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpucodegen.ir.attributes import StridedLayoutAttr
from gpucodegen.ir.types import INDEX, MemRefType
from gpucodegen.passes.framework.builder import OperationList
from gpucodegen.passes.prepare.flatten_elements import with_columns
from gpucodegen.python.arrays import (
    Array,
    Extents,
    Lazy,
    Part,
    View,
    allocated,
    assign,
    composed,
    copied,
    in_memory,
    in_place,
    lazy,
    positions,
    stretched,
)
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.elementwise import apply
from gpucodegen.python.functions.arguments import (
    array_given,
    array_of,
    axes_given,
    axis_given,
    dtype_given,
    integer_given,
    shape_given,
)
from gpucodegen.python.indexing import part_of, viewed, with_axes
from gpucodegen.python.masks import required
from gpucodegen.python.results import is_tuple, leaves
from gpucodegen.python.scalars import Scalar, distance, integers, known, same
from gpucodegen.python.types import dtype_of, element

Rule = Callable[..., Bound]
Place = Callable[[OperationList, Sequence[Scalar]], Sequence[Scalar]]


def size_of(b: OperationList, extents: Extents) -> Scalar:
    found = known(1)
    for extent in extents:
        found = integers(b, "mul", found, extent)
    return found


# -- other shapes of the same elements -------------------------------------------------


def _reshaped(c: Context, node: ast.AST, array: Bound, *shape: Bound) -> Bound:
    """``reshape``: a view of an array without gaps, a copy of any other."""
    given = array_given(c, node, array)
    entries = shape[0] if len(shape) == 1 else tuple(shape)
    extents = _without_guess(c, node, given, shape_given(c, node, entries))
    long, short = _longer(extents), _longer(given.extents)
    if len(short) == len(long) and same(
        [extents[d] for d in long], [given.extents[d] for d in short]
    ):
        array = _without_units(c, given, short)
        return with_axes(array, [d not in long for d in range(len(extents))])
    if isinstance(given, Lazy) and given.plain is not None:
        given = _without_units(c, given, short)
    view = in_memory(c.b, given)
    if not view.is_contiguous:
        view = copied(c.b, view)
    return of_shape(c.b, view, extents)


def reshaped_in_place(c: Context, node: ast.AST, array: Bound, shape: Bound) -> Bound:
    """``a.shape = shape``: the view that the only name of an array gets."""
    given = array_given(c, node, array)
    named = [name for name, value in c.variables.items() if value is given]
    arguments = {a.arg for a in ast.walk(c.source.tree) if isinstance(a, ast.arg)}
    is_held = any(
        part is given
        for value in c.variables.values()
        if is_tuple(value)
        for part in leaves(value)
    )
    is_seen = is_held or len(named) != 1 or not arguments.isdisjoint(named)
    if is_seen or not isinstance(given, View) or not given.is_contiguous:
        hint = "Assign the result of .reshape to a name"
        what = "another shape of an argument, of a part or of an array of two names"
        raise c.refuse(node, what, hint)
    return _reshaped(c, node, given, shape)


def _longer(extents: Extents) -> list[int]:
    """The dimensions whose extent is not certainly 1."""
    return [d for d, extent in enumerate(extents) if extent.mixed() != 1]


def _without_units(c: Context, array: Array, kept: Sequence[int]) -> Array:
    """The array with the kept dimensions, others have an extent of 1; a view of it."""
    parts = [
        Part(known(0), extent, 1 if d in kept else None)
        for d, extent in enumerate(array.extents)
    ]
    return part_of(c, array, parts) if len(kept) < len(parts) else array


def _without_guess(c: Context, node: ast.AST, array: Array, shape: Extents) -> Extents:
    """The extents with -1 replaced; ends the call if the sizes differ."""
    guessed = [n for n, e in enumerate(shape) if e.value is None and e.constant < 0]
    if len(guessed) > 1:
        raise c.refuse(node, "a shape with several -1", "Leave one extent open")
    size = size_of(c.b, array.extents)
    others = [e for n, e in enumerate(shape) if n not in guessed]
    product = size_of(c.b, tuple(others))
    extents = shape
    if guessed:
        ratio = apply(c.b, np.floor_divide, [size, product])
        extents = tuple(ratio if n in guessed else e for n, e in enumerate(shape))
        product = integers(c.b, "mul", product, ratio)
    if size.value is None and product.value is None:
        if size.constant != product.constant:
            hint = f"The array has {size.constant} elements"
            raise c.refuse(node, f"a shape of {product.constant} elements", hint)
    elif distance(size, product) != 0:
        required(c.b, size, "eq", product, "a reshaped array keeps its size")
        units = _longer(shape)
        if len(units) == 1:
            extents = tuple(size if d in units else e for d, e in enumerate(shape))
    return extents


def of_shape(b: OperationList, view: View, extents: Extents) -> View:
    """``memref.reinterpret_cast`` of a view without gaps."""
    memory, offset = view.memory, known(0)
    if view.type.layout is not None:
        base = MemRefType((), view.type.element)
        count = len(view.extents)
        types = [base, *[INDEX] * (1 + 2 * count)]
        found = b.add("memref.extract_strided_metadata", (memory,), types)
        memory, offset = found[0], Scalar(int, found[1])
    strides: list[Scalar] = []
    step = known(1)
    for extent in reversed(extents):
        strides.insert(0, step)
        step = integers(b, "mul", step, extent)
    columns = [[offset], extents, strides]
    shape = tuple(e.constant if e.value is None else None for e in extents)
    layout = None
    if view.type.layout is not None:
        steps = tuple(s.constant if s.value is None else None for s in strides)
        layout = StridedLayoutAttr(steps, None)
    ty = MemRefType(shape, element(view.dtype), layout)
    made = b.value("memref.reinterpret_cast", [memory], ty, hint=view.memory.name)
    mixed = [[part.mixed() for part in column] for column in columns]
    b.operations[-1] = with_columns(b.operations[-1], mixed)
    return replace(view, memory=made, extents=extents, gapless=True, cut=None)


def raveled(c: Context, node: ast.AST, array: Bound) -> Bound:
    given = array_given(c, node, array)
    if isinstance(given, View) and not given.is_contiguous:
        given = copied(c.b, given)
    return _reshaped(c, node, given, known(-1))


def flattened(c: Context, node: ast.AST, array: Bound) -> Bound:
    return raveled(c, node, copied(c.b, array_given(c, node, array)))


def _squeezed(c: Context, node: ast.AST, array: Bound, axis: Bound = None) -> Bound:
    """Without extents of 1; those that only a call knows must not be 1."""
    given = array_given(c, node, array)
    extents = given.extents
    if axis is None:
        dropped = [n for n, e in enumerate(extents) if e.mixed() == 1]
        for extent in extents:
            if extent.value is not None:
                required(c.b, extent, "ne", 1, "squeeze needs axis= for this extent")
    else:
        dropped = list(axes_given(c, node, len(extents), axis))
        for n in dropped:
            if extents[n].value is not None:
                required(c.b, extents[n], "eq", 1, "squeeze of an extent of 1")
            elif extents[n].constant != 1:
                raise c.refuse(node, "squeeze of this axis", "Its extent is not 1")
    parts = [
        Part(known(0), known(1)) if n in dropped else Part(known(0), e, 1)
        for n, e in enumerate(extents)
    ]
    return part_of(c, given, parts)


def _expanded(c: Context, node: ast.AST, array: Bound, axis: Bound) -> Bound:
    given = array_given(c, node, array)
    count = len(axis) if is_tuple(axis) else 1
    rank = len(given.extents) + count
    added = axes_given(c, node, rank, axis)
    return with_axes(in_place(c.b, given), [d in added for d in range(rank)])


def _broadcast_to(c: Context, node: ast.AST, array: Bound, shape: Bound) -> Bound:
    whole = lazy(number_or_array(c, node, array))
    return stretched(whole, shape_given(c, node, shape))


def number_or_array(c: Context, node: ast.AST, value: Bound) -> Any:
    if isinstance(value, Scalar | View | Lazy):
        return value
    raise c.wrong(node, "an array function", [value], "Pass a number or an array")


# -- orders of dimensions --------------------------------------------------------------


def _transposed(
    c: Context, node: ast.AST, array: Bound, *order: Bound, axes: Bound = None
) -> Bound:
    whole = lazy(array_given(c, node, array))
    rank = len(whole.extents)
    is_one = len(order) == 1 and not isinstance(order[0], Scalar)
    given = order[0] if is_one else order or axes
    if given is None:
        return whole.permuted(range(rank)[::-1])
    places = axes_given(c, node, rank, given)
    if len(places) != rank:
        raise c.refuse(node, "these axes", f"Name all {rank} axes")
    return whole.permuted(places)


def _swapped(c: Context, node: ast.AST, array: Bound, one: Bound, two: Bound) -> Bound:
    whole = lazy(array_given(c, node, array))
    order = list(range(len(whole.extents)))
    x, y = (axis_given(c, node, len(order), axis) for axis in (one, two))
    order[x], order[y] = order[y], order[x]
    return whole.permuted(order)


def _moved(
    c: Context, node: ast.AST, array: Bound, source: Bound, destination: Bound
) -> Bound:
    whole = lazy(array_given(c, node, array))
    rank = len(whole.extents)
    old, new = (axes_given(c, node, rank, axis) for axis in (source, destination))
    order = [d for d in range(rank) if d not in old]
    for place, d in sorted(zip(new, old, strict=True)):
        order.insert(place, d)
    return whole.permuted(order)


def _flipped(c: Context, node: ast.AST, array: Bound, axis: Bound = None) -> Bound:
    given = array_given(c, node, array)
    return reversed_along(c, given, axes_given(c, node, len(given.extents), axis))


def reversed_along(c: Context, array: Array, axes: Sequence[int]) -> Array:
    parts = [
        Part(integers(c.b, "sub", e, known(1)), e, -1)
        if n in axes
        else Part(known(0), e, 1)
        for n, e in enumerate(array.extents)
    ]
    return part_of(c, array, parts)


def _flipped_along(axis: int) -> Rule:
    def rule(c: Context, node: ast.AST, array: Bound) -> Bound:
        return _flipped(c, node, array, known(axis))

    return rule


# -- new arrays of the elements --------------------------------------------------------


def rearranged(b: OperationList, source: View, extents: Extents, place: Place) -> View:
    """A new array whose element at a position is the source's at ``place`` of it."""
    at = [positions(extents, d) for d in range(len(extents))]

    def body(inner: OperationList, where: Sequence[Scalar]) -> Scalar:
        return source.element(inner, place(inner, where))

    return copied(b, composed(source.dtype, extents, at, body))


def _rolled(
    c: Context, node: ast.AST, array: Bound, shift: Bound, axis: Bound = None
) -> Bound:
    view = in_memory(c.b, array_given(c, node, array))
    if axis is None and len(view.extents) != 1:
        moved = _rolled(c, node, raveled(c, node, view), shift)
        return of_shape(c.b, in_memory(c.b, moved), view.extents)
    shifts = shift if is_tuple(shift) else (shift,)
    axes = axes_given(c, node, len(view.extents), known(0) if axis is None else axis)
    if len(shifts) != len(axes):
        raise c.refuse(node, "`roll` with these shifts", "Give one for each axis")
    by = {
        d: integer_given(c, node, s, "a shift")
        for d, s in zip(axes, shifts, strict=True)
    }

    def place(inner: OperationList, at: Sequence[Scalar]) -> list[Scalar]:
        return [
            apply(
                inner,
                np.remainder,
                [integers(inner, "sub", i, by[d]), view.extents[d]],
            )
            if d in by
            else i
            for d, i in enumerate(at)
        ]

    return rearranged(c.b, view, view.extents, place)


def _repeated(
    c: Context, node: ast.AST, array: Bound, repeats: Bound, axis: Bound = None
) -> Bound:
    view = in_memory(c.b, array_given(c, node, array))
    count = integer_given(c, node, repeats, "the number of repeats")
    if axis is None:
        view = in_memory(c.b, raveled(c, node, view))
    d = 0 if axis is None else axis_given(c, node, len(view.extents), axis)
    extents = list(view.extents)
    extents[d] = integers(c.b, "mul", extents[d], count)

    def place(inner: OperationList, at: Sequence[Scalar]) -> list[Scalar]:
        whole = [*at]
        whole[d] = integers(inner, "floordiv", at[d], count)
        return whole

    return rearranged(c.b, view, tuple(extents), place)


def _tiled(c: Context, node: ast.AST, array: Bound, reps: Bound) -> Bound:
    counts = shape_given(c, node, reps)
    view = in_memory(c.b, lazy(number_or_array(c, node, array)))
    rank = max(len(counts), len(view.extents))
    own = (known(1),) * (rank - len(view.extents)) + view.extents
    many = (known(1),) * (rank - len(counts)) + counts
    pairs = zip(own, many, strict=True)
    extents = tuple(integers(c.b, "mul", e, n) for e, n in pairs)
    skipped = rank - len(view.extents)

    def place(inner: OperationList, at: Sequence[Scalar]) -> list[Scalar]:
        pairs = zip(at[skipped:], view.extents, strict=True)
        return [apply(inner, np.remainder, [i, e]) for i, e in pairs]

    return rearranged(c.b, view, extents, place)


def joined(
    c: Context, node: ast.AST, arrays: Sequence[Any], axis: Bound, dtype: Any = None
) -> View:
    """A new array of arrays one behind the other."""
    wholes = [lazy(array_given(c, node, a)) for a in arrays]
    if not wholes:
        raise c.refuse(node, "no arrays to join", "Give at least one")
    rank = len(wholes[0].extents)
    if any(len(w.extents) != rank for w in wholes) or not rank:
        raise c.wrong(node, "joining", list(arrays), "Give arrays of one rank")
    d = axis_given(c, node, rank, axis)
    total = known(0)
    for whole in wholes:
        total = integers(c.b, "add", total, whole.extents[d])
    kind = dtype or np.result_type(*(w.dtype for w in wholes))
    first = wholes[0].extents
    made = allocated(c.b, kind, (*first[:d], total, *first[d + 1 :]))
    start = known(0)
    for whole in wholes:
        size = whole.extents[d]
        parts = [Part(known(0), e, 1) for e in made.extents]
        parts[d] = Part(start, size, 1)
        if any(
            x.mixed() == 1 and y.mixed() != 1
            for n, (x, y) in enumerate(zip(whole.extents, first, strict=True))
            if n != d
        ):
            raise c.wrong(node, "joining", list(arrays), "Give equal other extents")
        assign(c.b, whole, viewed(c, made, parts))
        start = integers(c.b, "add", start, size)
    return made


def _arrays(c: Context, node: ast.AST, arrays: Bound) -> list[Any]:
    """The arrays of a tuple; numbers become arrays of one element."""
    if not is_tuple(arrays):
        raise c.wrong(node, "joining arrays", [arrays], "Give a tuple of arrays")
    return [number_or_array(c, node, part) for part in arrays]


def _concatenated(
    c: Context, node: ast.AST, arrays: Bound, axis: Bound = None
) -> Bound:
    axis = known(0) if axis is None else axis
    return joined(c, node, _arrays(c, node, arrays), axis)


def _stacked(c: Context, node: ast.AST, arrays: Bound, axis: Bound = None) -> Bound:
    given = _arrays(c, node, arrays)
    added = known(0) if axis is None else axis
    wholes = [with_axes_at(c, node, part, added) for part in given]
    return joined(c, node, wholes, added)


def with_axes_at(c: Context, node: ast.AST, array: Any, axis: Bound) -> Array:
    if isinstance(array, Scalar):
        return stretched(lazy(array), (known(1),))
    return _expanded(c, node, array, axis)


def _converted(
    c: Context, node: ast.AST, value: Bound, dtype: Bound = None, *, copy: Bound = None
) -> Bound:
    """``np.array``: a new array of an array, or of numbers in nested lists."""
    del copy
    if isinstance(value, View | Lazy):
        kind = dtype_given(c, node, dtype, value.dtype)
        return copied(c.b, value, kind)
    if isinstance(value, Scalar):
        kind = dtype_given(c, node, dtype, dtype_of(value.kind))
        made = allocated(c.b, kind, ())
        made.put(c.b, (), value)
        return made
    if is_tuple(value) and any(isinstance(part, View | Lazy) for part in value):
        made = _stacked(c, node, value)
        return made if dtype is None else _converted(c, node, made, dtype)
    return array_of(c, node, value, dtype)


def _unchanged(c: Context, node: ast.AST, value: Bound, dtype: Bound = None) -> Bound:
    """``asarray``."""
    if isinstance(value, View | Lazy):
        kind = dtype_given(c, node, dtype, value.dtype)
        return value if kind == value.dtype else copied(c.b, value, kind)
    return _converted(c, node, value, dtype)


FUNCTIONS: dict[Any, Rule] = {
    np.reshape: _reshaped,
    reshaped_in_place: reshaped_in_place,
    np.ravel: raveled,
    flattened: flattened,
    np.squeeze: _squeezed,
    np.expand_dims: _expanded,
    np.broadcast_to: _broadcast_to,
    np.transpose: _transposed,
    np.swapaxes: _swapped,
    np.moveaxis: _moved,
    np.flip: _flipped,
    np.flipud: _flipped_along(0),
    np.fliplr: _flipped_along(1),
    np.roll: _rolled,
    np.repeat: _repeated,
    np.tile: _tiled,
    np.concatenate: _concatenated,
    np.stack: _stacked,
    np.array: _converted,
    np.asarray: _unchanged,
}
