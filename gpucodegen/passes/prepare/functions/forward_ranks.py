"""Values whose rank is known only where they were cast get it back.

Comes in: inlined functions with ``memref<*xf32>`` or ``tensor<*xf32>`` in their middle.
Goes out: casts, ``dim``, ``rank`` and accesses of the ranked values before them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import (
    INDEX,
    MemRefType,
    TensorType,
    UnrankedMemRefType,
    UnrankedTensorType,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.prepare.affine.dead_code import without_dead_code

_CASTS = frozenset({"memref.cast", "tensor.cast"})
_RANKS = frozenset({"memref.rank", "tensor.rank"})


@dataclass(frozen=True, slots=True)
class ForwardRanks(ModulePass):
    """Bridge casts through types without a rank."""

    name: ClassVar[str] = "forward-ranks"

    def apply(self, module: Module) -> Module:
        """Rewrite all uses of casts that forgot a rank; the casts die."""
        forwarder = _Forwarder()
        (root,) = rewrite_bottom_up(module.operation, forwarder.rewrite)
        if not forwarder.ranked:
            return module
        return Module(without_dead_code(root))


@dataclass(slots=True)
class _Forwarder:
    """``ranked``: what a value without a rank was cast from."""

    ranked: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def rewrite(self, op: Operation) -> list[Operation] | None:
        if op.name in _CASTS and _is_unranked(op.result):
            source = op.operands[0]
            if source in self.ranked or not _is_unranked(source):
                self.ranked[op.result] = self.ranked.get(source, source)
            return None
        if not op.operands or op.operands[0] not in self.ranked:
            return None
        source, *rest = (self.ranked[op.operands[0]], *op.operands[1:])
        if op.name in _RANKS:
            return [_rank(op, source)]
        if op.name in _CASTS and not _fits(source, op.result):
            return None
        is_use = op.name in _CASTS or op.name in _USES
        return [op.with_(operands=(source, *rest))] if is_use else None


_USES = frozenset({"memref.dim", "tensor.dim", "tensor.extract"})


def _is_unranked(value: Value) -> bool:
    return isinstance(value.type, UnrankedMemRefType | UnrankedTensorType)


def _fits(source: Value, result: Value) -> bool:
    """Whether a cast can succeed; where the rank was asked for, others are dead."""
    ranks = [getattr(value.type, "rank", None) for value in (source, result)]
    return None in ranks or ranks[0] == ranks[1]


def _rank(op: Operation, source: Value) -> Operation:
    assert isinstance(source.type, MemRefType | TensorType)
    rank = IntegerAttr(len(source.type.shape), INDEX)
    return Operation(
        "arith.constant",
        results=op.results,
        attributes={"value": rank},
        location=op.location,
    )
