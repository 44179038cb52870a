"""The body of a loop for several of its iterations at once, as vector operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import I1, INDEX, VectorType
from gpucodegen.passes.cpu.vectorize.recognize import ContiguousAccess, LoopBody
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, from_map, replace_values


@dataclass(slots=True)
class Widened:
    """Iterations ``first`` to ``first + lanes`` of a body, put into a builder.

    ``left``: how many of them exist, if that may be fewer than lanes.  ``ready``: loads
    whose vectors are there already.
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
        """Append the operations."""
        if self.left is not None:
            (self.mask,) = self.b.add(
                "vector.create_mask", (self.left,), [VectorType((self.lanes,), I1)]
            )
        for op in self.body.operations:
            self.b.location = op.location
            self.operation(op)

    def operation(self, op: Operation) -> None:
        """One operation of the body."""
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
        (vector,) = self.b.add("vector.broadcast", (scalar,), [ty], hint=hint)
        return vector

    def _positions(self, op: Operation) -> Value:
        """``affine.apply`` of the variable: a start and equal steps."""
        (index,) = from_map(affine.map_of(op), op.operands)
        step = self.body.coefficient(index)
        assert step is not None
        return self._counting(self.placed(index), step, op.result.name)

    def _counting(self, first: Index, step: int, hint: str) -> Value:
        ty = VectorType((self.lanes,), INDEX)
        (lanes,) = self.b.add("vector.step", (), [ty], hint="lane")
        if step != 1:
            factor = self._broadcast(self.b.constant(step, INDEX))
            (lanes,) = self.b.add("arith.muli", (lanes, factor), [ty], hint="lane")
        start = self._broadcast(self.b.index(first))
        (positions,) = self.b.add("arith.addi", (start, lanes), [ty], hint=hint)
        return positions

    def placed(self, index: Index) -> Index:
        """An index at the first of the iterations."""
        known = {old: Index.of(new) for old, new in self.scalars.items()}
        return replace_values(index, {**known, self.body.iv: self.first})

    def at_first(self, access: ContiguousAccess) -> ContiguousAccess:
        """An access at the first of the iterations."""
        return replace(access, indices=tuple(map(self.placed, access.indices)))

    def _load(self, access: ContiguousAccess, value: Value) -> Value:
        indices, ty = [self.placed(i) for i in access.indices], self._type(value)
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
        vector = self.vector(op.operands[0])
        indices = [self.placed(i) for i in access.indices]
        if op in self.body.streaming and self.mask is None:
            self.b.streaming_store(vector, access.memref, indices)
        elif not access.is_last:
            self.b.transfer_write(vector, access.memref, indices, [access.dimension])
        elif self.mask is None:
            self.b.affine_vector_store(vector, access.memref, indices)
        else:
            self.b.masked_store(vector, access.memref, indices, self.mask)
