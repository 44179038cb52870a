"""Memory on the host: allocation, single elements and transfers, by ``rt.*``."""

from __future__ import annotations

from gpucodegen.dialects import affine, memref
from gpucodegen.dialects.nvgpu.copy_kinds import CopyPlan
from gpucodegen.dialects.nvgpu.types import fields, swizzle_span
from gpucodegen.dialects.shared.combiners import OF_ATOMICS, atomic_kind
from gpucodegen.dialects.shared.transfers import (
    STARTS,
    WAITS,
    ends_of,
    has_strided_source,
    lengths_of,
)
from gpucodegen.emit.host.context import HostEmitter, shape_text
from gpucodegen.emit.host.views import no_parameter
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.kernel.kinds import is_index
from gpucodegen.emit.tables.memory.addressing import strides_of
from gpucodegen.emit.tables.memory.memory import memref_type, nothing, stored_dtype
from gpucodegen.emit.tables.transfers.moves import indices_of
from gpucodegen.emit.tables.transfers.transfers import noted
from gpucodegen.emit.text.fragments import Text, call, number
from gpucodegen.emit.text.header import literal
from gpucodegen.ir.affine.expressions import AffineExpr, Const
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    SymbolRefAttr,
)
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import MemRefType


def allocate(e: Emitter, op: Operation) -> None:
    """``memref.alloc`` and ``memref.alloca``."""
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
    """``memref.dealloc``."""
    e.writer.line(str(call("rt.dealloc", e.text(op.operands[0]))))


def dimension(e: Emitter, op: Operation) -> None:
    """``memref.dim``."""
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
    """``memref.rank``: a number, unless only the runtime knows it."""
    if not isinstance(op.operands[0].type, MemRefType):
        e.define(op.result, call("rt.rank", e.text(op.operands[0])))
        return
    e.indices[op.result] = Const(memref.rank(op.operands[0]))


def load(e: Emitter, op: Operation) -> None:
    """``memref.load`` and ``affine.load`` of one element."""
    text = call("rt.load", e.text(op.operands[0]), _indices(e, op, 1))
    function = "int" if is_index(op.result.type) else e.constructor(op, op.result)
    e.define(op.result, call(function, text))


def store(e: Emitter, op: Operation) -> None:
    """``memref.store`` and ``affine.store`` of one element."""
    value, target = (e.text(v) for v in op.operands[:2])
    e.writer.line(str(call("rt.store", target, _indices(e, op, 2), value)))


def _indices(e: Emitter, op: Operation, first: int) -> Text:
    operands = op.operands[first:]
    if isinstance(op.attributes.get("map"), AffineMapAttr):
        return shape_text(e, e.applied(affine.map_of(op), operands))
    return shape_text(e, [e.index(value) for value in operands])


def copy(e: Emitter, op: Operation) -> None:
    """``memref.copy``."""
    e.writer.line(str(call("rt.copy", *(e.text(v) for v in op.operands))))


def constant(e: Emitter, op: Operation) -> None:
    """``memref.get_global``."""
    name = op.attributes.get("name")
    symbol = name.path[-1] if isinstance(name, SymbolRefAttr) else ""
    assert isinstance(e, HostEmitter)
    if symbol not in e.constants:
        raise e.broken(op, "no such global")
    e.define(op.result, call("rt.constant", literal(e.constants[symbol])))


def tensor_map(e: Emitter, op: Operation) -> None:
    """``nvgpu.tma.create.descriptor``."""
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
    """``dma_wait``."""
    (end,) = ends_of(op)
    where = shape_text(e, indices_of(e, end))
    count = e.text(op.operands[-1])
    e.writer.line(str(call("rt.dma_wait", e.text(end.memref), where, count)))
    noted(e, op, CopyPlan("copy", 0, "the host copies the elements here"))


def atomic(e: Emitter, op: Operation) -> None:
    """``memref.atomic_rmw``: nothing else runs meanwhile."""
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


HANDLERS: dict[str, Handler] = (
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
