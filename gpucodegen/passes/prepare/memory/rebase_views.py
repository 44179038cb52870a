"""``memref.reinterpret_cast`` counts from the buffer, whatever view it is given.

Comes in: reinterpretations of views. Goes out: the same elements as reinterpretations
of the views' buffers, from their first element on.  Where nothing says which buffer it
is, the runtime knows, and ``gcg.from_buffer`` says that it is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.memref import FROM_BUFFER, Mixed, Slice
from gpucodegen.ir.attributes import StridedLayoutAttr, UnitAttr
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.memory.flat_views import with_columns

CAST = "memref.reinterpret_cast"
VIEWS = frozenset(
    "memref.assume_alignment memref.cast memref.collapse_shape memref.expand_shape "
    "memref.extract_strided_metadata memref.memory_space_cast memref.reinterpret_cast "
    "memref.reshape memref.subview memref.transpose".split()
)
"""Operations whose result has the buffer of their first operand."""
FUNCTIONS = frozenset({"func.func", "gpu.func"})
CHOOSING = frozenset({"affine", "arith", "scf"})
"""Dialects whose operations result in one of several views."""


@dataclass(frozen=True, slots=True)
class RebaseViews(ModulePass):
    """Offsets of reinterpretations become those of their operand's first element."""

    name: ClassVar[str] = "rebase-views"

    def apply(self, module: Module) -> Module:
        """Rewrite the reinterpretations of views."""
        operations = list(module.walk())
        if not any(op.name == CAST for op in operations):
            return module
        views = {op.results[0]: op for op in operations if op.name in VIEWS}
        whole = {v for op in operations for v in _whole(op)}

        def rewrite(op: Operation) -> list[Operation] | None:
            return _rebased(op, views, whole) if op.name == CAST else None

        (root,) = rewrite_bottom_up(module.operation, rewrite)
        return Module(root)


def _whole(op: Operation) -> tuple[Value, ...]:
    """Buffers of callers, and new ones: an offset that no type states is 0."""
    if op.name in FUNCTIONS:
        return op.regions[0].blocks[0].arguments if op.regions[0].blocks else ()
    return () if op.name in VIEWS or op.dialect in CHOOSING else op.results


def _rebased(
    op: Operation, views: Mapping[Value, Operation], whole: set[Value]
) -> list[Operation] | None:
    """The cast of a view's buffer; None where it is one already."""
    buffer = base = op.operands[0]
    while base in views:
        base = views[base].operands[0]
    skipped = 0 if base in whole and _offset(base) is None else _offset(base)
    if skipped is None:
        return [op.with_attribute(FROM_BUFFER, UnitAttr())]
    if base is buffer and not skipped:
        return None
    view, b = Slice(op), Builder(op.location)
    offsets = [_less(b, offset, skipped) for offset in view.offsets]
    cast = op.with_(operands=(base, *op.operands[1:]))
    b.operations.append(with_columns(cast, (offsets, view.sizes, view.strides)))
    return b.operations


def _offset(base: Value) -> int | None:
    """Where the first element is in its buffer; None where that is not known."""
    layout = base.type.layout if isinstance(base.type, MemRefType) else None
    return layout.offset if isinstance(layout, StridedLayoutAttr) else 0


def _less(b: Builder, offset: Mixed, skipped: int) -> Mixed:
    if isinstance(offset, int):
        return offset - skipped
    return b.index(Index.of(offset) - skipped) if skipped else offset
