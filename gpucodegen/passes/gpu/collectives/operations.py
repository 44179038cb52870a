"""What each operation among threads becomes, given what builds the work of a lane."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

from gpucodegen.dialects import arith, gpu
from gpucodegen.dialects.shared.combiners import kind_word, of_kind
from gpucodegen.ir.attributes import IntegerAttr, OpaqueAttr
from gpucodegen.ir.operation import (
    Operation,
    Region,
    Value,
    clone,
    single_block,
    substitute_values,
)
from gpucodegen.ir.types import I32, INDEX, MemRefType, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.collectives.warp import Combine, Warp
from gpucodegen.passes.gpu.launches.gpu_launch import SHARED
from gpucodegen.tiling.machine.gpu.devices import WARP


def _combine(op: Operation) -> Combine:
    """An operation of arith by its word, or the body of the operation."""
    if any(region.blocks for region in op.regions):
        return lambda b, left, right: _body(b, op, left, right)
    ty = op.result.type
    row = of_kind(kind_word(op.attributes.get("op")), element_type(ty))
    assert row is not None
    return lambda b, left, right: b.add(row.name, (left, right), [ty])[0]


def _body(b: Builder, op: Operation, left: Value, right: Value) -> Value:
    block = clone(op).regions[0].blocks[0]
    given = dict(zip(block.arguments, (left, right), strict=True))
    *operations, end = (substitute_values(o, given) for o in block.operations)
    b.operations += operations
    return end.operands[0]


def _all_reduce(warp: Warp, op: Operation) -> tuple[Value, ...]:
    """The sum of each warp in shared memory, between two barriers."""
    value, combine = op.operands[0], _combine(op)
    value = warp.combined(value, combine)
    if warp.threads is not None and warp.threads <= WARP:
        return (value,)
    b = warp.b
    count = WARP if warp.threads is None else -(-warp.threads // WARP)
    ty = MemRefType((count,), value.type, memory_space=SHARED)
    sums = b.allocate("memref.alloca", ty, "partial")
    _store_first(warp, value, sums)
    b.operations.append(gpu.barrier(location=op.location))
    total = _over_warps(warp, sums, combine)
    if warp.again:
        b.operations.append(gpu.barrier(location=op.location))
    return (total,)


def _store_first(warp: Warp, value: Value, sums: Value) -> None:
    """Lane 0 of each warp stores."""
    b = warp.b
    if warp.threads is not None:
        number = Index.of(warp.number)
        place = [number // WARP]
        b.guard([Index.of(0) - number % WARP], lambda i: i.store(value, sums, place))
        return
    number = warp.place.warp()
    is_first = arith.compare("arith.cmpi", "eq", warp.lane, b.index(0))
    b.operations.append(is_first)

    def store(inner: Builder) -> None:
        inner.add("memref.store", (value, sums, number))
        inner.add("scf.yield")

    regions = (single_block(b.nested(store)), Region())
    b.add("scf.if", (is_first.result,), regions=regions)


def _over_warps(warp: Warp, sums: Value, combine: Combine) -> Value:
    """What the warps left, one after the other."""
    b, ty = warp.b, element_type(sums.type)
    if warp.threads is not None:
        count = -(-warp.threads // WARP)
        parts = [b.load(sums, [number]) for number in range(count)]
        return reduce(partial(combine, b), parts)
    first = b.add("memref.load", (sums, b.index(0)), [ty])[0]
    bounds = (b.index(1), warp.place.warps(), b.index(1))
    iv, carried = Value(INDEX, "warp", b.location), first.renewed()

    def more(inner: Builder) -> None:
        other = inner.add("memref.load", (sums, iv), [ty])[0]
        inner.add("scf.yield", (combine(inner, carried, other),))

    region = single_block(b.nested(more), (iv, carried))
    return b.add("scf.for", (*bounds, first), [ty], regions=(region,))[0]


def _subgroup_reduce(warp: Warp, op: Operation) -> tuple[Value, ...]:
    """One instruction for 32 bits of a whole warp, or shuffles."""
    value = op.operands[0]
    kind = _REDUX.get(kind_word(op.attributes.get("op")))
    if "cluster_size" not in op.attributes and value.type == I32 and kind:
        attributes = {"kind": OpaqueAttr(f"#nvvm<redux_kind {kind}>")}
        operands = (value, warp.word(-1))
        return warp.b.add("nvvm.redux.sync", operands, [I32], attributes)
    size, stride = _number(op, "cluster_size", WARP), _number(op, "cluster_stride", 1)
    return (warp.combined(value, _combine(op), size, stride),)


_REDUX = {
    "add": "add",
    "and": "and",
    "maxsi": "max",
    "maxui": "umax",
    "minsi": "min",
    "minui": "umin",
    "or": "or",
    "xor": "xor",
}
"""What one instruction combines."""


def _rotate(warp: Warp, op: Operation) -> tuple[Value, ...]:
    """Lanes below a width, in a circle."""
    offset, width = _number(op, "offset", 0), _number(op, "width", WARP)
    moved = warp.integer("addi", warp.word(warp.lane), offset)
    other = warp.integer("andi", moved, width - 1)
    return warp.shuffle("idx", op.operands[0], other, width)


def _broadcast(warp: Warp, op: Operation) -> tuple[Value, ...]:
    """Of a lane that is named, or of lane 0: all lanes are here."""
    value, *named = op.operands
    return warp.shuffle("idx", value, named[0] if named else 0)[:1]


def _number(op: Operation, name: str, default: int) -> int:
    value = op.attributes.get(name)
    return value.value if isinstance(value, IntegerAttr) else default


LOWERED: dict[str, Callable[[Warp, Operation], tuple[Value, ...]]] = {
    "gpu.all_reduce": _all_reduce,
    "gpu.rotate": _rotate,
    "gpu.subgroup_broadcast": _broadcast,
    "gpu.subgroup_reduce": _subgroup_reduce,
}
