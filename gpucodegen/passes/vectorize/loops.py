"""Vector loops: full vectors, a masked remainder, and the widened body.

    constant trips            otherwise
    for i by lanes: full      for i by lanes:
    the rest, exactly           if all lanes have an iteration: full, else: masked

`Widened` translates the body of a loop for several iterations at once.  A store is a
streaming (non-temporal) store if nothing in its loops reads its buffer, each iteration
of the outer loops writes other elements, and all that these loops touch exceeds the
caches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from itertools import takewhile
from math import prod
from typing import Protocol

from gpucodegen.dialects import affine
from gpucodegen.dialects.arith import element_bits
from gpucodegen.ir.attributes import ArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Operation, Value, clone, single_block
from gpucodegen.ir.types import I1, I64, INDEX, VectorType, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import (
    Index,
    bounds_of,
    compact,
    from_map,
    replace_values,
)
from gpucodegen.passes.nests.loop_ranges import LoopRange
from gpucodegen.passes.outlining.kernel_operations import lane_bits
from gpucodegen.passes.vectorize.recognize import (
    ContiguousAccess,
    LoopBody,
    layout_of,
)
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import Machine
from gpucodegen.tiling.machine.vectorization import InnerLoop, goes_past_caches

BITS = frozenset({32, 64})
"""Widths of elements whose vectors fill a register."""
MOVED = BITS | {8, 16}
"""Widths of elements whose vectors fill a register if they are only moved."""


@dataclass(frozen=True, slots=True)
class EnclosingLoop:
    """An enclosing loop: its variable, and its trip count or None.

    ``reads``: the buffers that are loaded in it.
    """

    iv: Value
    trips: int | None
    reads: frozenset[Value] = frozenset()


EnclosingLoops = tuple[EnclosingLoop, ...]

LOADS = frozenset(
    "affine.load affine.vector_load memref.load vector.load vector.transfer_read "
    "vector.maskedload".split()
)


def reads_of(op: Operation) -> frozenset[Value]:
    """The buffers that an operation, or one nested in it, loads from."""
    return frozenset(o.operands[0] for o in op.walk() if o.name in LOADS)


def mark_streaming(
    body: LoopBody, loops: Sequence[EnclosingLoop], machine: Machine
) -> ContiguousAccess | None:
    """Mark the streaming stores of a body; returns the first one, if any.

    The body must support masks: iterations before the first aligned vector are masked.
    ``loops``: the enclosing loops, the body's own last.
    """
    read = {s.memref for op, s in body.accesses.items() if op.results}
    read = read.union(*(loop.reads for loop in loops))
    stores = {op: s for op, s in body.accesses.items() if not op.results}
    trips = loops[-1].trips
    chosen = [
        op
        for op, store in stores.items()
        if store.memref not in read
        and body.takes_masks
        and _is_plain(store, MOVED if body.moves else BITS)
        and body.has_place_outside(store)
        and goes_past_caches(
            footprint(body.accesses.values(), store, loops),
            machine,
            trips and trips * _size(store),
        )
    ]
    body.streaming.update(chosen)
    return stores[chosen[0]] if chosen else None


def inner_loop(body: LoopBody, trips: int | None) -> InnerLoop:
    """The planner's input for a body; narrow elements fill vectors when only moved."""
    moves = bool(body.streaming) and body.moves
    return InnerLoop(trips, frozenset(body.bits), moves)


def _is_plain(store: ContiguousAccess, widths: AbstractSet[int]) -> bool:
    """Whether elements of these widths fill registers in their memory layout."""
    form = layout_of(store.memref)
    known = form is not None and None not in form.strides
    bits = lane_bits(element_type(store.memref.type))
    return known and store.is_last and bits in widths and bits == 8 * _size(store)


class MemoryAccess(Protocol):
    """Elements of a buffer."""

    @property
    def memref(self) -> Value: ...

    @property
    def indices(self) -> tuple[Index, ...]: ...


def footprint(
    accesses: Collection[MemoryAccess],
    store: MemoryAccess,
    loops: Sequence[EnclosingLoop],
) -> int:
    """Bytes of all arrays that the loops touch while each iteration stores elsewhere.

    Loops of unknown extent count as one iteration.
    """
    moving = {value for index in store.indices for value in index.values}
    chain = list(takewhile(lambda loop: loop.iv in moving, reversed(loops)))
    largest = {access.memref: 0 for access in accesses}
    for access in accesses:
        values = {value for index in access.indices for value in index.values}
        cells = prod(loop.trips or 1 for loop in chain if loop.iv in values)
        bytes_ = cells * _size(access)
        largest[access.memref] = max(largest[access.memref], bytes_)
    return sum(largest.values())


def _size(access: MemoryAccess) -> int:
    return -(-element_bits(element_type(access.memref.type)) // 8)


def misalignment(start: ContiguousAccess, address: Value, lanes: int) -> Index:
    """Elements from ``start`` to the next multiple of ``lanes`` elements.

    ``address``: that of the buffer in bytes, a multiple of the size of an element.
    """
    form = layout_of(start.memref)
    assert form is not None
    position = Index.of(address) // _size(start)
    for index, stride in zip(start.indices, form.strides, strict=True):
        position = position + index * (stride or 0)
    return (position * -1) % lanes


@dataclass(slots=True)
class Widened:
    """Iterations ``first`` to ``first + lanes`` of a body, put into a builder.

    ``left``: how many of them exist, if that may be fewer than lanes.  ``ready``: loads
    whose vectors are available already.
    """

    body: LoopBody
    b: Builder
    first: Index
    lanes: int
    left: Value | None = None
    scalars: dict[Value, Value] = field(default_factory=dict[Value, Value])
    vectors: dict[Value, Value] = field(default_factory=dict[Value, Value])
    mask: Value | None = None
    ready: Mapping[Operation, Value] = field(default_factory=dict[Operation, Value])

    def build(self) -> None:
        if self.left is not None:
            (self.mask,) = self.b.add(
                "vector.create_mask", (self.left,), [VectorType((self.lanes,), I1)]
            )
        for op in self.body.operations:
            self.b.location = op.location
            self.operation(op)

    def operation(self, op: Operation) -> None:
        access = self.body.accesses.get(op)
        if access is not None and op.results:
            loaded = self.ready.get(op) or self._load(access, op.result)
            self.vectors[op.result] = loaded
        elif access is not None:
            self._store(op, access)
        elif not self.body.is_varying(op):
            self.b.operations.append(clone(op, self.scalars))
        elif op.name == "affine.apply":
            self.vectors[op.result] = self._positions(op)
        else:
            self._elementwise(op)

    def _type(self, value: Value) -> VectorType:
        return VectorType((self.lanes,), value.type)

    def _elementwise(self, op: Operation) -> None:
        condition = op.operands[:1] if op.name == "arith.select" else ()
        operands = [
            self._scalar(v)
            if v in condition and v not in self.body.varying
            else self.vector(v)
            for v in op.operands
        ]
        results = tuple(v.renewed(self._type(v)) for v in op.results)
        self.vectors.update(zip(op.results, results, strict=True))
        made = op.with_(operands=tuple(operands), results=results)
        self.b.operations.append(made)

    def _scalar(self, value: Value) -> Value:
        return self.scalars.get(value, value)

    def vector(self, value: Value) -> Value:
        """A value in all lanes: one vector, or a scalar broadcast."""
        if value not in self.vectors:
            if value is self.body.iv:
                self.vectors[value] = self._counting(self.first, 1, value.name)
            else:
                self.vectors[value] = self._broadcast(self._scalar(value))
        return self.vectors[value]

    def _broadcast(self, scalar: Value) -> Value:
        ty, hint = self._type(scalar), scalar.name
        return self.b.value("vector.broadcast", (scalar,), ty, hint=hint)

    def _positions(self, op: Operation) -> Value:
        """``affine.apply`` of the variable: a start and equal steps."""
        (index,) = from_map(affine.map_of(op), op.operands)
        step = self.body.coefficient(index)
        assert step is not None
        return self._counting(self.placed(index), step, op.result.name)

    def _counting(self, first: Index, step: int, hint: str) -> Value:
        ty = VectorType((self.lanes,), INDEX)
        lanes = self.b.value("vector.step", (), ty, hint="lane")
        if step != 1:
            factor = self._broadcast(self.b.constant(step, INDEX))
            lanes = self.b.value("arith.muli", (lanes, factor), ty, hint="lane")
        start = self._broadcast(self.b.index(first))
        return self.b.value("arith.addi", (start, lanes), ty, hint=hint)

    def placed(self, index: Index) -> Index:
        """An index at the first of the iterations."""
        known = {old: Index.of(new) for old, new in self.scalars.items()}
        return replace_values(index, {**known, self.body.iv: self.first})

    def at_first(self, access: ContiguousAccess) -> ContiguousAccess:
        """An access at the first of the iterations."""
        memref = self._scalar(access.memref)
        indices = tuple(map(self.placed, access.indices))
        return replace(access, memref=memref, indices=indices)

    def _load(self, access: ContiguousAccess, value: Value) -> Value:
        access, ty = self.at_first(access), self._type(value)
        indices = access.indices
        if not access.is_last:
            return self.b.transfer_read(
                access.memref, indices, ty, [access.dimension], hint=value.name
            )
        if self.mask is None:
            return self.b.affine_vector_load(access.memref, indices, ty, value.name)
        nothing = self.b.constant(0, ty)
        return self.b.masked_load(
            access.memref, indices, self.mask, nothing, value.name
        )

    def _store(self, op: Operation, access: ContiguousAccess) -> None:
        vector, access = self.vector(op.operands[0]), self.at_first(access)
        indices = access.indices
        if op in self.body.streaming and self.mask is None:
            self.b.streaming_store(vector, access.memref, indices)
        elif not access.is_last:
            self.b.transfer_write(vector, access.memref, indices, [access.dimension])
        elif self.mask is None:
            self.b.affine_vector_store(vector, access.memref, indices)
        else:
            self.b.masked_store(vector, access.memref, indices, self.mask)


def range_of(op: Operation) -> LoopRange | None:
    """The range of an ``affine.for`` with steps of one."""
    loop = affine.For(op)
    if loop.step != 1:
        return None
    lowers, uppers = bounds_of(loop)
    return LoopRange(tuple(lowers), tuple(uppers))


def parallel_range(op: Operation) -> LoopRange | None:
    """The range of an ``affine.parallel`` over one variable in steps of one."""
    loop = affine.Parallel(op)
    if loop.steps != (1,) or op.results:
        return None
    return LoopRange(
        tuple(from_map(loop.lower_maps[0], loop.lower_operands)),
        tuple(from_map(loop.upper_maps[0], loop.upper_operands)),
    )


RANGES: dict[str, Callable[[Operation], LoopRange | None]] = {
    "affine.for": range_of,
    "affine.parallel": parallel_range,
}


def range_in(op: Operation) -> LoopRange | None:
    """The range of a loop of either kind; None for other loops."""
    range_of_kind = RANGES.get(op.name)
    return range_of_kind and range_of_kind(op)


def variables_of(op: Operation) -> tuple[Value, ...]:
    """The variable of either kind of loop; empty for other operations."""
    return op.body.arguments[:1] if op.name in RANGES else ()


BuildRange = Callable[[Builder, LoopRange], None]


def in_blocks(
    op: Operation, whole: LoopRange, size: int, build: BuildRange, *, counted: bool
) -> Operation:
    """An ``affine.parallel`` over blocks of a range, whose bodies ``build`` creates.

    ``counted``: a last, shorter block gets a separate body.
    """
    (iv,) = op.body.arguments
    first, inner = Value(iv.type, iv.name, iv.location), Builder(op.location)
    full = LoopRange((Index.of(first),), (Index.of(first) + size,))
    if whole.constant_trips is None or not counted:
        build(inner, LoopRange(full.lowers, (*full.uppers, *whole.uppers)))
    else:
        full_blocks, (end,) = whole.constant_trips // size, whole.uppers
        last = LoopRange((compact(whole.lowers[0] + full_blocks * size),), (end,))
        inner.guard(
            [compact(end - first) - size] if last.constant_trips else [],
            lambda i: build(i, full),
            lambda i: build(i, last),
        )
    inner.add("affine.yield")
    steps = ArrayAttr((IntegerAttr(size, I64),))
    body = single_block(inner.operations, (first,))
    return op.with_attribute("steps", steps).with_(regions=(body,))


def vector_loop(b: Builder, body: LoopBody, range_: LoopRange, lanes: int) -> None:
    """Run the body over the range, ``lanes`` iterations at once."""
    if range_.constant_trips is None:
        _open_ended(b, body, range_, lanes)
    else:
        _counted(b, body, range_.lowers[0], range_.constant_trips, lanes)


def until_aligned(
    b: Builder,
    body: LoopBody,
    range_: LoopRange,
    lanes: int,
    first: ContiguousAccess,
    address: Value,
) -> LoopRange:
    """Run the iterations before ``first`` is aligned to lanes; returns the rest.

    ``address``: that of the buffer of ``first``; the range has one lower bound.
    """
    (lower,) = range_.lowers
    start = Widened(body, b, lower, lanes).at_first(first)
    head = misalignment(start, address, lanes)
    left = b.smallest([head, *(upper - lower for upper in range_.uppers)], "head")
    Widened(body, b, lower, lanes, left).build()
    return LoopRange((lower + head,), range_.uppers)


def _counted(b: Builder, body: LoopBody, first: Index, trips: int, lanes: int) -> None:
    full, rest = divmod(trips, lanes)
    end = compact(first + full * lanes)

    def vectors(inner: Builder, at: Index | Value) -> None:
        Widened(body, inner, Index.of(at), lanes).build()

    if full == 1:
        vectors(b, first)
    elif full:
        b.loop(first, end, vectors, step=lanes, hint=body.iv.name)
    if rest:
        Widened(body, b, end, rest).build()


def _open_ended(b: Builder, body: LoopBody, range_: LoopRange, lanes: int) -> None:
    def vectors(inner: Builder, iv: Value) -> None:
        at, left = Index.of(iv), [upper - iv for upper in range_.uppers]

        def full(i: Builder) -> None:
            Widened(body, i, at, lanes).build()

        def masked(i: Builder) -> None:
            Widened(body, i, at, lanes, i.smallest(left, "left")).build()

        inner.guard([count - lanes for count in left], full, masked)

    lowers: Sequence[Index] = range_.lowers
    b.loop(lowers, range_.uppers, vectors, step=lanes, hint=body.iv.name)
