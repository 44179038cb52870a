"""Translates subscripts: elements, slices and new axes, read and written."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpucodegen.ir.attributes import StridedLayoutAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.prepare.flatten_elements import with_columns
from gpucodegen.python.arrays import (
    Array,
    Extents,
    Lazy,
    View,
    assign,
    in_memory,
    lazy,
)
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.scalars import Scalar, convert, integers, known
from gpucodegen.python.types import category

ONE = known(1)


@dataclass(frozen=True, slots=True)
class Part:
    """One dimension of a subscript; ``step`` is None for a single element."""

    offset: Scalar
    size: Scalar = ONE
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Subscript:
    """A part for each dimension of the array, and the positions of new axes."""

    parts: tuple[Part, ...]
    axes: tuple[bool, ...]
    """Per dimension of the result: whether it is a new axis."""

    @property
    def is_element(self) -> bool:
        """Whether it selects one element."""
        return not self.axes


Evaluate = Any


def subscript(
    c: Context, evaluate: Evaluate, array: Array, node: ast.Subscript
) -> Subscript:
    inner = node.slice
    entries: list[ast.expr] = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    rank = len(array.extents)
    named = [e for e in entries if not _is(e, None) and not _is(e, ...)]
    if len(named) > rank or sum(_is(e, ...) for e in entries) > 1:
        hint = f"Write at most {rank} indices"
        raise c.refuse(node, f"{len(named)} indices of {array}", hint)
    missing: list[ast.expr] = [ast.Slice() for _ in range(rank - len(named))]
    place = next((n for n, e in enumerate(entries) if _is(e, ...)), len(entries))
    entries = [*entries[:place], *missing, *entries[place + 1 :]]
    parts: list[Part] = []
    axes: list[bool] = []
    for entry in entries:
        if _is(entry, None):
            axes.append(True)
            continue
        extent = array.extents[len(parts)]
        if isinstance(entry, ast.Slice):
            parts.append(_slice(c, evaluate, entry, extent, node))
            axes.append(False)
            continue
        value = evaluate(c, entry)
        if isinstance(value, slice) or not isinstance(value, Scalar):
            hint = "Write a loop over the indices; slices and integers may stand here"
            raise c.refuse(entry, f"an index that is {_kind(value)}", hint)
        parts.append(Part(position(c, entry, value, extent)))
    return Subscript(tuple(parts), tuple(axes))


def _kind(value: Bound) -> str:
    from gpucodegen.python.context import described

    return described(value)


def _is(node: ast.expr, constant: object) -> bool:
    """Whether an entry is ``None`` (also as ``np.newaxis``) or ``...``."""
    if constant is None and isinstance(node, ast.Attribute):
        return node.attr == "newaxis"
    return isinstance(node, ast.Constant) and node.value is constant


def position(c: Context, node: ast.AST, value: Scalar, extent: Scalar) -> Scalar:
    """An index; a known negative one counts from the end."""
    if category(value.kind) not in "iu":
        hint = "Convert it with int(), or use // instead of /"
        raise c.wrong(node, "an index", [value], hint)
    index = convert(c.b, value, int)
    if index.value is None and index.constant < 0:
        return integers(c.b, "add", extent, index)
    return index


def _slice(
    c: Context, evaluate: Evaluate, node: ast.Slice, extent: Scalar, place: ast.AST
) -> Part:
    ends = [
        None if e is None else position(c, e, _number(c, e, evaluate(c, e)), extent)
        for e in (node.lower, node.upper)
    ]
    step = known(1) if node.step is None else evaluate(c, node.step)
    if not isinstance(step, Scalar) or step.value is not None or step.constant < 1:
        hint = "Use a positive step, and reverse an array in a loop"
        raise c.refuse(place, "a slice whose step is no positive number", hint)
    start = ends[0] or known(0)
    size = integers(c.b, "sub", ends[1] or extent, start)
    if size.value is None:
        size = known(max(0, size.constant))
    if step.constant != 1:
        more = integers(c.b, "add", size, known(step.constant - 1))
        size = integers(c.b, "floordiv", more, step)
    return Part(start, size, step.constant)


def _number(c: Context, node: ast.AST, value: Bound) -> Scalar:
    if isinstance(value, Scalar):
        return value
    raise c.wrong(node, "a slice", [value], "Give its ends as integers")


def read(c: Context, array: Array, where: Subscript) -> Bound:
    """The element, view or expression that a subscript selects."""
    if where.is_element:
        return element(c, array, [part.offset for part in where.parts])
    view = viewed(c, in_memory(c.b, array), where.parts)
    return _with_axes(view, where.axes)


def element(c: Context, array: Array, indices: Sequence[Scalar]) -> Scalar:
    """``memref.load``."""
    whole = lazy(array)
    plain = whole.plain
    if plain is None:
        view = in_memory(c.b, array)
    else:
        assert plain.view is not None
        view = plain.view
        indices = [known(0) if d is None else indices[d] for d in plain.follows]
    return view.element(c.b, indices)


def store(
    c: Context, node: ast.AST, array: View, where: Subscript, value: Scalar | Array
) -> None:
    """``array[where] = value``."""
    if not where.is_element:
        target = viewed(c, array, where.parts)
        with c.operands(node, "an assignment to a slice", [target, value]):
            assign(c.b, value, target)
        return
    if not isinstance(value, Scalar):
        hint = "Assign a number, or an array to a slice"
        raise c.wrong(node, "an element", [value], hint)
    array.put(c.b, [part.offset for part in where.parts], value)


def _with_axes(view: View, axes: Sequence[bool]) -> Array:
    if True not in axes:
        return view
    whole = lazy(view)
    kept = [n for n, is_new in enumerate(axes) if not is_new]
    own = iter(view.extents)
    extents = tuple(known(1) if is_new else next(own) for is_new in axes)
    (first,) = whole.reads
    read_ = replace(first, follows=tuple(kept))
    return Lazy(whole.kind, extents, (read_,), whole.body)


def viewed(c: Context, view: View, parts: Sequence[Part]) -> View:
    """``memref.subview``; the array itself if nothing is cut."""
    if all(
        p.step == 1 and p.offset.mixed() == 0 and p.size.mixed() == e.mixed()
        for p, e in zip(parts, view.extents, strict=True)
    ):
        return view
    kept = [n for n, part in enumerate(parts) if part.step is not None]
    columns = (
        [part.offset.mixed() for part in parts],
        [part.size.mixed() for part in parts],
        [part.step or 1 for part in parts],
    )
    extents: Extents = tuple(parts[n].size for n in kept)
    ty = _part_type(view, parts, kept)
    (memory,) = c.b.add("memref.subview", [view.memory], [ty], hint=view.memory.name)
    c.b.operations[-1] = with_columns(c.b.operations[-1], columns)
    return View(memory, view.dtype, extents, view.roots, view.apart)


def strides_of(ty: MemRefType) -> tuple[tuple[int | None, ...], int | None]:
    """Strides and offset of a memref; None for dynamic ones.

    >>> from gpucodegen.ir.types import F32
    >>> strides_of(MemRefType((None, 2, 3), F32))
    ((6, 3, 1), 0)
    """
    if isinstance(ty.layout, StridedLayoutAttr):
        return ty.layout.strides, ty.layout.offset
    strides: list[int | None] = []
    size: int | None = 1
    for extent in reversed(ty.shape):
        strides.insert(0, size)
        size = None if size is None or extent is None else size * extent
    return tuple(strides), 0


def _part_type(view: View, parts: Sequence[Part], kept: Sequence[int]) -> MemRefType:
    strides, offset = strides_of(view.type)
    total: int | None = offset
    for part, stride in zip(parts, strides, strict=True):
        start = part.offset.mixed()
        if start == 0:
            continue
        if isinstance(start, int) and stride is not None and total is not None:
            total += start * stride
        else:
            total = None
    shape = tuple(_static(parts[n].size.mixed()) for n in kept)
    scaled: list[int | None] = []
    for n in kept:
        stride = strides[n]
        scaled.append(None if stride is None else stride * (parts[n].step or 1))
    layout = StridedLayoutAttr(tuple(scaled), total)
    return MemRefType(shape, view.type.element, layout)


def _static(size: Value | int) -> int | None:
    return size if isinstance(size, int) else None
