"""Views of buffers in the forms that later passes know.

`ReshapesToCasts` turns ``memref.collapse_shape`` and ``memref.expand_shape`` with
dynamic strides or extents into ``memref.reinterpret_cast``, after checks that the
shapes fit. With extents n and strides s of the larger shape, a group of dimensions d..e
is one of the smaller shape, and over the dimensions of the group whose extent is not 1:

    collapse: s_i = n_(i+1) * s_(i+1) must hold; the stride is the last of them
    expand:   n_d * .. * n_e must be the extent; s_i = n_(i+1) * s_(i+1)

A reshape in a loop or a branch is checked before the outermost one around it; if its
operands are not known there, it stays.

`SlicesToViews` turns ``linalg.slice`` of 2019 by ranges into ``memref.subview``.

`RebaseViews` rewrites ``memref.reinterpret_cast`` of a view as one of the view's
buffer, since its offset counts from the start of the buffer.  Where the buffer is not
known, ``gcg.from_buffer`` makes the runtime find it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import ClassVar

from gpucodegen.dialects import memref
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.memref import FROM_BUFFER, Mixed, Slice
from gpucodegen.dialects.memref.checks import static
from gpucodegen.dialects.memref.layouts import (
    Strided,
    plus,
    strided_form,
    times,
    with_strides,
)
from gpucodegen.dialects.memref.reshapes import groups_of
from gpucodegen.ir.attributes import IntegerAttr, StridedLayoutAttr, UnitAttr
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import INDEX, MemRefType
from gpucodegen.passes.checks.access_checks import (
    Definitions,
    is_open,
    stated,
    strided_metadata,
)
from gpucodegen.passes.checks.guard_conditions import (
    FIT,
    Check,
    ConditionBuilder,
    refusing,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import (
    definitions,
    in_functions,
    with_blocks,
    without_dead_code,
)
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.flatten_elements import with_columns
from gpucodegen.records import dataclass

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
class RebaseViews(ModulePass, name="rebase-views"):
    """Offsets of reinterpretations become those of their operand's first element."""

    looks_for: ClassVar[frozenset[str]] = frozenset({CAST})

    def apply(self, module: Module) -> Module:
        operations = list(module.walk())
        views = {op.results[0]: op for op in operations if op.name in VIEWS}
        whole = {v for op in operations for v in _whole(op)}

        def rewrite(op: Operation) -> list[Operation] | None:
            return _rebased(op, views, whole) if op.name == CAST else None

        (root,) = rewrite_bottom_up(module.operation, rewrite)
        return Module(root)


def _whole(op: Operation) -> tuple[Value, ...]:
    """Buffers of callers, and new ones, whose offset is 0 by default."""
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
    """The offset of the first element in its buffer; None if unknown."""
    layout = base.type.layout if isinstance(base.type, MemRefType) else None
    return layout.offset if isinstance(layout, StridedLayoutAttr) else 0


def _less(b: Builder, offset: Mixed, skipped: int) -> Mixed:
    if isinstance(offset, int):
        return offset - skipped
    return b.index(Index.of(offset) - skipped) if skipped else offset


@dataclass(frozen=True, slots=True)
class SlicesToViews(
    ModulePass, name="slices-to-views", looks_for="linalg.range linalg.slice"
):
    """``linalg.slice`` becomes ``memref.subview``; indices drop their dimension."""

    def apply(self, module: Module) -> Module:
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
        difference = b.value("arith.subi", (high, low), INDEX)
        return b.value("arith.ceildivsi", (difference, step), INDEX)


def _subview(b: Builder, source: Value, parts: list[_Part], ty: MemRefType) -> Value:
    columns = (
        [part.offset for part in parts],
        [part.size for part in parts],
        [part.stride for part in parts],
    )
    view = b.value("memref.subview", [source], ty)
    b.operations[-1] = with_columns(b.operations[-1], columns)
    return view


COLLAPSE, EXPAND = "memref.collapse_shape", "memref.expand_shape"


@dataclass(frozen=True, slots=True)
class ReshapesToCasts(ModulePass, name="reshapes-to-casts"):
    """Reshapes of open extents or strides become casts that compute them."""

    looks_for: ClassVar[frozenset[str]] = frozenset({COLLAPSE, EXPAND})

    def apply(self, module: Module) -> Module:
        if not any(map(_is_open, module.walk())):
            return module
        return in_functions(module, lambda function: [_rewritten(function)])


def _is_open(op: Operation) -> bool:
    """Whether extents or strides of a reshape are dynamic."""
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
    """An operation of a function's body, after the checks of its regions."""
    inside = {v for op in top.walk() if op is not top for v in op.results}
    blocks = (b for op in top.walk() for b in op.blocks)
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
    """A reshape, and the builder of the columns of its ``reinterpret_cast``."""

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
        """A stride, its expected value, and whether the dimensions do not join."""
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
        return self.c.b.value("arith.select", (condition, one, other), INDEX)

    def _check(self, number: int, one: Value, other: Value, bad: Value) -> Check:
        is_join = self.op.name == COLLAPSE
        names = ("stride", "stride of joined") if is_join else ("extent", "reshaped")
        known = tuple(zip(names, (one, other), strict=True))
        name = self.op.operands[0].name
        return Check(self.op.location, name, FIT, number, known, bad)

    def _mixed(self, value: Value) -> memref.Mixed:
        return self.c.numbers.get(value, value)
