"""Views of memrefs inside kernels: another shape, strides and offset on one buffer.

Comes in: an operation on a buffer that the kernel knows.  Goes out: nothing but an
entry of the emitter's buffers or indices; only the address becomes a line of source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucodegen.dialects import affine, memref
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.tables.memory.addressing import row_major
from gpucodegen.emit.tables.memory.memory import buffer_of, memref_type
from gpucodegen.emit.text.fragments import call
from gpucodegen.ir.affine.expressions import AffineExpr, Const, to_expr
from gpucodegen.ir.attributes import IntegerAttr, StridedLayoutAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import MemRefType


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
            known = max(alignment.value, buffer.alignment)
            e.buffers[value] = replace(buffer, alignment=known)


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


HANDLERS: dict[str, Handler] = {
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
}
