"""Bufferization of slices, casts, reshapes, pads, concatenations, gathers and scatters.

Slices, casts and reshapes are views where the layout allows it.  Gather and scatter use
slices at positions that are elements of another tensor:

    result[outer, slice] = source[positions[outer], slice]

A slice has all dimensions of its source, of extent 1 where a position is given, or only
the other dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpucodegen import errors
from gpucodegen.dialects.memref import DYNAMIC_MARK, Mixed
from gpucodegen.dialects.memref.layouts import (
    Extent,
    Strided,
    is_row_major,
    strided_form,
    times,
    with_strides,
)
from gpucodegen.dialects.memref.reshapes import expanded, groups_of
from gpucodegen.ir.operation import Operation, Value, operand_segments
from gpucodegen.ir.types import (
    INDEX,
    IndexType,
    MemRefType,
    Shape,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
    element_type,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.flatten_elements import with_columns
from gpucodegen.passes.prepare.tensors.conflicts import Write
from gpucodegen.passes.prepare.tensors.forall_to_loops import loops
from gpucodegen.passes.prepare.tensors.placement import (
    Buffer,
    Part,
    Step,
    buffer_type,
    dimensions,
    extent,
    part_of,
    shape_of,
)
from gpucodegen.passes.prepare.tensors.rewriter import Rewriter
from gpucodegen.passes.prepare.tensors.structured_rules import (
    elementwise,
    filled,
    generated,
    made,
    positions,
    transferred,
)


def extract_slice(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.extract_slice``: a view."""
    source, part = r.buffers[op.operands[0]], r.conflicts.part(op)
    view = part_of(b, source, part, shape_of(op.result.type))
    if op.operands[0] in r.conflicts.undefined:
        r.conflicts.undefined.add(op.result)
    r.bind(op.result, view)


def insert_slice(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.insert_slice``: a copy, unless the part was made where it belongs."""
    source, part = op.operands[0], r.conflicts.part(op)
    held = _apart_from(r, b, op, part)
    into = r.writable(b, Write(op, 1, part, settled=frozenset({0})))
    put(b, held or r.buffers[source], into, part)
    r.bind(op.result, into)


def _apart_from(r: Rewriter, b: Builder, op: Operation, part: Part) -> Buffer | None:
    """A copy of the inserted tensor, where it overlaps its destination."""
    source, target = (r.buffers[v] for v in op.operands[:2])
    is_there = source.is_at(target, part) or source.misses(target, its=part)
    return None if is_there else r.copied(b, op.operands[0])


def put(b: Builder, source: Buffer, into: Buffer, part: Part) -> None:
    if source.is_at(into, part):
        return
    view = part_of(b, into, part, shape_of(source.value.type))
    b.add("memref.copy", (source.value, view.value))


def insert(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.insert``: a store into the updated tensor."""
    scalar, _, *indices = op.operands
    into = r.writable(b, Write(op, 1))
    b.add("memref.store", (scalar, into.value, *indices))
    r.bind(op.result, into)


def transfer_write(r: Rewriter, b: Builder, op: Operation) -> None:
    """``vector.transfer_write`` into a tensor."""
    start = len(b.operations)
    into = r.writable(b, Write(op, 1))
    _before_vectors(b, start)
    operands: tuple[Value, ...] = (op.operands[0], into.value, *op.operands[2:])
    b.operations.append(replace(op, operands=operands, results=()))
    r.bind(op.result, into)


def _before_vectors(b: Builder, start: int) -> None:
    """Move operations built from ``start`` on before the first vector here.

    Vectors live in kernels, and copies of whole buffers do not.  The contents of a
    tensor are available from the beginning, as nothing has overwritten them.
    """
    before, built = b.operations[:start], b.operations[start:]
    first = next((n for n, op in enumerate(before) if _has_vectors(op)), start)
    later = {v for op in before[first:] for v in op.results}
    if not any(v in later for op in built for v in op.operands):
        b.operations[:] = [*before[:first], *built, *before[first:]]


def _has_vectors(op: Operation) -> bool:
    return any(isinstance(v.type, VectorType) for v in op.results)


def reading(r: Rewriter, b: Builder, op: Operation) -> None:
    """An operation that reads tensors and defines none."""
    b.operations.append(op.with_(operands=tuple(map(r.memref, op.operands))))


def gather(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.gather``: every element of the result is loaded."""
    source, places = map(r.memref, op.operands)
    buffer = _result(r, b, op, source, places)
    dims, rank = op.numbers("gather_dims"), len(shape_of(source.type))

    def body(inner: Builder, _: Sequence[Value]) -> Value:
        ivs = positions(inner, len(shape_of(buffer.type)))
        indices = _indices(inner, places, dims, rank, ivs)
        return inner.value("memref.load", (source, *indices), element_type(source.type))

    elementwise(b, (), buffer, body)


def _result(
    r: Rewriter, b: Builder, op: Operation, source: Value, places: Value
) -> Value:
    """Memory for the result; its dynamic extents are those of the operands."""
    shape = shape_of(op.result.type)
    outer = dimensions(b, places)[:-1]
    dims = op.numbers("gather_dims")
    whole = dimensions(b, source)
    inner = [1 if d in dims else n for d, n in enumerate(whole)]
    if len(outer) + len(inner) != len(shape):
        inner = [n for d, n in enumerate(whole) if d not in dims]
    sizes = [*outer, *inner]
    given = tuple(
        b.index(size) for size, n in zip(sizes, shape, strict=True) if n is None
    )
    return made(r, b, op.with_(operands=given)).value


def scatter(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.scatter``: every element of the slices is stored."""
    into = r.writable(b, Write(op, 1))
    source, places = r.memref(op.operands[0]), r.memref(op.operands[2])
    dims, rank = op.numbers("scatter_dims"), len(shape_of(into.value.type))

    def body(inner: Builder, ivs: Sequence[Value]) -> None:
        indices = _indices(inner, places, dims, rank, ivs)
        element = element_type(source.type)
        value = inner.value("memref.load", (source, *ivs), element)
        inner.add("memref.store", (value, into.value, *indices))

    loops(b, dimensions(b, source), body)
    r.bind(op.result, into)


def _indices(
    b: Builder, places: Value, dims: Sequence[int], rank: int, ivs: Sequence[Value]
) -> list[Value]:
    """The indices of a slice's element in the whole."""
    outer = len(shape_of(places.type)) - 1
    inner = list(ivs[outer:])
    is_full = len(inner) == rank
    load = _loader(b, places, ivs[:outer])
    indices: list[Value] = []
    for d in range(rank):
        if d in dims:
            indices.append(load(list(dims).index(d)))
            inner = inner[1:] if is_full else inner
        else:
            indices.append(inner[0])
            inner = inner[1:]
    return indices


def _loader(b: Builder, places: Value, at: Sequence[Value]) -> Callable[[int], Value]:
    element = element_type(places.type)

    def load(number: int) -> Value:
        which = b.constant(number, INDEX)
        value = b.value("memref.load", (places, *at, which), element)
        if isinstance(element, IndexType):
            return value
        return b.value("arith.index_cast", (value,), INDEX)

    return load


def pad(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.pad``: a buffer of padding values, and the source copied inside.

    Contractions recognise such a buffer and read the source itself.
    """
    source = r.memref(op.operands[0])
    _, low, high = operand_segments(op, 3)
    before = _entries(op, "static_low", low)
    after = _entries(op, "static_high", high)
    sizes = dimensions(b, source)
    whole = [
        added(b, added(b, size, one), other)
        for size, one, other in zip(sizes, before, after, strict=True)
    ]
    buffer = _sized(r, b, op, whole)
    border = _border(op)
    if border is None:
        generated(r, b, op, buffer.value)
    else:
        filled(b, border, buffer.value)
    _put_inside(b, source, buffer.value, before)
    r.bind(op.result, buffer)


def _put_inside(
    b: Builder, source: Value, padded: Value, before: Sequence[Mixed]
) -> None:
    """Copy a tensor between its borders, element by element."""

    def body(inner: Builder, ivs: Sequence[Value]) -> None:
        element = element_type(source.type)
        value = inner.value("memref.load", (source, *ivs), element)
        places = [
            inner.index(Index.of(iv) + low) for iv, low in zip(ivs, before, strict=True)
        ]
        inner.add("memref.store", (value, padded, *places))

    loops(b, dimensions(b, source), body)


def _border(op: Operation) -> Value | None:
    """The padding value, where it is defined outside of the body."""
    (block,) = op.regions[0].blocks
    value = block.operations[-1].operands[0]
    inside = {v for inner in block.operations for v in inner.results}
    return None if value in inside or value in block.arguments else value


def _entries(op: Operation, name: str, values: Sequence[Value]) -> list[Mixed]:
    dynamic = iter(values)
    return [next(dynamic) if e == DYNAMIC_MARK else e for e in op.numbers(name)]


def added(b: Builder, one: Mixed, other: Mixed) -> Mixed:
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    if other == 0 or one == 0:
        return one if other == 0 else other
    first, second = b.index(one), b.index(other)
    return b.value("arith.addi", (first, second), INDEX, hint="n")


def _sized(r: Rewriter, b: Builder, op: Operation, sizes: Sequence[Mixed]) -> Buffer:
    """Memory for the result of an operation, whose extents are computed."""
    ty = buffer_type(op.result.type, op.location)
    assert isinstance(ty, MemRefType)
    pairs = zip(ty.shape, sizes, strict=True)
    given = [b.index(size) for known, size in pairs if known is None]
    return r.allocate(b, ty, given, op.result.name)


def concat(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.concat``: each input is copied to its place."""
    along = op.integer("dim")
    inputs = [r.memref(value) for value in op.operands]
    shapes = [dimensions(b, value) for value in inputs]
    offsets: list[Mixed] = [0]
    for shape in shapes:
        offsets.append(added(b, offsets[-1], shape[along]))
    whole = [*shapes[0]]
    whole[along] = offsets[-1]
    buffer = _sized(r, b, op, whole)
    for value, shape, offset in zip(inputs, shapes, offsets, strict=False):
        if shape[along] == 0:
            continue  # its place may lie behind the last element
        place = [0 if d != along else offset for d in range(len(shape))]
        part = Part(tuple(place), tuple(shape), (1,) * len(shape))
        view = part_of(b, buffer, part, shape_of(value.type))
        transferred(b, value, view.value)
    r.bind(op.result, buffer)


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
    view = b.value("memref.cast", (source.value,), kept, hint=op.result.name)
    follow(r, op, Buffer(view, source.storage, source.steps))


def follow(r: Rewriter, op: Operation, view: Buffer) -> None:
    """Bind the result to a view of the operand."""
    if op.operands[0] in r.conflicts.undefined:
        r.conflicts.undefined.add(op.result)
    r.bind(op.result, view)


def collapse(r: Rewriter, b: Builder, op: Operation) -> None:
    """``tensor.collapse_shape``: a view, or a view of a contiguous copy."""
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
    if is_row_major(ty):
        result = replace(result, layout=None)
    elif form is not None:
        groups = groups_of(op.attributes.get("reassociation"))
        result = with_strides(ty, shape, expanded(form, shape, groups))
    _reshaped(r, b, op, source, result)


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
    """The stride of joined dimensions; None where they may not be contiguous."""
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
    view = b.value(name, operands, ty, op.attributes, hint=op.result.name)
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
    view = b.value("memref.reinterpret_cast", (source.value,), ty)
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
        return inner.value("arith.bitcast", given, element)

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
        size = b.value("memref.load", (given, at), element_type(given.type))
        is_index = size.type == INDEX
        sizes.append(size if is_index else b.value("arith.index_cast", (size,), INDEX))
    return sizes


def _times(b: Builder, one: Mixed, other: Mixed) -> Mixed:
    if isinstance(one, int) and isinstance(other, int):
        return one * other
    return b.value("arith.muli", (b.index(one), b.index(other)), INDEX)
