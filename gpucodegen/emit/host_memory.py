"""Emits memory operations of the host as ``rt.*`` calls: buffers, views, transfers."""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.dialects import affine, memref
from gpucodegen.dialects.memref import FROM_BUFFER
from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.dialects.nvgpu.copies import CopyPlan
from gpucodegen.dialects.nvgpu.types import fields, swizzle_span
from gpucodegen.dialects.shared.combiners import OF_ATOMICS, atomic_kind
from gpucodegen.dialects.shared.dma import (
    STARTS,
    WAITS,
    ends_of,
    has_strided_source,
    lengths_of,
)
from gpucodegen.emit.addressing import sizes_of, strides_of
from gpucodegen.emit.context import Emitter, Handler
from gpucodegen.emit.expressions import Text, call, number
from gpucodegen.emit.host_calls import HostEmitter, shape_text, tuple_text
from gpucodegen.emit.source import literal
from gpucodegen.emit.spelling import is_index
from gpucodegen.emit.tables.memory import (
    kept_dimensions,
    memref_type,
    nothing,
    stored_dtype,
)
from gpucodegen.emit.tables.transfers import indices_of, noted
from gpucodegen.ir.affine import AffineExpr, Const
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    SymbolRefAttr,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, UnrankedMemRefType


def no_parameter(e: Emitter, op: Operation) -> Callable[[str, int], AffineExpr]:
    """Refuse extents and strides that no type or operand states."""

    def unknown(what: str, dimension: int) -> AffineExpr:
        raise e.refusal(op, f"Give the allocation a static {what} {dimension}")

    return unknown


def cast(e: Emitter, op: Operation) -> None:
    """``memref.cast``: a check of extents and strides at run time."""
    if isinstance(op.result.type, UnrankedMemRefType):
        same(e, op)
        return
    ty = memref_type(op, op.result, e)
    shape = tuple_text([Text("None") if n is None else number(n) for n in ty.shape])
    source = op.operands[0]
    texts = [e.text(source), shape]
    if getattr(source.type, "layout", ty) != ty.layout:
        texts.append(_declared_strides(ty))
    e.define(op.result, call("rt.cast", *texts))


def _declared_strides(ty: MemRefType) -> Text:
    """The strides that a type states; ``None`` stands for row-major ones."""
    form = None if ty.layout is None else strided_form(ty)
    if form is None:
        return Text("None")
    return tuple_text([Text("None") if n is None else number(n) for n in form.strides])


def same(e: Emitter, op: Operation) -> None:
    """Views with the same extents and strides."""
    assert isinstance(e, HostEmitter)
    source = e.text(op.operands[0])
    e.define(op.result, source)
    same = e.printed.same
    same[e.text(op.result).code] = same.get(source.code, source.code)


def view(e: Emitter, op: Operation) -> None:
    """``memref.subview``: offset and strides relative to the source's strides."""
    part = memref.Slice(op)
    source = e.text(part.source)
    steps = [_mixed(e, entry) for entry in part.strides]
    sizes = [_mixed(e, entry) for entry in part.sizes]
    own = _strides(e, op, part.source)
    offset: AffineExpr = Const(0)
    for start, stride in zip(part.offsets, own, strict=True):
        offset = offset + _mixed(e, start) * stride
    strides = [step * stride for step, stride in zip(steps, own, strict=True)]
    kept = kept_dimensions(sizes, memref_type(op, op.result, e))
    shape = shape_text(e, [sizes[d] for d in kept])
    text = call(
        "rt.view",
        source,
        e.affine(offset),
        shape,
        shape_text(e, [strides[d] for d in kept]),
    )
    e.define(op.result, text)


def _mixed(e: Emitter, entry: memref.Mixed) -> AffineExpr:
    return Const(entry) if isinstance(entry, int) else e.index(entry)


def _strides(e: Emitter, op: Operation, value: Value) -> tuple[AffineExpr, ...]:
    """Strides of a buffer; dynamic ones are read from the runtime's buffer."""
    ty = memref_type(op, value, e)

    def unknown(what: str, position: int) -> AffineExpr:
        name = e.names.fresh(f"{e.text(value)}_{what}{position}")
        e.writer.line(f"{name} = rt.{what}({e.text(value)}, {position})")
        return e.atoms.add(name)

    needed = ty.layout is None
    sizes = sizes_of((1, *ty.shape[1:]) if needed and ty.shape else ty.shape, unknown)
    return strides_of(ty, sizes, unknown, op.location)


def reinterpret(e: Emitter, op: Operation) -> None:
    part = memref.Slice(op)
    offset = _mixed(e, part.offsets[0])
    sizes, strides = (
        shape_text(e, [_mixed(e, entry) for entry in entries])
        for entries in (part.sizes, part.strides)
    )
    source = e.text(part.source)
    function = "rt.reinterpret" if FROM_BUFFER in op.attributes else "rt.view"
    e.define(op.result, call(function, source, e.affine(offset), sizes, strides))


def transpose(e: Emitter, op: Operation) -> None:
    (source,) = op.operands
    name = e.text(source)
    dims = [
        getattr(result, "position", 0)
        for result in affine.map_of(op, "permutation").results
    ]
    sizes = tuple_text([call("rt.dim", name, number(d)) for d in dims])
    strides = tuple_text([call("rt.stride", name, number(d)) for d in dims])
    e.define(op.result, call("rt.view", name, "0", sizes, strides))


def reshape(e: Emitter, op: Operation) -> None:
    """``memref.collapse_shape`` / ``expand_shape`` with static extents."""
    ty = memref_type(op, op.result, e)
    if None in ty.shape:
        raise e.refusal(op, "Give the reshaped memref static extents")
    sizes = sizes_of(ty.shape, no_parameter(e, op))
    strides = strides_of(ty, sizes, no_parameter(e, op), op.location)
    source = e.text(op.operands[0])
    text = call("rt.view", source, "0", shape_text(e, sizes), shape_text(e, strides))
    e.define(op.result, text)


def other_elements(e: Emitter, op: Operation) -> None:
    """``memref.view``: bytes from an offset on as elements of another type."""
    source, shift, *dynamic = op.operands
    ty = memref_type(op, op.result, e)
    given = iter(dynamic)
    sizes = [e.index(next(given)) if n is None else Const(n) for n in ty.shape]
    kind = literal(stored_dtype(ty, op, "host"))
    text = call(
        "rt.byte_view", e.text(source), e.text(shift), kind, shape_text(e, sizes)
    )
    e.define(op.result, text)


def reshaped_as(e: Emitter, op: Operation) -> None:
    """``memref.reshape``: a buffer holds the shape."""
    e.define(op.result, call("rt.reshape", *map(e.text, op.operands)))


def metadata(e: Emitter, op: Operation) -> None:
    source = e.text(op.operands[0])
    base, offset, *others = op.results
    rank = len(others) // 2
    e.define(base, call("rt.whole", source))
    e.define(offset, call("rt.offset", source))
    for dimension in range(rank):
        place = number(dimension)
        e.define(others[dimension], call("rt.dim", source, place))
        e.define(others[rank + dimension], call("rt.stride", source, place))


def address(e: Emitter, op: Operation) -> None:
    e.define(op.result, call("rt.base", e.text(op.operands[0])))


def reallocate(e: Emitter, op: Operation) -> None:
    ty = memref_type(op, op.result, e)
    source, *size = op.operands
    if ty.shape[0] is None and not size:
        raise e.refusal(op, "Give the new size")
    extent = e.index(size[0]) if size else Const(ty.shape[0] or 0)
    e.define(op.result, call("rt.realloc", e.text(source), e.affine(extent)))


VIEW_HANDLERS: dict[str, Handler] = {
    "memref.cast": cast,
    "memref.memory_space_cast": same,
    "memref.assume_alignment": same,
    "memref.subview": view,
    "memref.view": other_elements,
    "memref.reinterpret_cast": reinterpret,
    "memref.reshape": reshaped_as,
    "memref.realloc": reallocate,
    "memref.collapse_shape": reshape,
    "memref.expand_shape": reshape,
    "memref.transpose": transpose,
    "memref.extract_strided_metadata": metadata,
    "memref.extract_aligned_pointer_as_index": address,
}


def allocate(e: Emitter, op: Operation) -> None:
    assert isinstance(e, HostEmitter)
    ty = memref_type(op, op.result, e)
    kind = "tag" if op.result in e.own_tags else stored_dtype(ty, op, "host")
    dynamic = iter(memref.Alloc(op).dynamic_sizes)
    sizes = [e.index(next(dynamic)) if n is None else Const(n) for n in ty.shape]
    if ty.layout is None:
        e.define(op.result, call("rt.alloc", shape_text(e, sizes), literal(kind)))
        shape = tuple(n for n in ty.shape if n is not None)
        if len(shape) == len(sizes) and kind != "tag":
            e.printed.made[e.text(op.result).code] = shape, kind
        return
    strides = strides_of(ty, sizes, no_parameter(e, op), op.location)
    total: AffineExpr = Const(1)
    for size, stride in zip(sizes, strides, strict=True):
        total = total + (size - 1) * stride
    whole = call("rt.alloc", shape_text(e, [total]), literal(kind))
    shape, steps = shape_text(e, sizes), shape_text(e, strides)
    e.define(op.result, call("rt.view", whole, "0", shape, steps))


def deallocate(e: Emitter, op: Operation) -> None:
    assert isinstance(e, HostEmitter)
    buffer = e.text(op.operands[0])
    e.printed.freed.append(buffer.code)
    e.writer.line(str(call("rt.dealloc", buffer)))


def dimension(e: Emitter, op: Operation) -> None:
    source, position = op.operands
    index = e.index(position)
    shape = source.type.shape if isinstance(source.type, MemRefType) else ()
    if isinstance(index, Const) and 0 <= index.value < len(shape):
        extent = shape[index.value]
        if extent is not None:
            e.indices[op.result] = Const(extent)
            return
    e.define(op.result, call("rt.dim", e.text(source), e.affine(index)))


def rank(e: Emitter, op: Operation) -> None:
    """``memref.rank``: a constant, or a runtime query for unranked memrefs."""
    if not isinstance(op.operands[0].type, MemRefType):
        e.define(op.result, call("rt.rank", e.text(op.operands[0])))
        return
    e.indices[op.result] = Const(memref.rank(op.operands[0]))


def load(e: Emitter, op: Operation) -> None:
    text = call("rt.load", e.text(op.operands[0]), _indices(e, op, 1))
    function = "int" if is_index(op.result.type) else e.constructor(op, op.result)
    e.define(op.result, call(function, text))
    assert isinstance(e, HostEmitter)
    if not op.operands[1:] and function != "int":
        e.printed.loaded[e.text(op.result).code] = e.text(op.operands[0]).code


def store(e: Emitter, op: Operation) -> None:
    value, target = (e.text(v) for v in op.operands[:2])
    e.writer.line(str(call("rt.store", target, _indices(e, op, 2), value)))


def _indices(e: Emitter, op: Operation, first: int) -> Text:
    operands = op.operands[first:]
    if isinstance(op.attributes.get("map"), AffineMapAttr):
        return shape_text(e, e.applied(affine.map_of(op), operands))
    return shape_text(e, [e.index(value) for value in operands])


def copy(e: Emitter, op: Operation) -> None:
    e.writer.line(str(call("rt.copy", *(e.text(v) for v in op.operands))))


def constant(e: Emitter, op: Operation) -> None:
    name = op.attributes.get("name")
    symbol = name.path[-1] if isinstance(name, SymbolRefAttr) else ""
    assert isinstance(e, HostEmitter)
    if symbol not in e.constants:
        raise e.broken(op, "no such global")
    e.define(op.result, call("rt.constant", literal(e.constants[symbol])))


def tensor_map(e: Emitter, op: Operation) -> None:
    tensor, *box = op.operands
    given = fields(op.result.type)
    if given.get("interleave", "none") != "none" or given.get("oob", "zero") != "zero":
        raise e.refusal(op, "Write oob = zero, interleave = none")
    promotion = given.get("l2promo", "none").removeprefix("l2promo_").rstrip("b")
    fetched = number(int(promotion) if promotion.isdecimal() else 0)
    sizes = shape_text(e, [e.index(v) for v in box])
    span = number(swizzle_span(op.result.type))
    texts = e.text(tensor), sizes, span, fetched
    e.define(op.result, call("rt.tensor_map", *texts))
    assert isinstance(e, HostEmitter)
    array, box, swizzle, promoted = (text.code for text in texts)
    e.printed.maps[e.text(op.result).code] = array, box, swizzle, promoted


# -- transfers -------------------------------------------------------------------------


def dma_start(e: Emitter, op: Operation) -> None:
    """``dma_start`` between host-visible buffers."""
    ends = ends_of(op)
    source, target, tag = (
        (e.text(end.memref), shape_text(e, indices_of(e, end))) for end in ends
    )
    count, *stride = (e.text(v) for v in lengths_of(op))
    runs = stride or [Text("None"), Text("None")]
    if stride and not has_strided_source(ends[0].memref, ends[1].memref):
        runs.append(Text("strided_source=False"))
    e.writer.line(str(call("rt.dma_start", *source, *target, count, *tag, *runs)))
    reason = "outside of kernels the host copies when it waits"
    noted(e, op, CopyPlan("copy", 0, reason))


def dma_wait(e: Emitter, op: Operation) -> None:
    (end,) = ends_of(op)
    where = shape_text(e, indices_of(e, end))
    count = e.text(op.operands[-1])
    e.writer.line(str(call("rt.dma_wait", e.text(end.memref), where, count)))
    noted(e, op, CopyPlan("copy", 0, "the host copies the elements here"))


def atomic(e: Emitter, op: Operation) -> None:
    """``memref.atomic_rmw``: plain code, since the host is single-threaded."""
    value, target = (e.text(v) for v in op.operands[:2])
    where = _indices(e, op, 2)
    combiner = OF_ATOMICS.get(atomic_kind(op))
    old = e.names.fresh("old")
    e.writer.line(
        f"{old} = {call(e.constructor(op, op.result), call('rt.load', target, where))}"
    )
    combined = call(e.use(combiner.operation), old, value) if combiner else value
    e.writer.line(str(call("rt.store", target, where, combined)))
    e.define(op.result, Text(old))


MEMORY_HANDLERS: dict[str, Handler] = (
    dict.fromkeys(STARTS, dma_start)
    | dict.fromkeys(WAITS, dma_wait)
    | {
        "memref.alloc": allocate,
        "memref.alloca": allocate,
        "memref.dealloc": deallocate,
        "memref.dim": dimension,
        "memref.rank": rank,
        "memref.load": load,
        "memref.store": store,
        "affine.load": load,
        "affine.store": store,
        "memref.atomic_rmw": atomic,
        "memref.copy": copy,
        "memref.get_global": constant,
        "nvgpu.tma.create.descriptor": tensor_map,
        "memref.prefetch": nothing,
        "affine.prefetch": nothing,
    }
)
