"""Translates subscripts: elements, slices and new axes, read and written."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpucodegen.ir.attributes import StridedLayoutAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.prepare.flatten_elements import with_columns
from gpucodegen.python.arrays import (
    Array,
    Extents,
    Lazy,
    Part,
    View,
    assign,
    in_memory,
    lazy,
)
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.functions.arguments import array_of
from gpucodegen.python.gathers import Gathered
from gpucodegen.python.masks import Mask, Selected, nonzero, settled
from gpucodegen.python.range_checks import Limits, convert, limited
from gpucodegen.python.results import is_tuple
from gpucodegen.python.scalars import (
    Scalar,
    chosen,
    compared,
    integers,
    known,
    limits_of,
)
from gpucodegen.python.types import category
from gpucodegen.records import dataclass


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


@dataclass(frozen=True, slots=True)
class Advanced:
    """A subscript with index arrays, or with a mask over the first dimensions.

    ``indices``: after the slices of ``parts``, an index or None per dimension.
    """

    parts: tuple[Part, ...]
    indices: tuple[Scalar | Array | None, ...]
    front: bool
    mask: Mask | None = None

    is_element = False

    def gathered(self, c: Context, array: Array) -> Gathered:
        view = viewed(c, in_memory(c.b, array), self.parts)
        return Gathered(view, self.indices, self.front)


Selection = Subscript | Advanced
Evaluate = Any


def subscript(
    c: Context, evaluate: Evaluate, array: Array, node: ast.Subscript
) -> Selection:
    inner = node.slice
    entries: list[ast.expr] = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    values: list[Bound] = [_entry(c, evaluate, entry) for entry in entries]
    if len(entries) == 1 and is_tuple(values[0]) and not isinstance(inner, ast.List):
        values = list(values[0])
    values = [array_of(c, node, v) if is_tuple(v) else v for v in values]
    values = [part for value in values for part in _expanded(c, array, value, values)]
    whole = _mask(array, values, ast.unparse(inner))
    if whole is not None:
        return whole
    return _parsed(c, array, node, values)


def _entry(c: Context, evaluate: Evaluate, node: ast.expr) -> Bound:
    """An entry's value: a slice, None, ``...``, an integer, an array or a tuple."""
    if isinstance(node, ast.Slice):
        ends = (node.lower, node.upper, node.step)
        return slice(*(None if e is None else _entry(c, evaluate, e) for e in ends))
    if isinstance(node, ast.List):
        return tuple([evaluate(c, part) for part in node.elts])
    if not isinstance(node, ast.UnaryOp) or not isinstance(node.op, ast.USub):
        return evaluate(c, node)
    value = evaluate(c, node.operand)
    if isinstance(value, Scalar) and value.kind is int and value.value is not None:
        return Negated(integers(c.b, "sub", known(0), value))
    return evaluate(c, node)


def _expanded(
    c: Context, array: Array, value: Bound, values: Sequence[Bound]
) -> Sequence[Bound]:
    """The positions that a mask selects, if it does not stand alone."""
    is_mask = isinstance(value, View | Lazy) and value.dtype.kind == "b"
    if not is_mask or _mask(array, values, "") is not None:
        return (value,)
    return nonzero(c.b, value)


def _mask(array: Array, values: Sequence[Bound], text: str) -> Advanced | None:
    """A mask over the first dimensions, with whole slices behind it."""
    if not values:
        return None
    first, *others = values
    is_mask = isinstance(first, View | Lazy) and first.dtype.kind == "b"
    if not is_mask or not all(_is_whole(value) for value in others):
        return None
    if not 1 <= len(first.extents) <= len(array.extents):
        return None
    return Advanced((), (), False, Mask(lazy(first), text))


def _is_whole(value: Bound) -> bool:
    return value is ... or (isinstance(value, slice) and value == slice(None))


def _parsed(
    c: Context,
    array: Array,
    node: ast.Subscript,
    entries: list[Bound],
) -> Selection:
    rank = len(array.extents)
    named = [e for e in entries if e is not None and e is not ...]
    if len(named) > rank or sum(e is ... for e in entries) > 1:
        hint = f"Write at most {rank} indices"
        raise c.refuse(node, f"{len(named)} indices of {array}", hint)
    missing = [slice(None) for _ in range(rank - len(named))]
    place = next((n for n, e in enumerate(entries) if e is ...), len(entries))
    entries = [*entries[:place], *missing, *entries[place + 1 :]]
    has_arrays = any(isinstance(e, View | Lazy) for e in entries)
    parts: list[Part] = []
    axes: list[bool] = []
    indices: list[Scalar | Array | None] = []
    for entry in entries:
        if entry is None:
            axes.append(True)
            continue
        extent = array.extents[len(parts)]
        if isinstance(entry, slice):
            parts.append(_slice(c, entry, extent, node))
            axes.append(False)
            indices.append(None)
            continue
        if isinstance(entry, View | Lazy) and entry.dtype.kind in "iu":
            parts.append(Part(known(0), extent, 1))
            indices.append(entry)
            continue
        if not isinstance(entry, Scalar | Negated):
            hint = "Use slices, integers, and arrays of integers or bools"
            raise c.refuse(node, f"an index that is {_kind(entry)}", hint)
        if has_arrays:
            parts.append(Part(known(0), extent, 1))
            indices.append(position(c, node, entry, extent))
        else:
            parts.append(Part(position(c, node, entry, extent)))
    if not has_arrays:
        return Subscript(tuple(parts), tuple(axes))
    if True in axes:
        hint = "Add the new axis to the index array, or to the result"
        raise c.refuse(node, "a new axis beside an index array", hint)
    places = [n for n, i in enumerate(indices) if i is not None]
    front = places[-1] - places[0] >= len(places)
    return Advanced(tuple(parts), tuple(indices), front)


def _kind(value: Bound) -> str:
    from gpucodegen.python.context import described

    return described(value)


@dataclass(frozen=True, slots=True)
class Negated:
    """An index written with a minus, which counts from the end if it is negative."""

    number: Scalar


def position(
    c: Context, node: ast.AST, value: Scalar | Negated, extent: Scalar
) -> Scalar:
    """An index; one that is known or written as negative counts from the end."""
    if isinstance(value, Negated):
        behind, number = integers(c.b, "add", extent, value.number), value.number
        if limits_of(number)[1] < 0:
            return behind
        is_negative = compared(c.b, "slt", number.ssa(c.b), known(0).ssa(c.b))
        made = chosen(c.b, is_negative, behind.ssa(c.b), number.ssa(c.b))
        return Scalar(int, made)
    if category(value.kind) not in "iu":
        hint = "Convert it with int(), or use // instead of /"
        raise c.wrong(node, "an index", [value], hint)
    index = convert(c.b, value, int)
    if index.value is None and index.constant < 0:
        return integers(c.b, "add", extent, index)
    return index


_INSIDE = Limits(
    0,
    2**63 - 1,
    "a slice that ends outside of its array or before it starts; limit its ends",
)
_FORWARD = Limits(
    1,
    2**63 - 1,
    "a slice whose step is not positive; write a negative step as a number",
)


def _is_known(end: Bound) -> bool:
    """Whether an end of a slice is a constant integer, or open."""
    is_constant = isinstance(end, Scalar) and end.value is None
    return is_constant and (end.constant is None or category(end.kind) in "iu")


def _slice(c: Context, given: Any, extent: Scalar, place: ast.AST) -> Part:
    """A part between two ends: cut as by Python if all is known, else checked."""
    ends = [known(None) if e is None else e for e in (given.start, given.stop)]
    ends.append(known(1) if given.step is None else given.step)
    numbers = [e.constant for e in (*ends, extent) if _is_known(e)]
    if len(numbers) == 4 and numbers[2] != 0:
        start, stop, by = slice(*numbers[:3]).indices(numbers[3])
        count = len(range(start, stop, by))
        return Part(known(start if count else 0), known(count), by)
    step = known(1) if given.step is None else given.step
    step = step.number if isinstance(step, Negated) else _number(c, place, step)
    step = position(c, place, step, known(0))
    if step.value is None and not step.constant:
        raise c.refuse(place, "a slice whose step is 0", "Use a number other than 0")
    if step.value is not None:
        limited(c.b, step, _FORWARD)
    start, stop = (
        None if e is None else position(c, place, _number(c, place, e), extent)
        for e in (given.start, given.stop)
    )
    by, b = step.mixed(), c.b
    if isinstance(by, Value) or by > 0:
        inside = start, stop and integers(b, "sub", extent, stop)
        start = start or known(0)
        size = integers(b, "sub", stop or extent, start)
    else:
        last = integers(b, "sub", extent, known(1))
        inside = start and integers(b, "sub", last, start), stop or start
        start = start or last
        size = integers(b, "sub", start, stop or known(-1))
    for distance in inside:
        if distance is not None:
            limited(b, distance, _INSIDE)
    if size.value is None:
        size = known(max(0, size.constant))
    limited(b, size, _INSIDE)
    if by not in (1, -1):
        width = step if isinstance(by, Value) else known(abs(by))
        more = integers(b, "sub", integers(b, "add", size, width), known(1))
        size = integers(b, "floordiv", more, width)
    return Part(start, size, by)


def _number(c: Context, node: ast.AST, value: Bound) -> Scalar | Negated:
    if isinstance(value, Scalar | Negated):
        return value
    raise c.wrong(node, "a slice", [value], "Give its ends as integers")


def read(c: Context, array: Array, where: Selection) -> Bound:
    """The element, view or expression that a subscript selects."""
    if isinstance(where, Advanced):
        if where.mask is not None:
            return Selected(where.mask, lazy(array))
        return where.gathered(c, array).read(c.b)
    if where.is_element:
        return element(c, array, [part.offset for part in where.parts])
    return with_axes(part_of(c, array, where.parts), where.axes)


def part_of(c: Context, array: Array, parts: Sequence[Part]) -> Array:
    """The selected part of an array, as a view where the array is one."""
    read = array.plain if isinstance(array, Lazy) else None
    if read is None or read.view is None:
        return viewed(c, in_memory(c.b, array), parts)
    whole = lazy(array)
    own = [
        Part(known(0), extent, 1) if d is None else parts[d]
        for d, extent in zip(read.follows, read.view.extents, strict=True)
    ]
    view = viewed(c, read.view, own)
    loops = [d for d, part in enumerate(parts) if part.step is not None]
    left = [d for d, part in zip(read.follows, own, strict=True) if part.step]
    follows = tuple(None if d is None else loops.index(d) for d in left)
    if follows == tuple(range(len(loops))):
        return view
    extents = tuple(parts[d].size for d in loops)
    return replace(
        whole, extents=extents, reads=(replace(read, view=view, follows=follows),)
    )


def item(c: Context, array: Array, index: Scalar) -> Bound:
    """``array[index]`` along the first dimension."""
    rest = [Part(known(0), extent, 1) for extent in array.extents[1:]]
    parts = (Part(index), *rest)
    return read(c, array, Subscript(parts, (False,) * len(rest)))


def element(c: Context, array: Array, indices: Sequence[Scalar]) -> Scalar:
    """``memref.load``."""
    if isinstance(array, Lazy) and array.plain is None:
        array = in_memory(c.b, array)
    view, own = _place(array, indices)
    return view.element(c.b, own)


def store(
    c: Context,
    node: ast.AST,
    array: Array,
    where: Selection,
    value: Scalar | Array | Selected,
) -> None:
    """``array[where] = value``; the array is a view, or a transpose of one."""
    kind = value.kind if isinstance(value, Scalar) else value.dtype
    if category(kind) == "c" and array.dtype.kind != "c":
        hint = "Assign its .real, or abs() of it"
        raise c.wrong(node, "an array of real numbers", [value], hint)
    if isinstance(where, Advanced):
        if not isinstance(array, View):
            hint = "Assign to the array itself, with its own order of indices"
            raise c.wrong(node, "an assignment to elements", [array], hint)
        with c.operands(node, "an assignment to elements", [array, value]):
            if where.mask is not None:
                Selected(where.mask, lazy(array)).store(c.b, array, value)
            else:
                where.gathered(c, array).store(c.b, settled(c.b, value))
        return
    value = value.compacted(c.b) if isinstance(value, Selected) else value
    if not where.is_element:
        target = part_of(c, array, where.parts)
        if not isinstance(value, Scalar):
            value = _without_first(c, value, len(target.extents))
        with c.operands(node, "an assignment to a slice", [target, value]):
            assign(c.b, value, target)
        return
    if not isinstance(value, Scalar):
        hint = "Assign a number, or an array to a slice"
        raise c.wrong(node, "an element", [value], hint)
    view, indices = _place(array, [part.offset for part in where.parts])
    view.put(c.b, indices, value)


def _without_first(c: Context, array: Array, rank: int) -> Array:
    """An array of ``rank`` dimensions, if those in front of them have extent 1."""
    more = array.extents[: max(0, len(array.extents) - rank)]
    if not more or any(e.value is not None or e.constant != 1 for e in more):
        return array
    rest = [Part(known(0), extent, 1) for extent in array.extents[len(more) :]]
    return part_of(c, array, [*(Part(known(0)) for _ in more), *rest])


def _place(array: Array, indices: Sequence[Scalar]) -> tuple[View, Sequence[Scalar]]:
    """The view and the indices of an element of a view or of a transpose of one."""
    if isinstance(array, View):
        return array, indices
    assert array.plain is not None
    assert array.plain.view is not None
    own = [known(0) if d is None else indices[d] for d in array.plain.follows]
    return array.plain.view, own


def with_axes(array: Array, axes: Sequence[bool]) -> Array:
    """A view with new axes, of extent 1."""
    if True not in axes:
        return array
    whole = lazy(array)
    kept = [n for n, is_new in enumerate(axes) if not is_new]
    own = iter(whole.extents)
    extents = tuple(known(1) if is_new else next(own) for is_new in axes)
    (first,) = whole.reads
    follows = tuple(None if d is None else kept[d] for d in first.follows)
    return Lazy(whole.kind, extents, (replace(first, follows=follows),), whole.body)


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
    memory = c.b.value("memref.subview", [view.memory], ty, hint=view.memory.name)
    c.b.operations[-1] = with_columns(c.b.operations[-1], columns)
    gapless = view.is_contiguous and _without_gaps(view, parts)
    cut = (view.memory, tuple(parts))
    return replace(view, memory=memory, extents=extents, gapless=gapless, cut=cut)


def _without_gaps(view: View, parts: Sequence[Part]) -> bool:
    """Whether single positions, then one slice, then whole dimensions are selected."""
    rest = list(parts)
    while rest and (rest[0].step is None or rest[0].size.mixed() == 1):
        rest = rest[1:]
    if rest and rest[0].step != 1:
        return False
    behind = list(zip(rest, view.extents[len(parts) - len(rest) :], strict=True))[1:]
    return all(
        p.step == 1 and p.offset.mixed() == 0 and p.size.mixed() == e.mixed()
        for p, e in behind
    )


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
        stride, step = strides[n], parts[n].step or 1
        scaled.append(
            None if stride is None or isinstance(step, Value) else stride * step
        )
    layout = StridedLayoutAttr(tuple(scaled), total)
    return MemRefType(shape, view.type.element, layout)


def _static(size: Value | int) -> int | None:
    return size if isinstance(size, int) else None
