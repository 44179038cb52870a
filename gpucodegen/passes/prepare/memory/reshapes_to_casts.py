"""Reshapes of buffers whose strides or extents only a call knows.

Input: ``memref.collapse_shape`` and ``memref.expand_shape``.  Output: the same elements
as a ``memref.reinterpret_cast`` of the operand, after checks that the shapes fit.  With
extents n and strides s of the larger shape, a group of dimensions d..e is one of the
smaller shape, and over the dimensions of the group whose extent is not 1:

    collapse: s_i = n_(i+1) * s_(i+1) must hold; the stride is the last of them
    expand:   n_d * .. * n_e must be the extent; s_i = n_(i+1) * s_(i+1)

A reshape in a loop or a branch is checked before the outermost one around it.  Where
its operands are not known there, it stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import memref
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.memref.reshapes import groups_of
from gpucodegen.ir.attributes import StridedLayoutAttr
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import INDEX, MemRefType
from gpucodegen.passes.checks.guards.checks import FIT, Check, refusing
from gpucodegen.passes.checks.guards.conditions import ConditionBuilder
from gpucodegen.passes.checks.guards.views import (
    Definitions,
    is_open,
    stated,
    strided_metadata,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import (
    definitions,
    in_functions,
    with_blocks,
)
from gpucodegen.passes.prepare.memory.flat_views import with_columns

COLLAPSE, EXPAND = "memref.collapse_shape", "memref.expand_shape"


@dataclass(frozen=True, slots=True)
class ReshapesToCasts(ModulePass):
    """Reshapes of open extents or strides become casts that compute them."""

    name: ClassVar[str] = "reshapes-to-casts"

    def apply(self, module: Module) -> Module:
        """Rewrite the reshapes of every function."""
        if not any(map(_is_open, module.walk())):
            return module
        return in_functions(module, lambda function: [_rewritten(function)])


def _is_open(op: Operation) -> bool:
    """Whether extents or strides of a reshape are not in its types."""
    return op.name in {COLLAPSE, EXPAND} and any(
        None in getattr(ty, "shape", ()) or is_open(ty)
        for ty in (op.operands[0].type, op.result.type)
    )


def _rewritten(function: Operation) -> Operation:
    defined = definitions(function)

    def rewritten(operations: Sequence[Operation]) -> list[Operation]:
        made: list[Operation] = []
        for op in operations:
            made += _outermost(op, defined)
        return made

    return with_blocks(function, rewritten)


def _outermost(top: Operation, defined: Definitions) -> list[Operation]:
    """An operation of a function's body, after the checks of what is in it."""
    inside = {v for op in top.walk() if op is not top for v in op.results}
    blocks = (b for op in top.walk() for region in op.regions for b in region.blocks)
    inside.update(v for block in blocks for v in block.arguments)
    first: list[Operation] = []

    def rewrite(op: Operation) -> list[Operation] | None:
        if not _is_open(op):
            return None
        op = op.with_(operands=(stated(op.operands[0], defined), *op.operands[1:]))
        if not inside.isdisjoint(op.operands):
            return None
        reshape = _Reshape(op, ConditionBuilder(Builder(op.location)))
        checks, columns = reshape.computed()
        first.extend([*reshape.c.b.operations, *map(refusing, checks)])
        cast = Operation("memref.reinterpret_cast", op.operands[:1], op.results)
        return [with_columns(cast.with_(location=op.location), columns)]

    made = rewrite_bottom_up(top, rewrite)
    return [*first, *made]


Columns = tuple[Sequence[memref.Mixed], ...]
"""The offset, the sizes and the strides of a cast."""


@dataclass(frozen=True, slots=True)
class _Reshape:
    """A reshape, and the builder of the numbers of the cast that replaces it."""

    op: Operation
    c: ConditionBuilder

    def computed(self) -> tuple[list[Check], Columns]:
        """Checks, and the columns of the cast."""
        source = self.op.operands[0]
        sizes, strides = self._form(source)
        groups = groups_of(self.op.attributes.get("reassociation"))
        checks: list[Check] = []
        new: list[tuple[Value, Value]] = []
        if self.op.name == COLLAPSE:
            for number, group in enumerate(groups):
                parts = [(sizes[d], strides[d]) for d in group]
                checks.append(self._check(number, *self._gap(parts, sizes)))
                new.append((self._product(n for n, _ in parts), self._last(parts)))
        else:
            dynamic = iter(self.op.operands[1:])
            static = self.op.numbers("static_output_shape")
            wanted = [
                self.c.value(next(dynamic) if n == memref.DYNAMIC_MARK else n)
                for n in static
            ]
            for number, group in enumerate(groups):
                given = [wanted[d] for d in group]
                pair = sizes[number], self._product(given)
                checks.append(self._check(number, *pair, self.c.differ(*pair)))
                new += self._spread(given, strides[number])
        ty = self.op.result.type
        layout = ty.layout if isinstance(ty, MemRefType) else None
        offset = layout.offset if isinstance(layout, StridedLayoutAttr) else 0
        start: memref.Mixed = self.c.value(0) if offset is None else offset
        columns = [self._mixed(value) for value, _ in new]
        steps = [self._mixed(value) for _, value in new]
        checks = [c for c in checks if not self.c.is_known(c.bad, holds=False)]
        return checks, ([start], columns, steps)

    def _form(self, source: Value) -> tuple[list[Value], list[Value]]:
        """Extents and strides of a buffer."""
        c, ty = self.c, source.type
        assert isinstance(ty, MemRefType)
        sizes = [c.extent(source, d) for d in range(ty.rank)]
        if not isinstance(ty.layout, StridedLayoutAttr):
            whole = [*sizes, c.value(1)]
            return sizes, [self._product(whole[d + 1 :]) for d in range(ty.rank)]
        if None not in ty.layout.strides:
            return sizes, [c.value(stride or 0) for stride in ty.layout.strides]
        numbers = strided_metadata(c.b, source)
        return sizes, [
            value if stride is None else c.value(stride)
            for value, stride in zip(numbers, ty.layout.strides, strict=True)
        ]

    def _product(self, numbers: Iterator[Value] | Sequence[Value]) -> Value:
        whole = self.c.value(1)
        for number in numbers:
            whole = number if self._mixed(whole) == 1 else self.c.times(whole, number)
        return whole

    def _last(self, parts: Sequence[tuple[Value, Value]]) -> Value:
        """The stride of the last dimension whose extent is not 1."""
        if not parts:
            return self.c.value(1)
        (_, step), *others = parts
        for extent, stride in others:
            step = self._chosen(self.c.differ(extent, self.c.value(1)), stride, step)
        return step

    def _gap(
        self, parts: Sequence[tuple[Value, Value]], sizes: Sequence[Value]
    ) -> tuple[Value, Value, Value]:
        """A stride, what it should be, and whether dimensions do not join."""
        c, one = self.c, self.c.value(1)
        shown = wanted = needed = one
        bad: list[Value] = []
        several = c.truth(holds=False)
        for extent, stride in reversed(parts):
            is_long = c.differ(extent, one)
            gap = c.every([is_long, several, c.differ(stride, needed)])
            shown = self._chosen(gap, stride, shown)
            wanted = self._chosen(gap, needed, wanted)
            bad.append(gap)
            needed = self._chosen(is_long, c.times(extent, stride), needed)
            several = c.some([several, is_long])
        zero = c.value(0)
        is_full = [c.differ(extent, zero) for extent in sizes]
        return shown, wanted, c.every([c.some(bad), *is_full])

    def _spread(
        self, extents: Sequence[Value], step: Value
    ) -> Iterator[tuple[Value, Value]]:
        """The dimensions of a group with their strides."""
        found: list[tuple[Value, Value]] = []
        for extent in reversed(extents):
            found.append((extent, step))
            step = self.c.times(step, extent)
        return reversed(found)

    def _chosen(self, condition: Value, one: Value, other: Value) -> Value:
        if self.c.is_known(condition, holds=True):
            return one
        if self.c.is_known(condition, holds=False) or one is other:
            return other
        return self.c.b.add("arith.select", (condition, one, other), [INDEX])[0]

    def _check(self, number: int, one: Value, other: Value, bad: Value) -> Check:
        is_join = self.op.name == COLLAPSE
        names = ("stride", "stride of joined") if is_join else ("extent", "reshaped")
        known = tuple(zip(names, (one, other), strict=True))
        name = self.op.operands[0].name
        return Check(self.op.location, name, FIT, number, known, bad)

    def _mixed(self, value: Value) -> memref.Mixed:
        return self.c.numbers.get(value, value)
