"""Vectorizable innermost loops: classification of their accesses and operations.

An access is *uniform* if it is loop-invariant, *contiguous* if each iteration moves it
to the next element in memory.  Values that differ between iterations are *varying*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from gpucodegen.dialects import affine
from gpucodegen.dialects.memref.layouts import Strided, strided_form
from gpucodegen.ir.affine import AffineExpr, AffineMap, Dim, leaves, linear_form
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import IndexType, MemRefType
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import Index, from_map, replace_values
from gpucodegen.passes.outlining.kernel_operations import ELEMENTWISE, lane_bits
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class ContiguousAccess:
    """An access to consecutive elements along one dimension of a buffer."""

    memref: Value
    indices: tuple[Index, ...]
    dimension: int

    @property
    def is_last(self) -> bool:
        """Whether the dimension is the last one, as vector accesses require."""
        return self.dimension == len(self.indices) - 1


@dataclass(slots=True)
class LoopBody:
    """The operations of a loop body, classified.

    ``accesses``: its loads and stores that are not uniform; ``varying``: the values
    that differ between iterations, the variable included; ``streaming``: its streaming
    stores; ``positions``: its uniform indices, in terms of values defined outside.
    """

    iv: Value
    operations: tuple[Operation, ...]
    accesses: dict[Operation, ContiguousAccess] = field(
        default_factory=dict[Operation, ContiguousAccess]
    )
    varying: set[Value] = field(default_factory=set[Value])
    bits: set[int] = field(default_factory=set[int])
    streaming: set[Operation] = field(default_factory=set[Operation])
    positions: dict[Value, Index] = field(default_factory=dict[Value, Index])

    @property
    def takes_masks(self) -> bool:
        """Whether the number of active lanes may be dynamic."""
        return all(access.is_last for access in self.accesses.values())

    @property
    def moves(self) -> bool:
        """Whether it only moves elements: loads and stores."""
        rest = (op for op in self.operations if op not in self.accesses)
        return not any(map(self.is_varying, rest))

    def is_varying(self, op: Operation) -> bool:
        """Whether an operand of ``op`` itself differs between iterations."""
        return any(value in self.varying for value in op.operands)

    def admit(self, op: Operation) -> bool:
        """Classify one operation; False if it has no vector form."""
        match op.name:
            case "affine.load":
                load = affine.Load(op)
                indices = self._indices(load.map, load.map_operands)
                moves = self._moves(indices)
                return not moves or self._access(op, load.memref, indices)
            case "affine.store":
                store = affine.Store(op)
                indices = self._indices(store.map, store.map_operands)
                return self._access(op, store.memref, indices)
            case _:
                return self._value(op)

    def _indices(self, map_: AffineMap, operands: Sequence[Value]) -> list[Index]:
        return [replace_values(i, self.positions) for i in from_map(map_, operands)]

    def _moves(self, indices: Sequence[Index]) -> bool:
        return any(self.varying.intersection(index.values) for index in indices)

    def _access(self, op: Operation, memref: Value, indices: Sequence[Index]) -> bool:
        dimension = self._dimension(memref, indices)
        if dimension is None or not self.holds((*op.operands[:1], *op.results)):
            return False
        self.accesses[op] = ContiguousAccess(memref, tuple(indices), dimension)
        self.varying.update(op.results)
        return True

    def _dimension(self, memref: Value, indices: Sequence[Index]) -> int | None:
        """The only dimension that the variable moves, with coefficient one."""
        form = layout_of(memref)
        moved = [d for d, index in enumerate(indices) if self._moves([index])]
        if form is None or len(moved) != 1 or form.strides[moved[0]] != 1:
            return None
        return moved[0] if self.coefficient(indices[moved[0]]) == 1 else None

    def coefficient(self, index: Index) -> int | None:
        """Factor of the variable in an index; None if it is not linear in it."""
        if self.iv not in index.values:
            return None if self.varying.intersection(index.values) else 0
        position = Dim(index.values.index(self.iv))
        terms, _ = linear_form(index.expr)
        others = [term for term in terms if term != position]
        if any(_mentions(term, position) for term in others):
            return None
        others_vary = self.varying.intersection(index.values) - {self.iv}
        return None if others_vary else terms.get(position)

    def _value(self, op: Operation) -> bool:
        if op.regions or not has_no_effect(op):
            return False
        if not self.is_varying(op):
            index = self._position(op)
            if index is not None:
                self.positions[op.result] = index
            return True
        if op.name == "affine.apply":
            (index,) = from_map(affine.map_of(op), op.operands)
            known = self.coefficient(index) is not None
        else:
            known = op.name in ELEMENTWISE
        if not known or not self.holds((*op.operands, *op.results)):
            return False
        self.varying.update(op.results)
        return True

    def _position(self, op: Operation) -> Index | None:
        """A uniform index in terms of values defined outside, or None."""
        match op.name, op.attributes.get("value"):
            case "affine.apply", _:
                return self._indices(affine.map_of(op), op.operands)[0]
            case "arith.constant", IntegerAttr(value=number, type=IndexType()):
                return Index.of(number)
            case _:
                return None

    def has_place_outside(self, access: ContiguousAccess) -> bool:
        """Whether its start is known in front of the loop."""
        made = {value for op in self.operations for value in op.results}
        return not any(made.intersection(index.values) for index in access.indices)

    def holds(self, values: Sequence[Value]) -> bool:
        """Whether vectors can hold the values; buffers are ignored."""
        widths = [
            lane_bits(v.type) for v in values if not isinstance(v.type, MemRefType)
        ]
        self.bits.update(bits for bits in widths if bits)
        return None not in widths


def layout_of(buffer: Value) -> Strided | None:
    """Offset and strides of a buffer, if it has them."""
    ty = buffer.type
    return strided_form(ty) if isinstance(ty, MemRefType) else None


def _mentions(expr: AffineExpr, position: AffineExpr) -> bool:
    return any(leaf == position for leaf in leaves(expr))


def recognize(iv: Value, operations: Sequence[Operation]) -> LoopBody | None:
    """The body of a loop over ``iv``, its terminator left out, if it has a vector form.

    Its accesses must be contiguous, loads may be uniform; nothing else touches memory.
    """
    body = LoopBody(iv, tuple(operations), varying={iv})
    if not all(body.admit(op) for op in operations) or not body.accesses:
        return None
    body.operations = tuple(op for op in operations if not _is_dead(op, body))
    return body


def _is_dead(op: Operation, body: LoopBody) -> bool:
    """Whether a position is used by indices of accesses only."""
    folded = any(value in body.positions for value in op.results)
    return folded and not any(op.result in _data(o, body) for o in body.operations)


def _data(op: Operation, body: LoopBody) -> Sequence[Value]:
    """The operands of an operation that are no indices: the stored value."""
    if op not in body.accesses:
        return op.operands
    return () if op.results else op.operands[:1]
