"""Views on the host: other shapes over the same memory, by ``rt.*``."""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.dialects import affine, memref
from gpucodegen.dialects.memref.asking import FROM_BUFFER
from gpucodegen.emit.host.context import HostEmitter, shape_text, tuple_text
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.tables.memory.addressing import sizes_of, strides_of
from gpucodegen.emit.tables.memory.memory import memref_type, stored_dtype
from gpucodegen.emit.tables.memory.views import kept_dimensions
from gpucodegen.emit.text.fragments import Text, call, number
from gpucodegen.emit.text.header import literal
from gpucodegen.ir.affine.expressions import AffineExpr, Const
from gpucodegen.ir.attributes import StridedLayoutAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, UnrankedMemRefType


def no_parameter(e: Emitter, op: Operation) -> Callable[[str, int], AffineExpr]:
    """What refuses extents and strides that nothing states."""

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
    if not isinstance(ty.layout, StridedLayoutAttr):
        return Text("None")
    return tuple_text(
        [Text("None") if n is None else number(n) for n in ty.layout.strides]
    )


def same(e: Emitter, op: Operation) -> None:
    """Views that change nothing."""
    assert isinstance(e, HostEmitter)
    source = e.text(op.operands[0])
    e.define(op.result, source)
    same = e.printed.same
    same[e.text(op.result).code] = same.get(source.code, source.code)


def view(e: Emitter, op: Operation) -> None:
    """``memref.subview``: offset and strides relative to the source's own strides."""
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
    """Strides of a buffer; unknown ones are asked of the runtime."""
    ty = memref_type(op, value, e)

    def unknown(what: str, position: int) -> AffineExpr:
        name = e.names.fresh(f"{e.text(value)}_{what}{position}")
        e.writer.line(f"{name} = rt.{what}({e.text(value)}, {position})")
        return e.atoms.add(name)

    needed = ty.layout is None
    sizes = sizes_of((1, *ty.shape[1:]) if needed and ty.shape else ty.shape, unknown)
    return strides_of(ty, sizes, unknown, op.location)


def reinterpret(e: Emitter, op: Operation) -> None:
    """``memref.reinterpret_cast``."""
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
    """``memref.transpose``."""
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
    """``memref.view``: bytes as elements of another type, from a byte on."""
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
    """``memref.reshape``: the shape is what a buffer holds."""
    e.define(op.result, call("rt.reshape", *map(e.text, op.operands)))


def metadata(e: Emitter, op: Operation) -> None:
    """``memref.extract_strided_metadata``."""
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
    """``memref.extract_aligned_pointer_as_index``."""
    e.define(op.result, call("rt.base", e.text(op.operands[0])))


def reallocate(e: Emitter, op: Operation) -> None:
    """``memref.realloc``."""
    ty = memref_type(op, op.result, e)
    source, *size = op.operands
    if ty.shape[0] is None and not size:
        raise e.refusal(op, "Give the new size")
    extent = e.index(size[0]) if size else Const(ty.shape[0] or 0)
    e.define(op.result, call("rt.realloc", e.text(source), e.affine(extent)))


HANDLERS: dict[str, Handler] = {
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
