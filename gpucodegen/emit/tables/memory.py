"""Emits memref accesses, local buffers, views and reports inside kernels.

Views print no line: they change the emitter's buffer descriptors or indices, and only
the address is printed. An access that would leave its buffer is reported: the host
raises at once, a kernel writes the first values of each report to words that the host
reads after the launch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gpucodegen.dialects import affine, memref
from gpucodegen.dialects.nvgpu.types import BARRIER_BYTES, barrier_count
from gpucodegen.dialects.shared.combiners import OF_ATOMICS, atomic_kind
from gpucodegen.dialects.shared.memory import is_shared
from gpucodegen.emit.addressing import (
    SHARED_ALIGNMENT,
    Descriptor,
    row_major,
    static_elements,
)
from gpucodegen.emit.context import Emitter, Handler
from gpucodegen.emit.expressions import Text, call
from gpucodegen.emit.spelling import COMPLEX, Told, dtype, stored_bytes
from gpucodegen.emit.tables.control import counted, declare
from gpucodegen.ir.affine import AffineExpr, Const, to_expr
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    IntegerAttr,
    StridedLayoutAttr,
    StringAttr,
)
from gpucodegen.ir.locations import file_location
from gpucodegen.ir.number_formats import NARROW
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType


def buffer_of(e: Emitter, op: Operation, value: Value) -> Descriptor:
    found = e.buffers.get(value)
    if found is None:
        raise e.broken(op, f"memref %{value.name} is not a buffer of this kernel")
    return found


def stored_dtype(ty: MemRefType, op: Operation, target: str) -> str:
    """The dtype of a memref's elements in memory; ``index`` takes 64 bits."""
    kind = dtype(ty.element, op.location, target)
    return "i64" if kind == "index" else kind


def memref_type(op: Operation, value: Value, e: Emitter) -> MemRefType:
    if not isinstance(value.type, MemRefType):
        raise e.refusal(op, "Cast the buffer to a ranked memref")
    return value.type


CONVERTED = NARROW | {"i1"}
"""Elements whose values differ from their stored bits."""


# -- elements --------------------------------------------------------------------------


def read(e: Emitter, buffer: Descriptor, indices: Sequence[AffineExpr]) -> Text:
    offset = e.offset(buffer.at(indices, e.swept))
    if buffer.dtype in CONVERTED:
        load = e.make(f"load_{buffer.dtype}", "load", buffer.dtype)
        return call(load, buffer.pointer, offset)
    return Text(f"{buffer.pointer}[{offset}]")


def write(
    e: Emitter, buffer: Descriptor, indices: Sequence[AffineExpr], value: Text
) -> None:
    offset = e.offset(buffer.at(indices, e.swept))
    if buffer.dtype in CONVERTED:
        store = e.make(f"store_{buffer.dtype}", "store", buffer.dtype)
        e.writer.line(str(call(store, buffer.pointer, offset, value)))
    else:
        e.writer.line(f"{buffer.pointer}[{offset}] = {value}")


def access(
    e: Emitter, op: Operation, first: int
) -> tuple[Descriptor, list[AffineExpr]]:
    """The buffer at operand ``first`` and the indices after it."""
    target, *operands = op.operands[first:]
    buffer = buffer_of(e, op, target)
    if isinstance(op.attributes.get("map"), AffineMapAttr):
        return buffer, e.applied(affine.map_of(op), operands)
    rank = len(buffer.sizes)
    return buffer, [e.index(value) for value in operands[:rank]]


def load(e: Emitter, op: Operation) -> None:
    buffer, indices = access(e, op, 0)
    text = read(e, buffer, indices)
    is_index = e.dtype(op, op.result) == "index"
    e.define(op.result, e.narrow(text) if is_index else text)


def store(e: Emitter, op: Operation) -> None:
    buffer, indices = access(e, op, 1)
    write(e, buffer, indices, e.text(op.operands[0]))


def atomic(e: Emitter, op: Operation) -> None:
    buffer, indices = access(e, op, 1)
    kind = atomic_kind(op)
    combine = OF_ATOMICS[kind].operation if kind in OF_ATOMICS else "assign"
    name, details = f"atomic_{kind}_{buffer.dtype}", (combine, buffer.dtype)
    if e.facts.spaces.get(buffer.pointer) == "shared":
        name, details = f"{name}_shared", (*details, "shared")
    made = e.make(name, "atomic", *details)
    offset = e.offset(buffer.at(indices))
    text = call(made, buffer.pointer, offset, e.text(op.operands[0]))
    if e.uses.get(op.result):
        e.define(op.result, text)
    else:
        e.writer.line(str(text))


def generic_atomic(e: Emitter, op: Operation) -> None:
    """``memref.generic_atomic_rmw``: a compare-and-swap loop."""
    buffer, indices = access(e, op, 0)
    kind = buffer.dtype
    if kind.startswith(COMPLEX):
        raise e.refusal(op, "Update the parts of complex numbers one by one")
    name = e.names.fresh("at")
    e.writer.line(f"{name} = {e.offset(buffer.at(indices))}")
    place = buffer.pointer, Text(name)
    read, element, exchange = (
        e.make(f"{made}_{kind}", made, kind)
        for made in ("atomic_word", "element_of", "exchange")
    )
    declare(e, op.results)
    (before,) = op.body.arguments
    *body, last = op.body.operations
    with e.block("while True:"):
        word = e.names.fresh("word")
        e.writer.line(f"{word} = {call(read, *place)}")
        e.define(before, call(element, *place, Text(word)))
        e.emit(body)
        after = e.text(last.operands[0])
        with e.block(f"if {call(exchange, *place, Text(word), after)}:"):
            e.assign(op.results, [e.text(before)])
            e.writer.line("break")


def copy(e: Emitter, op: Operation) -> None:
    source, target = (buffer_of(e, op, value) for value in op.operands)
    _copy_from(e, source, target, [])


def _copy_from(
    e: Emitter, source: Descriptor, target: Descriptor, indices: list[AffineExpr]
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
    if op.name == "memref.alloc" and op.operands and e.spelling.has_heap:
        _allocate_dynamic(e, op, ty)
        return
    count = static_elements(ty, op.location)
    kind = "tag" if op.result in e.facts.tags else stored_dtype(ty, op, e.spelling.name)
    hint = f"{count}x{kind}"
    name, alignment = e.variable(op.result), 0
    if e.spelling.in_blocks and is_shared(ty.memory_space):
        alignment = e.facts.alignments.get(op.result, SHARED_ALIGNMENT)
        made = shared_array(e, count, kind, alignment)
        e.facts.spaces[name] = "shared"
    elif op.name == "memref.alloc" and e.spelling.has_heap and kind != "tag":
        made = call(e.make(f"heap_{kind}", "heap", kind), str(count))
        e.facts.spaces[name] = "heap"
    else:
        made = call(e.make(f"local_{hint}", "local", count, kind))
        e.facts.spaces[name] = "private"
    e.writer.line(f"{name} = {made}")
    sizes = tuple(to_expr(extent or 0) for extent in ty.shape)
    strides = row_major(sizes)
    e.buffers[op.result] = Descriptor(name, kind, sizes, strides, alignment=alignment)


def _allocate_dynamic(e: Emitter, op: Operation, ty: MemRefType) -> None:
    """A heap buffer whose extents are known at run time.

    Where an extent is negative or memory is short, the kernel reports it and returns.
    The extents get variables of their own, which live as long as the buffer.
    """
    kind = stored_dtype(ty, op, e.spelling.name)
    given = iter(op.operands)
    sizes: list[AffineExpr] = []
    for extent in ty.shape:
        if extent is None:
            size = e.names.fresh("n")
            e.writer.line(f"{size} = {e.typed(next(given))}")
            sizes.append(e.atoms.add(size))
        else:
            sizes.append(to_expr(extent))
    name, rank = e.variable(op.result), len(sizes)
    extents = [e.affine(size) for size in sizes]
    allocate = e.make(f"heap_{rank}d_{kind}", "heap_dynamic", rank, kind)
    e.writer.line(f"{name} = {call(allocate, *extents)}")
    names = tuple(map(str, range(rank)))
    reported = _place(op), ALLOCATE, op.result.name, stored_bytes(kind), -1, names
    first = _new_report(e, reported)
    with e.block(f"if {call(e.make(f'is_null_{kind}', 'is_null', kind), name)}:"):
        _note(e, extents, first)
        e.writer.line("return")
    e.facts.spaces[name] = "heap"
    e.facts.failing.append(first)
    e.buffers[op.result] = Descriptor(name, kind, tuple(sizes), row_major(sizes))


def shared_array(
    e: Emitter, count: int, kind: str, alignment: int = SHARED_ALIGNMENT
) -> Text:
    """Shared memory of a block: a static array, or a part of the dynamic one."""
    hint, alignment = f"{count}x{kind}", max(alignment, SHARED_ALIGNMENT)
    start = -(-e.shared_bytes // alignment) * alignment
    e.shared_bytes = start + count * stored_bytes(kind)
    wide = (alignment,) if alignment > SHARED_ALIGNMENT else ()
    if e.facts.dynamic_shared:
        name = f"shared_{hint}_from_{start}"
        return call(e.make(name, "dynamic_shared", start, kind, *wide))
    return call(e.make(f"shared_{hint}", "shared", count, kind, *wide))


def shared_in(operations: Iterable[Operation], alignments: Mapping[Value, int]) -> int:
    """Bytes of shared memory that operations allocate, in their order."""
    end = 0
    for root in operations:
        for op in root.walk():
            size = _shared_bytes(op)
            if size:
                least = alignments.get(op.result, SHARED_ALIGNMENT)
                end = -(-end // least) * least + size
    return end


def _shared_bytes(op: Operation) -> int:
    if op.name == "nvgpu.mbarrier.create":
        return barrier_count(op.result.type) * BARRIER_BYTES
    ty = op.result.type if op.name in _ALLOCATED else None
    if not isinstance(ty, MemRefType) or not is_shared(ty.memory_space):
        return 0
    kind = stored_dtype(ty, op, "cuda")
    return static_elements(ty, op.location) * stored_bytes(kind)


_ALLOCATED = ("memref.alloca", "memref.alloc")


def deallocate(e: Emitter, op: Operation) -> None:
    """``memref.dealloc``: free memory that the kernel allocated on the heap."""
    (operand,) = op.operands
    buffer = buffer_of(e, op, operand)
    if e.facts.spaces.get(buffer.pointer) == "heap":
        free = e.make(f"heap_free_{buffer.dtype}", "heap_free", buffer.dtype)
        e.writer.line(str(call(free, buffer.pointer)))


def prefetch(e: Emitter, op: Operation) -> None:
    hint = op.attributes.get("localityHint")
    write = op.attributes.get("isWrite")
    if not e.spelling.takes_hints or not isinstance(hint, IntegerAttr):
        return
    buffer, indices = access(e, op, 0)
    is_write = isinstance(write, IntegerAttr) and bool(write.value)
    name = f"prefetch_{'write' if is_write else 'read'}{hint.value}"
    function = e.make(name, "prefetch", is_write, hint.value)
    e.prefetches.add(function, buffer.pointer, buffer.at(indices), e.offset)


def nothing(e: Emitter, op: Operation) -> None:
    """An operation without an effect in generated code."""


HANDLERS: dict[str, Handler] = {
    "affine.load": load,
    "affine.store": store,
    "memref.load": load,
    "memref.store": store,
    "memref.atomic_rmw": atomic,
    "memref.generic_atomic_rmw": generic_atomic,
    "memref.copy": copy,
    "memref.alloc": allocate,
    "memref.alloca": allocate,
    "memref.dealloc": deallocate,
    "memref.prefetch": prefetch,
    "affine.prefetch": prefetch,
}


def dimension(e: Emitter, op: Operation) -> None:
    target, position = op.operands
    index = e.index(position)
    buffer = buffer_of(e, op, target)
    if not isinstance(index, Const) or not 0 <= index.value < len(buffer.sizes):
        raise e.refusal(op, "Ask for a constant dimension of the memref")
    e.indices[op.result] = buffer.sizes[index.value]


def rank(e: Emitter, op: Operation) -> None:
    e.indices[op.result] = Const(memref.rank(op.operands[0]))


def pointer(e: Emitter, op: Operation) -> None:
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
    """Views with the same descriptor."""
    for result in op.results:
        e.buffers[result] = buffer_of(e, op, op.operands[0])


def aligned(e: Emitter, op: Operation) -> None:
    """``memref.assume_alignment``: a known alignment of the first element."""
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
    """``memref.subview``, with unit dimensions dropped as the type says."""
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
    """Dimensions that remain in a rank-reduced type: unit ones are dropped first."""
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
    order = affine.map_of(op, "permutation").results
    buffer = buffer_of(e, op, op.operands[0])
    dims = [getattr(result, "position", 0) for result in order]
    e.buffers[op.result] = buffer.viewed(
        tuple(buffer.sizes[d] for d in dims),
        tuple(buffer.strides[d] for d in dims),
        buffer.offset,
    )


VIEW_HANDLERS: dict[str, Handler] = {
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


ALLOCATE = "allocate"
"""The verb of allocations without memory or with a negative extent.

Their dimension is the size of an element in bytes, their values are the extents.
"""


def told(op: Operation) -> Told:
    """Location, verb, buffer, dimension, extent and names of a report."""
    buffer = op.string("verb"), op.string("buffer")
    sizes = op.integer("dimension"), op.integer("extent")
    return _place(op), *buffer, *sizes, _names(op)


def _place(op: Operation) -> tuple[object, ...]:
    place = file_location(op.location)
    return (place.filename, place.line, place.column) if place else ()


def _names(op: Operation) -> tuple[str, ...]:
    found = op.entries("names")
    return tuple(v.value for v in found if isinstance(v, StringAttr))


def report(e: Emitter, op: Operation) -> None:
    """``gcg.report`` in a kernel: write the values, then the word that flags them.

    On a GPU, the thread that exchanges the first word writes the values, so that no two
    threads write one word.
    """
    first, values = _new_report(e, told(op)), [e.text(v) for v in op.operands]
    if e.spelling.in_blocks:
        exchange = e.make("atomic_assign_i64", "atomic", "assign", "i64")
        with e.block(f"if {exchange}({e.reports.pointer}, {first}, 1) == 0:"):
            _note_values(e, values, first)
        return
    _note(e, values, first)


def _new_report(e: Emitter, told: Told) -> int:
    """The first word of a new report."""
    e.reports.pointer = e.reports.pointer or e.names.fresh("status")
    return e.reports.add(told)


def _note(e: Emitter, values: Sequence[Text], first: int) -> None:
    """Write the values of a report, then the word that flags them."""
    _note_values(e, values, first)
    e.writer.line(f"{e.reports.pointer}[{first}] = 1")


def _note_values(e: Emitter, values: Sequence[Text], first: int) -> None:
    for position, value in enumerate(values):
        e.writer.line(f"{e.reports.pointer}[{first + 1 + position}] = {value}")


def return_after(e: Emitter, reports: Sequence[int]) -> None:
    """Return from the kernel if one of these reports occurred, in any thread."""
    if reports:
        failed = " or ".join(f"{e.reports.pointer}[{first}]" for first in reports)
        with e.block(f"if {failed}:"):
            e.writer.line("return")


ASSERT = "assert"
"""The verb of assertions; their message stands in place of the buffer."""


def asserted(e: Emitter, op: Operation) -> None:
    """``cf.assert`` in a CPU kernel: report and return where it fails."""
    first = _new_report(e, _failed(op))
    (condition,) = op.operands
    with e.block(f"if not {e.text(condition)}:"):
        _note(e, (), first)
        e.writer.line("return")
    e.facts.failing.append(first)


def _failed(op: Operation) -> Told:
    return _place(op), ASSERT, op.string("msg"), 0, -1, ()


def asserted_on_host(e: Emitter, op: Operation) -> None:
    with e.block(f"if not {e.text(op.operands[0])}:"):
        e.writer.line(str(call("rt.refuse", repr(_failed(op)), "()")))


def refuse(e: Emitter, op: Operation) -> None:
    """``gcg.refuse``, and ``gcg.report`` on the host: raise."""
    values = "".join(f"{e.text(value)}, " for value in op.operands)
    e.writer.line(str(call("rt.refuse", repr(told(op)), Text(f"({values})"))))


GUARD_HANDLERS: dict[str, Handler] = {"gcg.report": report}
HOST_HANDLERS: dict[str, Handler] = {
    "cf.assert": asserted_on_host,
    "gcg.report": refuse,
    "gcg.refuse": refuse,
}
