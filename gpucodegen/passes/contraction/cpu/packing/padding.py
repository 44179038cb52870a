"""Buffers that hold an array with zeros around it.

A kernel that copies what it reads of such a buffer may copy from the array instead, and
the buffer is unused.  Stores fill boxes of its cells, with zeros or, from cells e of
the array, those at e + shift:

    copied = { c in buffer : c - shift in array },   copied or zeros = buffer

and zeros that are stored to copied cells come before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from types import MappingProxyType

from gpucodegen.dialects.arith import constant_value
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings, lift_operations
from gpucodegen.passes.contraction.recognition.operands import (
    Operand,
    access,
    coefficients,
)
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.indexing import Index, replace_values
from gpucodegen.passes.framework.nests import Axis, axis_of, inner_operations
from gpucodegen.tiling.model.scop import statements

Box = tuple[range, ...]
"""Cells of a buffer: a range of each index."""


@dataclass(frozen=True, slots=True)
class Padding:
    """A buffer whose cell c is the array's c - ``shift``, or zero if there is none."""

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
    """The contraction with the array that its right factor is a padded copy of.

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
    """What a buffer is a padded copy of, if that is all that some nests make.

    ``nests``: what writes it, in order; ``constants``: those defined outside of them.
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
    """A store to ``place``, the ``number``-th, which fills a box."""

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
    """What some nests store to a buffer: zeros, and elements of arrays."""

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
        """Whether an operation inside some loops does nothing else."""
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
    """The cells, if every index is an axis of its own, shifted, or a constant."""
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
    """Whether every cell is in a box: all pieces between the boxes' ends are."""
    cuts = [
        sorted({0, size, *(end for box in boxes for end in _ends(box[d], size))})
        for d, size in enumerate(shape)
    ]
    pieces = product(*([range(a, b) for a, b in pairwise(along)] for along in cuts))
    return all(any(_meet(piece, box) for box in boxes) for piece in pieces)


def _ends(part: range, size: int) -> tuple[int, int]:
    return min(max(part.start, 0), size), min(max(part.stop, 0), size)
