"""Interprets memref and affine memory operations: allocation, access, atomics, DMA.

A ``dma_start`` is carried out when it is waited for. In a kernel all threads of a block
start a transfer and wait for it together: it is one transfer, which the first thread
carries out, and the wait is a barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.memref import ADDRESS
from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.dialects.shared.combiners import OF_ATOMICS, atomic_kind
from gpucodegen.dialects.shared.dma import (
    End,
    ends_of,
    has_strided_source,
    lengths_of,
    tag_of,
)
from gpucodegen.dialects.shared.memory import box, is_shared, stored_by_map
from gpucodegen.interp.arith import combine
from gpucodegen.interp.buffers import Box, MemRef, TrackedArray, contiguous, fresh
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import at, constant, element, empty, given
from gpucodegen.ir.affine import Const, evaluate
from gpucodegen.ir.attributes import AffineMapAttr, StridedLayoutAttr, SymbolRefAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    MemRefType,
    Type,
    VectorType,
    element_type,
)


def name_of(value: Value) -> str:
    """The name of a buffer in errors."""
    return f"%{value.name}" if value.name else "the buffer"


def filled_in(shape: Sequence[int | None], sizes: Sequence[int]) -> tuple[int, ...]:
    """The extents of a type, with dynamic ones taken from ``sizes`` in order.

    >>> filled_in((None, 3), [2])
    (2, 3)
    """
    dynamic = iter(sizes)
    return tuple(next(dynamic) if n is None else n for n in shape)


def allocated(
    m: Machine, ty: Type, sizes: Sequence[int], symbols: Sequence[int] = ()
) -> MemRef:
    """Fresh memory for a memref type, as large as its layout needs."""
    made, arbitrary = zeros(ty, sizes, symbols), m.shared.arbitrary
    return replace(made, memory=fresh(made.memory, rank=1, arbitrary=arbitrary))


def zeros(ty: Type, sizes: Sequence[int], symbols: Sequence[int] = ()) -> MemRef:
    """Memory of zeros for a memref type, as large as its layout needs."""
    assert isinstance(ty, MemRefType)
    shape = filled_in(ty.shape, sizes)
    made = MemRef.allocated(shape, ty.element)
    layout, form = stored_by_map(ty), strided_form(ty)
    if isinstance(ty.layout, AffineMapAttr) and form is not None:
        zero = [0] * len(shape)
        (first,) = ty.layout.map.evaluate(zero, symbols)
        units = [[int(i == d) for i in range(len(shape))] for d in range(len(shape))]
        steps = [ty.layout.map.evaluate(u, symbols)[0] - first for u in units]
        if first >= 0 and all(step >= 0 for step in steps):
            return _strided(ty, shape, steps, first)
    if layout is not None:
        extents = [
            evaluate(e, (), symbols) for e in box(layout, list(map(Const, shape)))
        ]
        memory = MemRef.allocated(extents, ty.element).memory
        at = Box(layout, tuple(extents), tuple(symbols))
        return MemRef(memory, ty.element, shape, contiguous(shape), box=at)
    if isinstance(ty.layout, StridedLayoutAttr) and form is not None:
        rows = zip(form.strides, contiguous(shape), strict=True)
        return _strided(
            ty, shape, [r if s is None else s for s, r in rows], form.offset or 0
        )
    if isinstance(ty.layout, AffineMapAttr) and not ty.layout.map.is_identity:
        return _permuted(ty, shape)
    return made


def _strided(
    ty: MemRefType, shape: tuple[int, ...], steps: Sequence[int], first: int
) -> MemRef:
    """Memory up to the last element of a strided layout."""
    last = sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    count = first + last + 1 if all(shape) else 0
    memory = empty((count,), ty.element)
    return MemRef(memory, ty.element, shape, tuple(steps), first)


def _permuted(ty: MemRefType, shape: tuple[int, ...]) -> MemRef:
    """Row-major memory in the dimension order of the map's results."""
    assert isinstance(ty.layout, AffineMapAttr)
    order = [getattr(e, "position", 0) for e in ty.layout.map.results]
    rows = contiguous([shape[d] for d in order])
    strides = tuple(rows[order.index(d)] for d in range(len(shape)))
    memory = MemRef.allocated(shape, ty.element).memory
    return MemRef(memory, ty.element, shape, strides)


def _alloc(m: Machine, op: Operation, *_: int) -> MemRef:
    """New memory; in a kernel, all threads of a block get one shared buffer."""
    ty = op.results[0].type
    if m.thread is None or not isinstance(ty, MemRefType):
        return _made(m, op)
    if not is_shared(ty.memory_space):
        return _made(m, op)
    if op not in m.thread.shared:
        m.thread.shared[op] = _made(m, op)
    return m.thread.shared[op]


def _made(m: Machine, op: Operation) -> MemRef:
    groups = m.groups(op)
    sizes, symbols = groups["dynamicSizes"], groups["symbolOperands"]
    made = allocated(m, op.results[0].type, sizes, symbols)
    return (
        _at_address(m, made, op.integer(ADDRESS)) if ADDRESS in op.attributes else made
    )


_ARENA = 1 << 24
"""Bytes of memory with fixed addresses."""


def _at_address(m: Machine, made: MemRef, address: int) -> MemRef:
    """A buffer in the memory that all allocations with addresses share."""
    size = made.memory.nbytes
    if address < 0 or address + size > _ARENA or made.memory.dtype.kind == "O":
        raise errors.OutOfMemory(size=address + size)
    arena = m.shared.globals.setdefault(ADDRESS, np.zeros(_ARENA, np.uint8))
    bytes_ = arena[address : address + size]
    memory = bytes_.view(made.memory.dtype).reshape(made.memory.shape)
    return replace(made, memory=memory)


def _realloc(m: Machine, op: Operation, source: MemRef, *size: int) -> MemRef:
    """A larger or smaller buffer with the elements that fit."""
    ty = op.results[0].type
    made = allocated(m, ty, size)
    kept = min(made.shape[0], source.shape[0])
    for i in filter(lambda i: source.is_written((i,)), range(kept)):
        made.store((i,), source.load((i,)))
    return made


def _scope(m: Machine, op: Operation) -> Any:
    return given(m.results(op.regions[0]))


def dealloc(_: Machine, op: Operation, *values: Any) -> None:
    """End the lifetime of fresh memory; that of an argument belongs to its caller."""
    for value, operand in zip(values, op.operands, strict=True):
        if isinstance(value, MemRef) and isinstance(value.memory, TrackedArray):
            value.refuse_freed(name_of(operand), "given back again")
            value.memory.is_freed = True


def _nothing(*_: Any) -> None:
    """No effect: a declaration."""


def dim(_: Machine, op: Operation, source: Any, index: int) -> int:
    """An extent. Raises IndexOutOfBounds."""
    shape = source.shape
    if not 0 <= index < len(shape):
        raise errors.IndexOutOfBounds(
            index=index, buffer=name_of(op.operands[0]), shape=shape
        )
    return shape[index]


def rank(_: Machine, __: Operation, source: Any) -> int:
    return len(source.shape)


def copy(_: Machine, op: Operation, source: MemRef, target: MemRef) -> None:
    """Copy all elements. Raises ShapesDisagree, OverlappingCopy."""
    names = [name_of(operand) for operand in op.operands]
    given, taken = source.elements(names[0]), target.elements(names[1])
    if given.shape != taken.shape:
        raise errors.ShapesDisagree(
            problem=f"'{op.name}' copies {source.shape} to {target.shape}"
        )
    alike = source.start == target.start and source.strides == target.strides
    if not alike and np.shares_memory(given, taken):
        raise errors.OverlappingCopy(
            operation=op.name, source=names[0], target=names[1]
        )
    target.write(given.copy(), flags=source.flags())


def _get_global(m: Machine, op: Operation) -> MemRef:
    """One buffer per global, created on first use."""
    path = op.attributes.get("name")
    name = path.path[-1] if isinstance(path, SymbolRefAttr) else ""
    found = m.shared.globals
    if name not in found:
        found[name] = _made_global(m, name)
    return found[name]


def _made_global(m: Machine, name: str) -> MemRef:
    from gpucodegen.ir.attributes import ElementsAttr, TypeAttr

    op = next(
        o
        for o in m.shared.module.walk()
        if o.name == "memref.global" and o.string("sym_name") == name
    )
    attribute = op.attributes["type"]
    assert isinstance(attribute, TypeAttr)
    ty = attribute.type
    made = allocated(m, ty, ())
    initial = op.attributes.get("initial_value")
    if isinstance(initial, ElementsAttr):
        made.write(constant(initial, ty))
    return made


def _metadata(_: Machine, __: Operation, source: MemRef) -> Any:
    """The base buffer of rank 0, offset, sizes and strides."""
    source.strided()
    base = MemRef(source.memory, source.type, (), (), source.base, source.base)
    return base, source.offset, *source.shape, *source.strides


def _pointer(_: Machine, __: Operation, source: MemRef) -> int:
    size = source.memory.strides[0] if source.memory.ndim else 0
    return source.memory.__array_interface__["data"][0] + source.base * size


def _distinct(_: Machine, __: Operation, *sources: Any) -> Any:
    return given(sources)


def same(_: Machine, __: Operation, source: Any) -> Any:
    return source


MEMREF_OPERATIONS: dict[str, Evaluate] = {
    "memref.alloc": _alloc,
    "memref.alloca": _alloc,
    "memref.realloc": _realloc,
    "memref.alloca_scope": _scope,
    "memref.dealloc": dealloc,
    "memref.dim": dim,
    "memref.rank": rank,
    "memref.copy": copy,
    "memref.global": _nothing,
    "memref.get_global": _get_global,
    "memref.extract_strided_metadata": _metadata,
    "memref.extract_aligned_pointer_as_index": _pointer,
    "memref.distinct_objects": _distinct,
    "memref.assume_alignment": same,
    "memref.memory_space_cast": same,
}


Place = Callable[[Operation, Sequence[int]], Sequence[int]]
"""The indices of an access, from its operands after the buffer."""


def written(_: Operation, operands: Sequence[int]) -> Sequence[int]:
    """The indices are the operands."""
    return operands


def mapped(op: Operation, operands: Sequence[int]) -> Sequence[int]:
    """The indices are the results of the operation's map."""
    return at(affine.map_of(op), operands)


def load(place: Place) -> Evaluate:
    def evaluate(_: Machine, op: Operation, source: MemRef, *operands: int) -> Any:
        return source.load(place(op, operands), name_of(op.operands[0]))

    return evaluate


def store(place: Place) -> Evaluate:
    def evaluate(
        _: Machine, op: Operation, value: Any, target: MemRef, *operands: int
    ) -> None:
        target.store(place(op, operands), value, name_of(op.operands[1]))

    return evaluate


def places(
    first: Sequence[int], extents: Sequence[int]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Pairs of vector position and buffer index; the vector spans trailing dims."""
    skipped = len(first) - len(extents)
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for position in np.ndindex(*extents):
        shift = (0,) * skipped + position
        index = tuple(a + b for a, b in zip(first, shift, strict=True))
        found.append((position, index))
    return found


def span(ty: VectorType, buffer: MemRef) -> tuple[int, ...]:
    """A vector's extents in units of buffer elements, which may be vectors."""
    inner = element(buffer.type).inner
    return ty.shape[: len(ty.shape) - len(inner)] if inner else ty.shape


def read_vector(buffer: MemRef, first: Sequence[int], ty: Type, name: str) -> Any:
    """The elements that start at an index."""
    assert isinstance(ty, VectorType)
    made = empty(ty.shape, ty.element)
    for position, index in places(first, span(ty, buffer)):
        made[position] = buffer.stored(index, name)
    return made


def write_vector(
    buffer: MemRef, first: Sequence[int], ty: Type, value: Any, name: str
) -> None:
    """Write elements from an index on; bounds are checked before any write."""
    assert isinstance(ty, VectorType)
    targets = [
        (position, buffer.place(index, name))
        for position, index in places(first, span(ty, buffer))
    ]
    for position, place in targets:
        buffer.memory[place] = value[position]


def vector_load(place: Place) -> Evaluate:
    """Read consecutive elements of the last dimensions."""

    def evaluate(_: Machine, op: Operation, source: MemRef, *operands: int) -> Any:
        first, name = place(op, operands), name_of(op.operands[0])
        return read_vector(source, first, op.results[0].type, name)

    return evaluate


def vector_store(place: Place) -> Evaluate:
    """Write consecutive elements of the last dimensions."""

    def evaluate(
        _: Machine, op: Operation, value: Any, target: MemRef, *operands: int
    ) -> None:
        first, name = place(op, operands), name_of(op.operands[1])
        write_vector(target, first, op.operands[0].type, value, name)

    return evaluate


def _prefetch(*_: Any) -> None:
    """No effect: a hint."""


ACCESS_OPERATIONS: dict[str, Evaluate] = {
    "memref.load": load(written),
    "memref.store": store(written),
    "memref.prefetch": _prefetch,
    "affine.load": load(mapped),
    "affine.store": store(mapped),
    "affine.vector_load": vector_load(mapped),
    "affine.vector_store": vector_store(mapped),
    "affine.prefetch": _prefetch,
}


def _update(_: Machine, op: Operation, value: Any, buffer: MemRef, *index: int) -> Any:
    """Update atomically; returns the old value."""
    name = name_of(op.operands[1])
    before = buffer.load(index, name)
    row = OF_ATOMICS.get(atomic_kind(op))
    if row is not None:
        value = combine(row.operation, element_type(op.results[0].type))(before, value)
    buffer.store(index, value, name)
    return before


def _generic(m: Machine, op: Operation, buffer: MemRef, *index: int) -> Any:
    name = name_of(op.operands[0])
    before = buffer.load(index, name)
    (after,) = m.results(op.regions[0], (before,))
    buffer.store(index, after, name)
    return before


ATOMIC_OPERATIONS: dict[str, Evaluate] = {
    "memref.atomic_rmw": _update,
    "memref.generic_atomic_rmw": _generic,
}


def _place(m: Machine, end: End) -> tuple[MemRef, tuple[int, ...]]:
    """A buffer and indices into it."""
    return m.values[end.memref], at(end.map, m.of(end.operands))


def _key(m: Machine, tag: End) -> object:
    """Identity of a tag element."""
    buffer, index = _place(m, tag)
    return id(buffer.memory), buffer.place(index, name_of(tag.memref))


def _line(m: Machine, end: End, steps: Sequence[int]) -> list[int]:
    """Positions of elements counted in row-major order from an index on."""
    buffer, index = _place(m, end)
    first = 0
    for extent, i in zip(buffer.shape, index, strict=True):
        first = first * extent + i
    name = name_of(end.memref)
    if not 0 <= first < max(prod(buffer.shape), 1):
        buffer.place(index, name)
    return [buffer.place(_unravelled(first + s, buffer.shape), name) for s in steps]


def _unravelled(position: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The index at a row-major position; past the end, the first index grows."""
    index: list[int] = []
    for extent in reversed(shape[1:]):
        index.append(position % extent)
        position //= extent
    return (position, *reversed(index)) if shape else ()


def _is_first(m: Machine, key: object) -> bool:
    """Whether this thread is the first of its block at this transfer."""
    if m.thread is None:
        return True
    own = m.thread.values[key] = m.thread.values.get(key, 0) + 1
    if own <= m.thread.shared.get(key, 0):
        return False
    m.thread.shared[key] = own
    return True


def _start(m: Machine, op: Operation, *_: Any) -> None:
    source, target, tag = ends_of(op)
    key = _key(m, tag)
    if not _is_first(m, ("starts", key)):
        return
    count, *stride = m.of(lengths_of(op))
    step, run = stride or (count, count)
    line = range(count)
    apart = [i // run * step + i % run for i in line] if run else list(line)
    strided = has_strided_source(source.memref, target.memref)
    takes = _line(m, source, apart if strided else line)
    puts = _line(m, target, line if strided else apart)
    origin, goal = m.values[source.memref], m.values[target.memref]

    def move() -> None:
        goal.memory[puts] = origin.memory[takes]

    if key in m.shared.transfers:
        raise _unfinished(tag, "its tag is started again")
    m.shared.transfers[key] = count, move


def _wait(m: Machine, op: Operation, *_: Any) -> None:
    tag = tag_of(op)
    key = _key(m, tag)
    if m.thread is not None:
        m.thread.meet(op, None, of_warp=False)
    if not _is_first(m, ("waits", key)):
        return
    under_way: tuple[int, Callable[[], None]] | None = m.shared.transfers.pop(key, None)
    (count,) = m.of(lengths_of(op))
    if under_way is None:
        raise _unfinished(tag, "its tag is waited for, not started")
    if under_way[0] != count:
        problem = f"{under_way[0]} elements are under way, {count} are waited for"
        raise _unfinished(tag, problem)
    under_way[1]()


def _unfinished(tag: End, problem: str) -> errors.Error:
    return errors.UnfinishedTransfer(buffer=name_of(tag.memref), problem=problem)


TRANSFER_OPERATIONS: dict[str, Evaluate] = {
    "memref.dma_start": _start,
    "memref.dma_wait": _wait,
    "affine.dma_start": _start,
    "affine.dma_wait": _wait,
}
