"""Verifier rules of memref allocations, copies, transfers and views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucodegen import errors
from gpucodegen.dialects import memref as view
from gpucodegen.dialects.framework.constraints import (
    agree,
    compatible_shapes,
    listed,
    require,
    types_differ,
)
from gpucodegen.dialects.framework.definition import Check
from gpucodegen.dialects.memref import Mixed, Slice
from gpucodegen.dialects.memref.layouts import (
    Extent,
    Strided,
    is_row_major,
    plus,
    strided_form,
    symbols_of,
    times,
)
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, MemRefType, Shape, Type, UnrankedMemRefType

AnyMemRef = MemRefType | UnrankedMemRefType


def check_same_storage(o: Operation, source: Type, result: Type) -> None:
    """A view has the element type and the memory space of its source."""
    if not isinstance(source, AnyMemRef) or not isinstance(result, AnyMemRef):
        return
    require(
        source.element == result.element,
        o,
        f"turns elements {source.element} into {result.element}",
        "Keep the element type",
    )
    check_same_space(o, source, result)


def check_same_space(o: Operation, source: AnyMemRef, result: AnyMemRef) -> None:
    """A view stays in the memory space of its source."""
    require(
        source.memory_space == result.memory_space,
        o,
        f"{result} is not in the memory space of {source}",
        "Keep the memory space, or use memref.memory_space_cast",
    )


def static(entries: Sequence[Mixed]) -> Shape:
    """The static entries as numbers, None for dynamic ones."""
    return tuple(e if isinstance(e, int) else None for e in entries)


# -- slices ----------------------------------------------------------------------------


def check_slice(o: Operation, part: Slice, shape: Shape, ty: Type) -> None:
    """One offset, size and stride per source dimension; the slice lies inside."""
    for entries in (part.offsets, part.sizes, part.strides):
        if len(entries) != len(shape):
            raise errors.WrongRank(
                o.location, type=ty, rank=len(shape), actual=len(entries)
            )
    offsets, sizes, strides = map(static, (part.offsets, part.sizes, part.strides))
    for what, numbers in (("offset", offsets), ("size", sizes)):
        lowest = min((n for n in numbers if n is not None), default=0)
        require(
            lowest >= 0, o, f"{what} {lowest} is negative", "Use numbers from 0 upwards"
        )
    for d, extent in enumerate(shape):
        _check_inside(o, d, extent, (offsets[d], sizes[d], strides[d]))


def _check_inside(
    o: Operation, d: int, extent: Extent, part: tuple[Extent, Extent, Extent]
) -> None:
    """``offset + (size - 1) * stride < extent``, as far as it is known.

    A slice that may be without elements may begin at the end: a call may have such
    extents.
    """
    offset, size, stride = part
    if extent is None or (not size and offset in (None, extent)):
        return
    last = plus(offset, times(plus(size, -1), stride)) if size else offset
    for position in (offset, last):
        if position is not None and position >= extent:
            raise errors.OutOfRange.at(
                o, what=f"in dimension {d}, position", value=position, limit=extent
            )


def check_subview(o: Operation) -> None:
    """The result has the sizes and the layout that the slice implies."""
    part = Slice(o)
    source, result = part.source.type, o.results[0].type
    if not isinstance(source, MemRefType) or not isinstance(result, MemRefType):
        return
    check_slice(o, part, source.shape, source)
    check_same_storage(o, source, result)
    form = strided_form(source)
    if form is None:
        raise errors.InvalidOperandType.at(
            o, what="the source", expected="a memref of strided layout", actual=source
        )
    starts, sliced = static(part.offsets), sliced_form(form, part)
    if actual := strided_form(result):
        is_open = actual.offset is None and None in form.strides and 0 in starts
        sliced = replace(sliced, offset=None) if is_open else sliced
    _check_view(o, static(part.sizes), sliced, result)


def sliced_form(form: Strided, part: Slice) -> Strided:
    """Offset and strides of a slice that keeps all dimensions.

    An offset of 0 adds nothing whatever the stride is, even an unknown one.
    """
    offset = form.offset
    for start, stride in zip(static(part.offsets), form.strides, strict=True):
        offset = plus(offset, times(start, stride) if start != 0 else 0)
    steps = map(times, form.strides, static(part.strides))
    return Strided(offset, tuple(steps))


def _check_view(o: Operation, sizes: Shape, form: Strided, result: MemRefType) -> None:
    expected = (
        f"a memref of sizes {listed(sizes)}, perhaps without dimensions of size 1"
    )
    require(
        reduces(sizes, result.shape), o, f"gives {expected}, not {result}", "Write that"
    )
    actual = strided_form(result)
    full = list(zip(sizes, form.strides, strict=True))
    fits = actual is not None and (
        (actual.offset == form.offset and _keeps(full, result, actual))
        or _is_old(result)
    )
    strides, offset = listed(form.strides), "?" if form.offset is None else form.offset
    layout = f"strided<{strides}, offset: {offset}>"
    hint = f"Write {layout} in the type"
    require(fits, o, f"gives layout {layout}, not that of {result}", hint)


def _is_old(result: MemRefType) -> bool:
    """Whether the layout is a map; in old text it may state only part of the layout."""
    return isinstance(result.layout, AffineMapAttr)


def _keeps(
    full: Sequence[tuple[Extent, Extent]], result: MemRefType, form: Strided
) -> bool:
    kept = list(zip(result.shape, form.strides, strict=True))
    return _selects(full, kept)


def reduces(full: Shape, kept: Shape) -> bool:
    """Whether ``kept`` is ``full`` without some extents of 1.

    >>> reduces((1, 4, 1), (4, 1)), reduces((2, 4), (4,))
    (True, False)
    """
    return _selects([(e, 0) for e in full], [(e, 0) for e in kept])


def _selects(
    full: Sequence[tuple[Extent, Extent]], kept: Sequence[tuple[Extent, Extent]]
) -> bool:
    reached = {0}
    for entry in full:
        steps = {n + 1 for n in reached if n < len(kept) and kept[n] == entry}
        reached = steps | reached if entry[0] == 1 else steps
    return len(kept) in reached


# -- other views -----------------------------------------------------------------------


def check_reinterpret_cast(o: Operation) -> None:
    """The result type has the offset, sizes and strides that the operation states."""
    part = Slice(o)
    result = o.results[0].type
    if not isinstance(result, MemRefType):
        return
    check_same_storage(o, part.source.type, result)
    counts = (len(part.offsets), len(part.sizes), len(part.strides))
    require(
        counts == (1, result.rank, result.rank),
        o,
        f"has {counts[0]} offset(s), {counts[1]} size(s), {counts[2]} stride(s)",
        f"Write one offset, and a size and stride per dimension of {result}",
    )
    form = strided_form(result)
    require(form, o, f"{result} is not strided", "Use a strided layout")
    if form is None:
        return
    offset = (static(part.offsets), (form.offset,))
    sizes = (static(part.sizes), result.shape)
    strides = (static(part.strides), form.strides)
    for what, (written, stated) in zip(
        ("offset", "sizes", "strides"), (offset, sizes, strides), strict=True
    ):
        require(
            len(written) == len(stated) and all(map(agree, written, stated)),
            o,
            f"{what} {listed(written)} contradict {result}",
            f"Make the type's {what} those that are written",
        )


def check_view(o: Operation) -> None:
    """A row-major byte buffer becomes a row-major buffer of elements."""
    source, result = o.operands[0].type, o.results[0].type
    if not isinstance(source, MemRefType) or not isinstance(result, MemRefType):
        return
    check_same_space(o, source, result)
    for ty in (source, result):
        is_plain = is_row_major(ty) or (ty is result and _is_old(ty))
        require(is_plain, o, f"{ty} is not row-major", "Remove the layout")
    dynamic = result.shape.count(None)
    if len(o.operands) - 2 != dynamic:
        raise errors.WrongOperandCount.at(
            o, expected=f"{dynamic} sizes (one per '?')", actual=len(o.operands) - 2
        )


def check_transpose(o: Operation) -> None:
    """The map permutes the dimensions, and the result's layout follows."""
    source, result = o.operands[0].type, o.results[0].type
    permutation = o.attributes.get("permutation")
    if not isinstance(source, MemRefType) or not isinstance(result, MemRefType):
        return
    if not isinstance(permutation, AffineMapAttr):
        return
    order = [r.position for r in permutation.map.results if isinstance(r, Dim)]
    is_permutation = sorted(order) == list(range(source.rank))
    require(
        is_permutation and len(order) == len(permutation.map.results),
        o,
        f"{permutation.map} is no permutation of {source.rank} dimensions",
        "Name every dimension once",
    )
    check_same_storage(o, source, result)
    form, actual = strided_form(source), strided_form(result)
    require(form and actual, o, "needs strided layouts", "Use strided layouts")
    if form is None or actual is None:
        return
    shape = tuple(source.shape[d] for d in order)
    strides = tuple(form.strides[d] for d in order)
    fits = result.shape == shape and (
        actual == Strided(form.offset, strides) or _is_old(result)
    )
    require(
        fits,
        o,
        f"gives sizes {listed(shape)} and strides {listed(strides)}, not {result}",
        "Write that type",
    )


def compatible_layouts(first: MemRefType, second: MemRefType) -> bool:
    """Whether ``memref.cast`` may convert one layout to the other."""
    if first.layout == second.layout:
        return True
    a, b = strided_form(first), strided_form(second)
    if a is None or b is None:
        return False
    pairs = zip(first.shape, a.strides, b.strides, strict=True)
    return agree(a.offset, b.offset) and all(
        extent == 1 or agree(mine, other) for extent, mine, other in pairs
    )


def indices_after(position: int) -> Check:
    """A check that one index per dimension follows the memref at ``position``."""

    def check(o: Operation) -> None:
        check_indices(o, o.operands[position], len(o.operands) - position - 1)

    return check


def check_indices(o: Operation, memref: Value, count: int) -> None:
    ty = memref.type
    if isinstance(ty, MemRefType) and ty.rank != count:
        raise errors.WrongRank(o.location, type=ty, rank=ty.rank, actual=count)


def check_alloc(o: Operation) -> None:
    """One size per ``?``, one symbol operand per symbol of the layout."""
    alloc = view.Alloc(o)
    ty = alloc.type
    if not isinstance(ty, MemRefType):
        return
    dynamic, symbols = ty.shape.count(None), symbols_of(ty)
    _check_count(o, f"{dynamic} sizes (one per '?')", dynamic, alloc.dynamic_sizes)
    _check_count(o, f"{symbols} layout symbols", symbols, alloc.symbols)


def _check_count(
    o: Operation, expected: str, count: int, values: Sequence[Value]
) -> None:
    if len(values) != count:
        raise errors.WrongOperandCount.at(o, expected=expected, actual=len(values))


def check_realloc(o: Operation) -> None:
    """Row-major buffers of one element type and memory space."""
    source, result = o.operands[0].type, o.results[0].type
    check_same_storage(o, source, result)
    if not isinstance(result, MemRefType):
        return
    for ty in (source, result):
        is_plain = isinstance(ty, MemRefType) and is_row_major(ty)
        require(is_plain, o, f"{ty} is not row-major", "Remove the layout")
    dynamic = result.shape.count(None)
    _check_count(o, f"{dynamic} size(s) for {result}", dynamic, o.operands[1:])


# -- casts and copies ------------------------------------------------------------------


def check_cast(o: Operation) -> None:
    """Element types and memory spaces agree, and all extents that both types state."""
    source, target = o.operands[0].type, o.results[0].type
    if not _castable(source, target):
        raise errors.InvalidCast.at(
            o,
            source=source,
            target=target,
            hint="Keep the element type, the rank, the static extents, the strides"
            " and the memory space",
        )


def _castable(source: Type, target: Type) -> bool:
    if not isinstance(source, AnyMemRef) or not isinstance(target, AnyMemRef):
        return False
    if source.memory_space != target.memory_space or not _same_array(source, target):
        return False
    if isinstance(source, MemRefType) and isinstance(target, MemRefType):
        return compatible_layouts(source, target)
    return True


def _same_array(source: AnyMemRef, target: AnyMemRef) -> bool:
    if source.element != target.element:
        return False
    if isinstance(source, MemRefType) and isinstance(target, MemRefType):
        return compatible_shapes(source.shape, target.shape)
    return True


def check_space_cast(o: Operation) -> None:
    """Only the memory space changes."""
    source, target = o.operands[0].type, o.results[0].type
    if not isinstance(source, AnyMemRef) or not isinstance(target, AnyMemRef):
        return
    if replace(source, memory_space=target.memory_space) != target:
        raise errors.InvalidCast.at(
            o, source=source, target=target, hint="Change nothing but the memory space"
        )


def check_copy(o: Operation) -> None:
    """Both buffers hold the same elements in compatible shapes."""
    source, target = (v.type for v in (*o.operands, *o.results))
    if not isinstance(source, AnyMemRef) or not isinstance(target, AnyMemRef):
        return
    if not _same_array(source, target):
        raise errors.InvalidCast.at(
            o,
            source=source,
            target=target,
            hint="Copy between buffers of one element type and shape",
        )


# -- asynchronous copies ---------------------------------------------------------------


def check_dma_start(o: Operation) -> None:
    """Source, destination and tag are memrefs with one index per dimension."""
    values = list(o.operands)
    position = 0
    for what in ("the source", "the destination", "the tag"):
        ty = values[position].type if position < len(values) else INDEX
        if not isinstance(ty, MemRefType):
            raise errors.InvalidOperandType.at(
                o, what=what, expected="a memref", actual=ty
            )
        position += 1 + ty.rank + (what == "the destination")
    rest = len(values) - position
    if rest not in (0, 2):
        raise errors.WrongOperandCount.at(
            o,
            expected="indices for each memref and a stride pair or none as",
            actual=len(values),
        )
    _check_dma_elements(o)


def _check_dma_elements(o: Operation) -> None:
    dma = view.DmaStart(o)
    source, target = (end[0].type for end in (dma.source, dma.target))
    if not (isinstance(source, MemRefType) and isinstance(target, MemRefType)):
        return
    if source.element != target.element:
        raise types_differ(o, "the source", source, "the destination", target)
