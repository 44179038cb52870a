"""Element access, local buffers and views of memrefs inside kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucodegen.dialects import affine, memref
from gpucodegen.dialects.memory_spaces import is_shared
from gpucodegen.emit.addressing import Buffer, row_major, static_elements
from gpucodegen.emit.context import Emitter, Handler
from gpucodegen.emit.kinds import dtype, stored_bytes
from gpucodegen.emit.loops import counted
from gpucodegen.emit.text import Text, call
from gpucodegen.ir.affine import AffineExpr, Const, to_expr
from gpucodegen.ir.attributes import AffineMapAttr, IntegerAttr, StridedLayoutAttr
from gpucodegen.ir.float_formats import NARROW
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType


def buffer_of(e: Emitter, op: Operation, value: Value) -> Buffer:
    """The buffer behind a memref value."""
    found = e.buffers.get(value)
    if found is None:
        raise e.broken(op, f"memref %{value.name} is not a buffer of this kernel")
    return found


def stored_dtype(ty: MemRefType, op: Operation, target: str) -> str:
    """The dtype of a memref's elements in memory; ``index`` takes 64 bits."""
    kind = dtype(ty.element, op.location, target)
    return "i64" if kind == "index" else kind


def memref_type(op: Operation, value: Value, e: Emitter) -> MemRefType:
    """The type of a memref value."""
    if not isinstance(value.type, MemRefType):
        raise e.refusal(op, "Cast the buffer to a ranked memref")
    return value.type


SHARED_ALIGNMENT = 16
"""Bytes that divide the address of every array in shared memory."""

CONVERTED = NARROW | {"i1"}
"""Elements whose values differ from their bits in memory."""


# -- elements --------------------------------------------------------------------------


def read(e: Emitter, buffer: Buffer, indices: Sequence[AffineExpr]) -> Text:
    """The element at indices."""
    offset = e.offset(buffer.at(indices, e.swept))
    if buffer.dtype in CONVERTED:
        load = e.make(f"load_{buffer.dtype}", "load", buffer.dtype)
        return call(load, buffer.pointer, offset)
    return Text(f"{buffer.pointer}[{offset}]")


def write(
    e: Emitter, buffer: Buffer, indices: Sequence[AffineExpr], value: Text
) -> None:
    """Store an element at indices."""
    offset = e.offset(buffer.at(indices, e.swept))
    if buffer.dtype in CONVERTED:
        store = e.make(f"store_{buffer.dtype}", "store", buffer.dtype)
        e.writer.line(str(call(store, buffer.pointer, offset, value)))
    else:
        e.writer.line(f"{buffer.pointer}[{offset}] = {value}")


def access(e: Emitter, op: Operation, first: int) -> tuple[Buffer, list[AffineExpr]]:
    """The buffer at operand ``first`` and the indices behind it."""
    target, *operands = op.operands[first:]
    buffer = buffer_of(e, op, target)
    if isinstance(op.attributes.get("map"), AffineMapAttr):
        return buffer, e.applied(affine.map_of(op), operands)
    rank = len(buffer.sizes)
    return buffer, [e.index(value) for value in operands[:rank]]


def load(e: Emitter, op: Operation) -> None:
    """``affine.load`` and ``memref.load``."""
    buffer, indices = access(e, op, 0)
    text = read(e, buffer, indices)
    is_index = e.dtype(op, op.result) == "index"
    e.define(op.result, e.narrow(text) if is_index else text)


def store(e: Emitter, op: Operation) -> None:
    """``affine.store`` and ``memref.store``."""
    buffer, indices = access(e, op, 1)
    write(e, buffer, indices, e.text(op.operands[0]))


ATOMIC_KINDS = affine.ATOMIC_KINDS


def atomic(e: Emitter, op: Operation) -> None:
    """``memref.atomic_rmw``."""
    buffer, indices = access(e, op, 1)
    kind = ATOMIC_KINDS[getattr(op.attributes["kind"], "value", 0)]
    made = e.make(f"atomic_{kind}_{buffer.dtype}", "atomic", kind, buffer.dtype)
    offset = e.offset(buffer.at(indices))
    text = call(made, buffer.pointer, offset, e.text(op.operands[0]))
    if e.uses.get(op.result):
        e.define(op.result, text)
    else:
        e.writer.line(str(text))


def copy(e: Emitter, op: Operation) -> None:
    """``memref.copy`` element by element."""
    source, target = (buffer_of(e, op, value) for value in op.operands)
    _copy_from(e, source, target, [])


def _copy_from(
    e: Emitter, source: Buffer, target: Buffer, indices: list[AffineExpr]
) -> None:
    depth = len(indices)
    if depth == len(source.sizes):
        write(e, target, indices, read(e, source, indices))
        return
    name = e.names.fresh("ijkl"[depth] if depth < 4 else f"i{depth}")
    with counted(e, name, Text("0"), e.affine(source.sizes[depth]), 1):
        _copy_from(e, source, target, [*indices, e.atoms.add(name)])


# -- buffers of the kernel itself ------------------------------------------------------


def allocate(e: Emitter, op: Operation) -> None:
    """``memref.alloca`` and ``memref.alloc``: shared, private, or heap memory."""
    ty = memref_type(op, op.result, e)
    count = static_elements(ty, op.location)
    kind = "tag" if op.result in e.facts.tags else stored_dtype(ty, op, e.target.name)
    hint = f"{count}x{kind}"
    name, alignment = e.variable(op.result), 0
    if e.target.name == "cuda" and is_shared(ty.memory_space):
        made = call(e.make(f"shared_{hint}", "shared", count, kind))
        e.shared_bytes += count * stored_bytes(kind)
        e.facts.shared.add(name)
        alignment = SHARED_ALIGNMENT
    elif op.name == "memref.alloc" and e.target.name == "cpu" and kind != "tag":
        made = call(e.make(f"heap_{kind}", "heap", kind), str(count))
    else:
        made = call(e.make(f"local_{hint}", "local", count, kind))
        e.facts.private.add(name)
    e.writer.line(f"{name} = {made}")
    sizes = tuple(to_expr(extent or 0) for extent in ty.shape)
    strides = row_major(sizes)
    e.buffers[op.result] = Buffer(name, kind, sizes, strides, alignment=alignment)


def deallocate(e: Emitter, op: Operation) -> None:
    """``memref.dealloc``: only heap memory has to be given back."""
    (operand,) = op.operands
    buffer = buffer_of(e, op, operand)
    if e.target.name == "cpu" and buffer.dtype != "tag":
        free = e.make(f"heap_free_{buffer.dtype}", "heap_free", buffer.dtype)
        e.writer.line(str(call(free, buffer.pointer)))


# -- views -----------------------------------------------------------------------------


def dimension(e: Emitter, op: Operation) -> None:
    """``memref.dim`` of a known dimension."""
    target, position = op.operands
    index = e.index(position)
    buffer = buffer_of(e, op, target)
    if not isinstance(index, Const) or not 0 <= index.value < len(buffer.sizes):
        raise e.refusal(op, "Ask for a constant dimension of the memref")
    e.indices[op.result] = buffer.sizes[index.value]


def rank(e: Emitter, op: Operation) -> None:
    """``memref.rank``."""
    e.indices[op.result] = Const(memref.rank(op.operands[0]))


def pointer(e: Emitter, op: Operation) -> None:
    """``memref.extract_aligned_pointer_as_index``."""
    buffer = buffer_of(e, op, op.operands[0])
    e.define(op.result, e.narrow(call(e.use("address"), buffer.pointer)))


def cast(e: Emitter, op: Operation) -> None:
    """``memref.cast``: the same buffer; static extents replace dynamic ones."""
    ty = memref_type(op, op.result, e)
    buffer = buffer_of(e, op, op.operands[0])
    sizes = tuple(
        size if extent is None else Const(extent)
        for size, extent in zip(buffer.sizes, ty.shape, strict=True)
    )
    e.buffers[op.result] = replace(buffer, sizes=sizes)


def same(e: Emitter, op: Operation) -> None:
    """Views that change nothing here."""
    for result in op.results:
        e.buffers[result] = buffer_of(e, op, op.operands[0])


def aligned(e: Emitter, op: Operation) -> None:
    """``memref.assume_alignment``: the first element lies on such an address."""
    same(e, op)
    alignment = op.attributes["alignment"]
    for value in (*op.operands, *op.results):
        buffer = e.buffers[value]
        if buffer.offset == Const(0) and isinstance(alignment, IntegerAttr):
            e.buffers[value] = replace(buffer, alignment=alignment.value)


def _expressions(e: Emitter, entries: Sequence[memref.Mixed]) -> list[AffineExpr]:
    return [Const(x) if isinstance(x, int) else e.index(x) for x in entries]


def subview(e: Emitter, op: Operation) -> None:
    """``memref.subview``, with dimensions of extent one dropped where the type says."""
    view = memref.Slice(op)
    buffer = buffer_of(e, op, view.source)
    offsets, sizes, steps = (
        _expressions(e, entries) for entries in (view.offsets, view.sizes, view.strides)
    )
    strides = [s * t for s, t in zip(steps, buffer.strides, strict=True)]
    kept = kept_dimensions(sizes, memref_type(op, op.result, e))
    e.buffers[op.result] = buffer.viewed(
        tuple(sizes[d] for d in kept),
        tuple(strides[d] for d in kept),
        buffer.at(offsets),
    )


def kept_dimensions(sizes: Sequence[AffineExpr], ty: MemRefType) -> list[int]:
    """Dimensions that remain in a rank-reduced type: unit ones go first."""
    kept: list[int] = []
    surplus = len(sizes) - ty.rank
    for position, size in enumerate(sizes):
        extent = ty.shape[len(kept)] if len(kept) < ty.rank else None
        if surplus and size == Const(1) and extent != 1:
            surplus -= 1
        else:
            kept.append(position)
    return kept[: ty.rank]


def reinterpret(e: Emitter, op: Operation) -> None:
    """``memref.reinterpret_cast``: new offset, sizes and strides."""
    view = memref.Slice(op)
    buffer = buffer_of(e, op, view.source)
    (offset,), sizes, strides = (
        _expressions(e, entries) for entries in (view.offsets, view.sizes, view.strides)
    )
    moved = buffer.moved(offset)
    e.buffers[op.result] = buffer.viewed(tuple(sizes), tuple(strides), moved)


def reshape(e: Emitter, op: Operation) -> None:
    """``memref.collapse_shape`` / ``expand_shape`` with static result extents."""
    ty = memref_type(op, op.result, e)
    buffer = buffer_of(e, op, op.operands[0])
    layout = ty.layout
    static = None not in ty.shape
    if not static or (isinstance(layout, StridedLayoutAttr) and None in layout.strides):
        raise e.refusal(op, "Give the reshaped memref static extents")
    sizes = tuple(to_expr(extent or 0) for extent in ty.shape)
    strides = row_major(sizes)
    if isinstance(layout, StridedLayoutAttr):
        strides = tuple(to_expr(stride or 0) for stride in layout.strides)
    e.buffers[op.result] = buffer.viewed(sizes, strides, buffer.offset)


def transpose(e: Emitter, op: Operation) -> None:
    """``memref.transpose``."""
    order = affine.map_of(op, "permutation").results
    buffer = buffer_of(e, op, op.operands[0])
    dims = [getattr(result, "position", 0) for result in order]
    e.buffers[op.result] = buffer.viewed(
        tuple(buffer.sizes[d] for d in dims),
        tuple(buffer.strides[d] for d in dims),
        buffer.offset,
    )


def prefetch(e: Emitter, op: Operation) -> None:
    """``memref.prefetch`` and ``affine.prefetch``: a hint that GPUs do not take."""
    hint = op.attributes.get("localityHint")
    write = op.attributes.get("isWrite")
    if e.target.name != "cpu" or not isinstance(hint, IntegerAttr):
        return
    buffer, indices = access(e, op, 0)
    is_write = isinstance(write, IntegerAttr) and bool(write.value)
    name = f"prefetch_{'write' if is_write else 'read'}{hint.value}"
    function = e.make(name, "prefetch", is_write, hint.value)
    offset = e.offset(buffer.at(indices))
    e.writer.line(str(call(function, buffer.pointer, offset)))


def nothing(e: Emitter, op: Operation) -> None:
    """Operations without an effect in generated code."""


HANDLERS: dict[str, Handler] = {
    "affine.load": load,
    "affine.store": store,
    "memref.load": load,
    "memref.store": store,
    "memref.atomic_rmw": atomic,
    "memref.copy": copy,
    "memref.alloc": allocate,
    "memref.alloca": allocate,
    "memref.dealloc": deallocate,
    "memref.dim": dimension,
    "memref.rank": rank,
    "memref.extract_aligned_pointer_as_index": pointer,
    "memref.cast": cast,
    "memref.memory_space_cast": same,
    "memref.assume_alignment": aligned,
    "memref.subview": subview,
    "memref.reinterpret_cast": reinterpret,
    "memref.collapse_shape": reshape,
    "memref.expand_shape": reshape,
    "memref.transpose": transpose,
    "memref.prefetch": prefetch,
    "affine.prefetch": prefetch,
}
