"""``linalg.slice`` of 2019 by ranges becomes ``memref.subview``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.memref import Mixed
from gpucodegen.dialects.memref.checks import static
from gpucodegen.dialects.memref.layouts import (
    Strided,
    plus,
    strided_form,
    times,
    with_strides,
)
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import INDEX, MemRefType
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.affine.dead_code import without_dead_code
from gpucodegen.passes.prepare.memory.flat_views import with_columns


@dataclass(frozen=True, slots=True)
class SlicesToViews(ModulePass):
    """An index picks one element of its dimension, a range every step-th of some."""

    name: ClassVar[str] = "slices-to-views"

    def apply(self, module: Module) -> Module:
        """Rewrite all slices; the ranges become unused."""
        rewriter = _Rewriter()
        (root,) = rewrite_bottom_up(module.operation, rewriter.rewrite)
        return Module(without_dead_code(root)) if rewriter.ranges else Module(root)


@dataclass(frozen=True, slots=True)
class _Part:
    """Offset, size and stride in one dimension, and whether the dimension stays."""

    offset: Mixed
    size: Mixed = 1
    stride: Mixed = 1
    stays: bool = False


@dataclass(slots=True)
class _Rewriter:
    constants: dict[Value, int] = field(default_factory=dict[Value, int])
    ranges: dict[Value, tuple[Value, ...]] = field(
        default_factory=dict[Value, "tuple[Value, ...]"]
    )

    def rewrite(self, op: Operation) -> list[Operation] | None:
        value = op.attributes.get("value")
        if op.name == "arith.constant" and isinstance(value, IntegerAttr):
            self.constants[op.result] = value.value
        elif op.name == "linalg.range":
            self.ranges[op.result] = op.operands
        elif op.name == "linalg.slice":
            return self._view(op)
        return None

    def _view(self, op: Operation) -> list[Operation] | None:
        source, *entries = op.operands
        is_known = all(e.type == INDEX or e in self.ranges for e in entries)
        if not isinstance(source.type, MemRefType) or not is_known:
            return None
        form = strided_form(source.type)
        if form is None:
            return None
        b = Builder(op.location)
        parts = [self._part(b, entry) for entry in entries]
        offset = form.offset
        starts = static([part.offset for part in parts])
        for start, stride in zip(starts, form.strides, strict=True):
            offset = plus(offset, times(start, stride))
        steps = map(times, form.strides, static([part.stride for part in parts]))
        kept = [step for part, step in zip(parts, steps, strict=True) if part.stays]
        sizes = static([part.size for part in parts if part.stays])
        ty = with_strides(source.type, sizes, Strided(offset, tuple(kept)))
        view = _subview(b, source, parts, ty)
        cast = Operation("memref.cast", (view,), op.results, location=op.location)
        return [*b.operations, cast]

    def _part(self, b: Builder, entry: Value) -> _Part:
        if entry not in self.ranges:
            return _Part(self._number(entry))
        low, high, step = self.ranges[entry]
        size = self._extent(b, low, high, step)
        return _Part(self._number(low), size, self._number(step), stays=True)

    def _number(self, value: Value) -> Mixed:
        return self.constants.get(value, value)

    def _extent(self, b: Builder, low: Value, high: Value, step: Value) -> Mixed:
        """``ceildiv(high - low, step)``."""
        known = [self.constants.get(value) for value in (low, high, step)]
        if None not in known:
            first, last, by = (n or 0 for n in known)
            return -(-(last - first) // by) if by else 0
        (difference,) = b.add("arith.subi", (high, low), [INDEX])
        (extent,) = b.add("arith.ceildivsi", (difference, step), [INDEX])
        return extent


def _subview(b: Builder, source: Value, parts: list[_Part], ty: MemRefType) -> Value:
    columns = (
        [part.offset for part in parts],
        [part.size for part in parts],
        [part.stride for part in parts],
    )
    (view,) = b.add("memref.subview", [source], [ty])
    b.operations[-1] = with_columns(b.operations[-1], columns)
    return view
