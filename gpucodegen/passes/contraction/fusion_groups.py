"""Fusion groups of a block: each contraction with the nests fused into it.

The first reduction block computes the prologue in registers, the last block the
epilogue (`epilogue_fusion`).  Buffers that nothing reads any more are neither stored
nor allocated.

`padding_of` recognises buffers that hold an array with a border of zeros.  A kernel
that copies tiles of such a buffer may copy from the array instead, which leaves the
buffer unused.  Stores must fill boxes of its elements with zeros or, from elements e of
the array, those at e + shift:

    copied = { c in buffer : c - shift in array },   copied or zeros = buffer

and zeros that are stored to copied elements come before the copies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import chain, pairwise, product, takewhile
from types import MappingProxyType

from gpucodegen.dialects.arith import constant_value
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings, lift_operations
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.contraction.epilogue_fusion import Alone, EpilogueGroup, Mapped
from gpucodegen.passes.contraction.operands import (
    Operand,
    access,
    coefficients,
)
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.framework.functions import all_used, has_no_effect
from gpucodegen.passes.framework.indexing import Index, replace_values
from gpucodegen.passes.framework.nests import Axis, axis_of, inner_operations
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.scop import statements

Box = tuple[range, ...]
"""Cells of a buffer: a range of each index."""


@dataclass(frozen=True, slots=True)
class Padding:
    """A buffer whose cell c is the array's c - ``shift``, or zero outside the array."""

    array: Value
    shift: tuple[int, ...]

    def seen(self, operand: Operand) -> Operand:
        """The array at a place of the buffer."""
        pairs = zip(operand.indices, self.shift, strict=True)
        return Operand(self.array, tuple(index - by for index, by in pairs))


def unpadded(
    contraction: Contraction,
    before: Sequence[Operation],
    running: Sequence[Operation],
    surroundings: Surroundings,
) -> Contraction | None:
    """The contraction that reads the array of which operand B is a padded copy.

    ``before``: operations in front; ``running``: the contraction's nest, and those that
    are fused with it.  None of them may write the array once it is copied.
    """
    buffer = contraction.right.memref
    nests = [op for op in before if op.name == "affine.for" and _mentions(op, buffer)]
    constants = {op.result: op for op in before if op.name == "arith.constant"}
    padding = padding_of(buffer, nests, constants)
    if padding is None or not contraction.is_plain:
        return None
    start = before.index(nests[0])
    during = [*before[start:], *running]
    lifted = lift_operations(during, before[:start], surroundings)
    names = lifted.names_of(padding.array)
    every = statements(lifted.scop.body)
    written = {a.array for found in every for a in found.accesses if a.writes}
    if not names or not written.isdisjoint(names):
        return None
    return replace(contraction, unpadded=padding.seen(contraction.right))


def _mentions(op: Operation, buffer: Value) -> bool:
    return any(buffer in inner.used for inner in op.walk())


def padding_of(
    buffer: Value, nests: Sequence[Operation], constants: Mapping[Value, Operation]
) -> Padding | None:
    """The array of which a buffer is a padded copy, if nests store nothing else.

    ``nests``: the writers, in order; ``constants``: those defined outside of them.
    """
    shape = _shape(buffer)
    writes = _Writes(buffer, dict(constants))
    if shape is None or not all(writes.add(nest) for nest in nests):
        return None
    if len(writes.copies) != 1:
        return None
    ((copy, found),) = writes.copies
    extents = _shape(found.array)
    if extents is None or len(extents) != len(shape):
        return None
    whole = tuple(
        range(max(0, by), min(size, by + extent))
        for size, extent, by in zip(shape, extents, found.shift, strict=True)
    )
    over = [zero for zero in writes.zeros if _meet(zero.box, copy.box)]
    if copy.box != whole or not all(zero.comes_before(copy) for zero in over):
        return None
    boxes = [copy.box, *(zero.box for zero in writes.zeros)]
    return found if _cover(boxes, shape) else None


@dataclass(frozen=True, slots=True)
class _Store:
    """The ``number``-th store, to ``place``, which fills a box."""

    number: int
    place: Operand
    axes: tuple[Axis, ...]
    box: Box

    def comes_before(self, other: _Store) -> bool:
        """Whether each cell that both fill is filled by this one first.

        It is if iterations of the loops around both fill different cells.
        """
        shared = [axis for axis in self.axes if axis in other.axes]
        return self.number < other.number and all(
            any(
                axis.iv in one.values and one == two
                for one, two in zip(
                    self.place.indices, other.place.indices, strict=True
                )
            )
            for axis in shared
        )


@dataclass(slots=True)
class _Writes:
    """The stores of some nests to a buffer: zeros, and elements of arrays."""

    buffer: Value
    constants: dict[Value, Operation]
    zeros: list[_Store] = field(default_factory=list[_Store])
    copies: list[tuple[_Store, Padding]] = field(
        default_factory=list[tuple[_Store, Padding]]
    )

    def add(
        self,
        op: Operation,
        axes: tuple[Axis, ...] = (),
        loads: Mapping[Value, Operation] = MappingProxyType({}),
    ) -> bool:
        """Whether an operation in loops is such a store or feeds one."""
        match op.name:
            case "affine.for":
                axis, body = axis_of(op), inner_operations(op)
                found = {o.result: o for o in body if o.name == "affine.load"}
                inner = () if axis is None else (*axes, axis)
                return bool(inner) and all(self.add(o, inner, found) for o in body)
            case "arith.constant":
                self.constants[op.result] = op
            case "affine.load":
                pass
            case "affine.store":
                return self._store(op, axes, loads)
            case _:
                return False
        return True

    def _store(
        self, op: Operation, axes: tuple[Axis, ...], loads: Mapping[Value, Operation]
    ) -> bool:
        place, value = access(op, axes), op.operands[0]
        box = _box(place, axes)
        if place.memref is not self.buffer or box is None:
            return False
        store = _Store(len(self.zeros) + len(self.copies), place, axes, box)
        if value in loads:
            padding = _shifted(place, access(loads[value], axes))
            self.copies += [(store, padding)] if padding else []
            return padding is not None
        constant = self.constants.get(value)
        self.zeros.append(store)
        return constant is not None and constant_value(constant) == 0


def _box(place: Operand, axes: Sequence[Axis]) -> Box | None:
    """The cells of a place, if every index is a distinct shifted axis or a constant."""
    found: list[range] = []
    seen: set[Value] = set()
    for index in place.indices:
        start = replace_values(index, dict.fromkeys(index.values, Index.of(0))).constant
        steps = coefficients(index)
        extents = [axis.extent for axis in axes if axis.iv in steps]
        is_new = seen.isdisjoint(steps) and set(steps.values()) <= {1}
        if start is None or len(index.values) > 1 or not is_new:
            return None
        if len(extents) != len(index.values):
            return None
        seen.update(steps)
        found.append(range(start, start + (extents[0] if extents else 1)))
    return tuple(found)


def _shifted(place: Operand, source: Operand) -> Padding | None:
    """The shift from a place to another one in another array."""
    if len(place.indices) != len(source.indices) or source.memref is place.memref:
        return None
    pairs = zip(place.indices, source.indices, strict=True)
    shift = [(one - other).constant for one, other in pairs]
    known = tuple(by for by in shift if by is not None)
    return Padding(source.memref, known) if len(known) == len(shift) else None


def _shape(buffer: Value) -> tuple[int, ...] | None:
    """Extents of a row-major buffer, if they are known."""
    ty = buffer.type
    if not isinstance(ty, MemRefType) or ty.layout is not None:
        return None
    known = tuple(extent for extent in ty.shape if extent is not None)
    return known if len(known) == len(ty.shape) else None


def _meet(one: Box, other: Box) -> bool:
    pairs = zip(one, other, strict=True)
    return all(max(a.start, b.start) < min(a.stop, b.stop) for a, b in pairs)


def _cover(boxes: Sequence[Box], shape: Sequence[int]) -> bool:
    """Whether boxes cover a shape: each piece between the boxes' ends is in one."""
    cuts = [
        sorted({0, size, *(end for box in boxes for end in _ends(box[d], size))})
        for d, size in enumerate(shape)
    ]
    pieces = product(*([range(a, b) for a, b in pairwise(along)] for along in cuts))
    return all(any(_meet(piece, box) for box in boxes) for piece in pieces)


def _ends(part: range, size: int) -> tuple[int, int]:
    return min(max(part.start, 0), size), min(max(part.stop, 0), size)


@dataclass(frozen=True, slots=True)
class FusionMember:
    """A nest, which ``alone`` maps unfused, or another operation.

    ``contraction``: the contraction that the nest computes, if a kernel runs it.
    ``others``: operations behind it that are mapped with it and never fused.
    """

    op: Operation
    alone: Alone | None = None
    contraction: Contraction | None = None
    others: tuple[Operation, ...] = ()


Lower = Callable[[Contraction], list[Operation] | None]
"""The operations for a contraction; None if its fused operations do not fit."""


@dataclass(frozen=True, slots=True)
class _Launched:
    """The nests of the last lowered contractions, and their operations."""

    nests: tuple[Operation, ...]
    operations: Sequence[Operation]


def _may_precede(op: Operation) -> bool:
    """Whether a launch may move behind an operation."""
    return op.name in ALLOCATIONS or has_no_effect(op)


@dataclass(slots=True)
class FusionGroups:
    """The nests and other operations of a block, in order.

    ``uses`` counts the uses of each value in the function. ``lower``: operations for a
    contraction, if its fused operations fit.  ``context``: operations before the block.
    ``strided``: kernels may store elements that are not side by side.  ``indexed``:
    epilogues may compute with loop variables.  ``join``: operations that run a
    contraction together with the last one that was lowered.
    """

    members: Sequence[FusionMember]
    lower: Lower
    uses: Mapping[Value, int]
    context: Sequence[Operation] = ()
    surroundings: Surroundings = field(default_factory=Surroundings)
    mapped: Mapped = field(default_factory=Mapped)
    dead: set[Value] = field(default_factory=set[Value])
    strided: bool = False
    indexed: bool = False
    join: Lower | None = None
    launched: _Launched | None = None

    def all_mapped(self) -> list[Operation]:
        """The operations that replace the members."""
        at = 0
        while at < len(self.members):
            at = self._contracted(at) or self._alone(at)
        self.mapped.close()
        return self._without_unused()

    def _alone(self, at: int) -> int:
        member = self.members[at]
        if member.op.name == "affine.for" and member.alone is not None:
            self.mapped.add_nest(member.op, member.alone)
        else:
            self.mapped.add([member.op] if member.alone is None else member.alone())
        return at + 1

    def _contracted(self, at: int) -> int:
        """The position after a contraction and its epilogue; 0: there is none.

        Nests that do not fit the contraction's kernel stay.
        """
        member = self.members[at]
        if member.contraction is None:
            return 0
        operations = [p.op for p in self.members]
        group = EpilogueGroup.of(
            *(member.op, member.contraction, self._before(at), self.surroundings),
            strided=self.strided,
            indexed=self.indexed,
        )
        if self.mapped.nest is not None:
            group = group.led_by(self.mapped.nest)
        if group.before is None:
            self.mapped.close()
        behind = takewhile(lambda m: not m.others, self.members[at + 1 :])
        group = group.followed_by([m.op for m in behind])
        alone = replace(group, after=())
        for found in (group, alone, replace(alone, before=None)):
            nests = [member.nest for member in found.members]
            end = operations.index(nests[-1]) + 1
            dead = self._dead_after(end)
            fused = found.fused(dead)
            joined = self._joined(fused, nests)
            made = joined or self._lowered(fused, at, end, dead)
            if made is not None:
                self.launched = _Launched(
                    (
                        *(self.launched.nests if joined and self.launched else ()),
                        *nests,
                    ),
                    made,
                )
                self.mapped.add([o for o in operations[at + 1 : end] if o not in nests])
                if found.before is not None:
                    self.mapped.drop_nest()
                if fused.right.memref in dead and not _uses(made)[fused.right.memref]:
                    self.mapped.drop_writers(fused.right.memref)
                self.mapped.add(made)
                self.dead |= dead
                return end
        raise AssertionError("a contraction alone has a kernel")

    def _joined(
        self, contraction: Contraction, nests: Sequence[Operation]
    ) -> list[Operation] | None:
        """One launch for a contraction and the ones before it, if none depends on it.

        The earlier launch moves here, which only allocations and pure operations may
        follow.
        """
        if self.join is None or self.launched is None:
            return None
        before = self.launched
        ends = [id(op) for op in before.operations]
        mapped = self.mapped.operations
        behind = list(takewhile(lambda op: id(op) not in ends, reversed(mapped)))
        if len(behind) == len(mapped) or not all(map(_may_precede, behind)):
            return None
        every = [*before.nests, *nests]
        start = [member.op for member in self.members].index(every[0])
        analysis = analyse(every, self._before(start), self.surroundings)
        if analysis.conflicts(before.nests, nests):
            return None
        made = self.join(contraction)
        if made is not None:
            self.mapped.operations = [op for op in mapped if id(op) not in ends]
        return made

    def _lowered(
        self, contraction: Contraction, at: int, end: int, dead: Collection[Value]
    ) -> list[Operation] | None:
        """Operations for a contraction, without a padded copy of operand B if possible.

        Where the copy is needed, the nests in front make it.
        """
        before, running = self._before(at), [m.op for m in self.members[at:end]]
        source = None
        if contraction.right.memref in dead:
            source = unpadded(contraction, before, running, self.surroundings)
        made = source and self.lower(source)
        return all_used(made) if made else self.lower(contraction)

    def _before(self, at: int) -> list[Operation]:
        members = self.members[:at]
        return [*self.context, *(op for m in members for op in (m.op, *m.others))]

    def _dead_after(self, end: int) -> set[Value]:
        """Buffers of this block that only nests before ``end`` use."""
        operations = [member.op for member in self.members]
        nests = (op for op in operations[:end] if op.name == "affine.for")
        used = _uses(nests) + _uses(op for op in operations if op.name == DEALLOC)
        made = {op.result for op in operations if op.name in ALLOCATIONS}
        return {value for value in made if used[value] == self.uses.get(value)}

    def _without_unused(self) -> list[Operation]:
        """The mapped operations without dead buffers that nothing uses any more."""
        used = _uses(op for op in self.mapped.operations if op.name != DEALLOC)
        gone = {value for value in self.dead if not used[value]}
        return [op for op in self.mapped.operations if not _is_of(op, gone)]


DEALLOC = "memref.dealloc"


def _uses(operations: Iterable[Operation]) -> Counter[Value]:
    return Counter(chain.from_iterable(map(_used, operations)))


@lru_cache(4096)
def _used(op: Operation) -> tuple[Value, ...]:
    """The values that an operation uses; each contraction of a block counts them."""
    return tuple(value for inner in op.walk() for value in inner.used)


def _is_of(op: Operation, buffers: Collection[Value]) -> bool:
    """Whether an operation allocates or frees one of the buffers."""
    if op.name == DEALLOC:
        return op.operands[0] in buffers
    return op.name in ALLOCATIONS and op.result in buffers
