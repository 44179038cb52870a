"""Casts and reshapes of tensors: views where the layout allows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucodegen import errors
from gpucodegen.dialects.memref import Mixed
from gpucodegen.dialects.memref.layouts import (
    Extent,
    Strided,
    is_row_major,
    strided_form,
    times,
    with_strides,
)
from gpucodegen.dialects.memref.reshapes import groups_of
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    INDEX,
    MemRefType,
    Shape,
    UnrankedMemRefType,
    UnrankedTensorType,
    element_type,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.memory.flat_views import with_columns
from gpucodegen.passes.prepare.tensors.analysis.places import Buffer, Step
from gpucodegen.passes.prepare.tensors.constants import buffer_type
from gpucodegen.passes.prepare.tensors.rewriter import Rewriter
from gpucodegen.passes.prepare.tensors.rules.structured import elementwise
from gpucodegen.passes.prepare.tensors.views import extent, shape_of


def cast(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.cast``: the same place under another type."""
    source = r.buffers[op.operands[0]]
    ty, made = source.value.type, op.result.type
    assert isinstance(ty, MemRefType | UnrankedMemRefType)
    if isinstance(made, UnrankedTensorType):
        kept = UnrankedMemRefType(ty.element, ty.memory_space)
        r.ranked[op.result] = op.operands[0]
    elif isinstance(ty, MemRefType):
        kept = replace(ty, shape=shape_of(made))
    else:
        kept = MemRefType(shape_of(made), ty.element, memory_space=ty.memory_space)
    (view,) = b.add("memref.cast", (source.value,), [kept], hint=op.result.name)
    follow(r, op, Buffer(view, source.storage, source.steps))


def follow(r: Rewriter, op: Operation, view: Buffer) -> None:
    """Bind the result to a view of the operand."""
    if op.operands[0] in r.conflicts.undefined:
        r.conflicts.undefined.add(op.result)
    r.bind(op.result, view)


def collapse(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.collapse_shape``: a view, or one of a copy without gaps."""
    source = r.buffers[op.operands[0]]
    ty = _collapsed(op, source.value.type)
    if ty is None:
        source = r.copied(b, op.operands[0])
        ty = _collapsed(op, source.value.type)
    assert ty is not None
    _reshaped(r, b, op, source, ty)


def expand(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.expand_shape``: a view."""
    source, shape = r.buffers[op.operands[0]], shape_of(op.result.type)
    ty = source.value.type
    assert isinstance(ty, MemRefType)
    result = replace(ty, shape=shape)
    form = strided_form(ty)
    if not is_row_major(ty) and form is not None:
        groups = groups_of(op.attributes.get("reassociation"))
        result = with_strides(ty, shape, _split(form, shape, groups))
    _reshaped(r, b, op, source, result)


def _split(form: Strided, shape: Shape, groups: Sequence[Sequence[int]]) -> Strided:
    strides: list[Extent] = []
    for group, step in zip(groups, form.strides, strict=True):
        inner: Extent = step
        own: list[Extent] = []
        for d in reversed(group):
            own.append(inner)
            inner = times(inner, shape[d])
        strides += reversed(own)
    return Strided(form.offset, tuple(strides) if groups else (1,) * len(shape))


def _collapsed(op: Operation, ty: object) -> MemRefType | None:
    """The type of a collapsed view; None where elements are not next to each other."""
    assert isinstance(ty, MemRefType)
    groups = groups_of(op.attributes.get("reassociation"))
    shape, form = shape_of(op.result.type), strided_form(ty)
    if ty.layout is None or is_row_major(ty):
        return MemRefType(shape, ty.element)
    if form is None or not groups:
        return None
    strides = [_joined(ty.shape, form.strides, group) for group in groups]
    pairs = zip(strides, groups, strict=True)
    if any(step is None and len(group) > 1 for step, group in pairs):
        return None
    return with_strides(ty, shape, Strided(form.offset, tuple(strides)))


def _joined(shape: Shape, strides: Shape, group: Sequence[int]) -> Extent:
    """The step of joined dimensions; None where they are not surely contiguous."""
    if len(group) == 1:
        return strides[group[0]]
    last = next((d for d in reversed(group) if shape[d] != 1), group[0])
    step = strides[last]
    reach: Extent = step
    for outer, inner in zip(reversed(group[:-1]), reversed(group[1:]), strict=True):
        reach = times(reach, shape[inner])
        if shape[outer] != 1 and (reach is None or reach != strides[outer]):
            return None
    return step


def _reshaped(
    r: Rewriter, b: Builder, op: Operation, source: Buffer, ty: MemRefType
) -> None:
    name = op.name.replace("tensor.", "memref.")
    operands: tuple[Value, ...] = (source.value, *op.operands[1:])
    (view,) = b.add(name, operands, [ty], op.attributes, hint=op.result.name)
    step: Step = (name, str(op.attributes.get("reassociation")), ty.shape)
    follow(r, op, Buffer(view, source.storage, (*source.steps, step)))


def reshape(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.reshape``: a view of row-major elements with extents from a tensor."""
    for value in (*op.operands, *op.results):
        if isinstance(value.type, UnrankedTensorType):
            raise errors.UnsupportedType(op.location, type=value.type, target="buffers")
    source = r.buffers[op.operands[0]]
    held = source.value.type
    assert isinstance(held, MemRefType)
    if not is_row_major(held):
        source = r.copied(b, op.operands[0])
    ty = buffer_type(op.result.type)
    assert isinstance(ty, MemRefType)
    sizes = _sizes(r, b, op, ty.shape)
    steps: list[Mixed] = [1]
    for size in reversed(sizes[1:]):
        steps.insert(0, _times(b, steps[0], size))
    (view,) = b.add("memref.reinterpret_cast", (source.value,), [ty])
    b.operations[-1] = with_columns(b.operations[-1], ([0], sizes, steps[: ty.rank]))
    step: Step = (op.name, op)
    follow(r, op, Buffer(view, source.storage, (*source.steps, step)))


def bitcast(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.bitcast``: the bits of each element under another type."""
    source, element = r.buffers[op.operands[0]], element_type(op.result.type)
    held = source.value.type
    assert isinstance(held, MemRefType)
    sizes = [extent(b, source.value, d) for d, n in enumerate(held.shape) if n is None]
    buffer = r.allocate(b, MemRefType(held.shape, element), sizes, op.result.name)

    def body(inner: Builder, given: Sequence[Value]) -> Value:
        return inner.add("arith.bitcast", given, [element])[0]

    elementwise(b, (source.value,), buffer.value, body)
    r.bind(op.result, buffer)


def _sizes(r: Rewriter, b: Builder, op: Operation, shape: Shape) -> list[Mixed]:
    """The extents of a reshaped tensor: numbers, or elements of the shape."""
    sizes: list[Mixed] = []
    given = r.memref(op.operands[1])
    for d, known in enumerate(shape):
        if known is not None:
            sizes.append(known)
            continue
        at = b.constant(d, INDEX)
        (size,) = b.add("memref.load", (given, at), [element_type(given.type)])
        is_index = size.type == INDEX
        sizes.append(
            size if is_index else b.add("arith.index_cast", (size,), [INDEX])[0]
        )
    return sizes


def _times(b: Builder, one: Mixed, other: Mixed) -> Mixed:
    if isinstance(one, int) and isinstance(other, int):
        return one * other
    return b.add("arith.muli", (b.index(one), b.index(other)), [INDEX])[0]
