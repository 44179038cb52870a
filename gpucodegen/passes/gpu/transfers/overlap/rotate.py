"""Buffers with one more dimension in front: the slot that an iteration uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.dma import STARTS, TRANSFERS, ends_of, lengths_of
from gpucodegen.ir.attributes import AffineMapAttr, Attribute
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.passes.framework.indexing import Index, as_map, compact, from_map

ACCESSES = {
    "affine.load": 0,
    "affine.vector_load": 0,
    "affine.store": 1,
    "affine.vector_store": 1,
}
"""Where the memref stands among the operands."""


@dataclass(frozen=True, slots=True)
class Slots:
    """New buffers in place of old ones; every access is to one slot of them."""

    buffers: Mapping[Value, Value]
    slot: Index

    def of(self, operations: Sequence[Operation]) -> list[Operation]:
        """The operations with their accesses sent to the slot, and nothing released."""
        return [new for op in operations for new in rewrite_bottom_up(op, self._one)]

    def _one(self, op: Operation) -> list[Operation] | None:
        if not any(value in self.buffers for value in op.operands):
            return None
        if op.name in TRANSFERS:
            return [self._transfer(op)]
        return [self._access(op)] if op.name in ACCESSES else []

    def _place(self, memref: Value, indices: list[Index]) -> tuple[Value, list[Index]]:
        new = self.buffers.get(memref)
        return (memref, indices) if new is None else (new, [self.slot, *indices])

    def _access(self, op: Operation) -> Operation:
        at = ACCESSES[op.name]
        indices = from_map(affine.map_of(op), op.operands[at + 1 :])
        memref, places = self._place(op.operands[at], indices)
        map_, values = as_map([compact(place) for place in places])
        return op.with_(
            operands=(*op.operands[:at], memref, *values),
            attributes={**op.attributes, "map": AffineMapAttr(map_)},
        )

    def _transfer(self, op: Operation) -> Operation:
        is_start = op.name in STARTS
        names = ("src_map", "dst_map", "tag_map") if is_start else ("tag_map",)
        operands: list[Value] = []
        attributes: dict[str, Attribute] = {}
        for name, end in zip(names, ends_of(op), strict=True):
            memref, places = self._place(end.memref, from_map(end.map, end.operands))
            map_, values = as_map([compact(place) for place in places])
            operands += [memref, *values]
            attributes[name] = AffineMapAttr(map_)
        return op.with_(
            name="affine.dma_start" if is_start else "affine.dma_wait",
            operands=(*operands, *lengths_of(op)),
            attributes=attributes,
        )
