"""Contractions of narrow integers as contractions of words of several of them.

Where both factors are i8 or i16 widened to i32, less a zero point or not, a reduction
axis k is cut into groups:

    A'[.., k', ..] = word of A[.., g k' + p, ..],  p < g          (and B' of B)
    C += A' (x) B'  with  a' * b' = sum_p a_p * b_p               (`dialects.words`)

Sums of 32 bits wrap around, so their order has no meaning.  Words after the end of the
axis are filled up with zeros.  Zero points, and a shift of B that gives it the sign
that a processor wants, are made up for where sums start (`offsets`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from gpucodegen.dialects.gcg import Parts
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I32, INDEX, IntegerType, MemRefType
from gpucodegen.passes.contraction.cpu.blocking import row_axis
from gpucodegen.passes.contraction.cpu.packed_dots.packing import (
    Narrow,
    WordPacking,
    widened,
)
from gpucodegen.passes.contraction.recognition.offsets import Sums, with_offset
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.tiling.machine.dot_kernels import (
    WORD,
    PackedDots,
    Part,
    plan_packed_dots,
)
from gpucodegen.tiling.machine.processor import Machine

WIDENING = {"arith.extsi": True, "arith.extui": False}
"""Operations that make a narrow integer an i32, and whether it has a sign."""
SPARSE = 4
"""Elements of an array for each that is used, beyond which not all of it is packed."""

Choose = Callable[[Part, Part, int], PackedDots | None]
"""What words two factors become, by their parts and the rows of the result."""


@dataclass(frozen=True, slots=True)
class InWords:
    """A contraction of words, and the buffers that were made for it."""

    contraction: Contraction
    buffers: tuple[Value, ...]


def in_words(b: Builder, found: Contraction, machine: Machine) -> InWords | None:
    """The contraction over words of a processor; None where it stays."""
    work = prod(axis.extent for axis in found.axes)
    lanes, parallel = machine.unit.lanes(WORD), machine.threads_for(work) > 1

    def choose(left: Part, right: Part, rows: int) -> PackedDots | None:
        return plan_packed_dots(left, right, machine.unit.narrowest, rows)

    return over_words(b, found, choose, lanes, parallel=parallel)


def over_words(
    b: Builder, found: Contraction, choose: Choose, lanes: int, *, parallel: bool
) -> InWords | None:
    """The contraction over words, after what packs them; None where it stays.

    ``lanes``: words that are packed at once.
    """
    if found.element != I32 or found.scale is not None or row_axis(found) is None:
        return None
    rows = prod(axis.extent for axis in (*found.rows, *found.batch))
    for axis in found.reduction:
        factors = [_narrow(o, found, axis) for o in (found.left, found.right)]
        left, right = factors
        if left is None or right is None:
            continue
        plan = choose(left.part, right.part, rows)
        if plan is not None:
            words = _InWords(found, axis, left, right, lanes, parallel)
            return words.build(b, plan)
    return None


def _narrow(operand: Operand, found: Contraction, axis: Axis) -> Narrow | None:
    """A factor of narrow integers, most of whose array the contraction uses."""
    ty, steps = operand.memref.type, [op for op, _ in operand.steps]
    if len(steps) not in {2, 3} or not isinstance(ty, MemRefType) or None in ty.shape:
        return None
    load, widening, *rest = steps
    signed, zero = WIDENING.get(widening.name), None
    if signed is None or widening.operands != load.results:
        return None
    for op in rest:
        value, zero = op.operands[0], op.operands[-1]
        if op.name != "arith.subi" or value is not widening.result or zero is value:
            return None
    element, dimensions = ty.element, operand.dimensions_of(axis)
    if not isinstance(element, IntegerType) or element.width not in {8, 16}:
        return None
    own = [a for a in found.axes if operand.mentions(a)]
    ivs = {a.iv for a in own}
    if len(dimensions) != 1 or operand.indices[dimensions[0]] != Index.of(axis.iv):
        return None
    known = all(set(index.values) <= ivs for index in operand.indices)
    known &= all(operand.mentions(axis) for axis in found.reduction)
    used = SPARSE * prod(a.extent for a in own)
    if not known or prod(extent or 0 for extent in ty.shape) > used:
        return None
    part = Part(element.width, signed)
    return Narrow(operand.memref, part, operand.indices, dimensions[0], zero)


@dataclass(frozen=True, slots=True)
class _InWords:
    found: Contraction
    axis: Axis
    left: Narrow
    right: Narrow
    lanes: int
    parallel: bool

    def build(self, b: Builder, plan: PackedDots) -> InWords:
        """Pack both factors, sum up what offsets need."""
        count = -(-self.axis.extent // plan.left.count)
        iv = Value(INDEX, self.axis.name, self.axis.iv.location)
        groups = Axis(iv, count, 0, 1, self.axis.operation)
        left = self._packed(b, self.left, plan.left, groups)
        right = self._packed(b, self.right, plan.right, groups)

        def renewed(axes: Sequence[Axis]) -> tuple[Axis, ...]:
            return tuple(groups if a is self.axis else a for a in axes)

        words = replace(
            self.found,
            axes=renewed(self.found.axes),
            reduction=renewed(self.found.reduction),
            left=left,
            right=right,
            unpadded=None,
            words=_types(plan),
        )
        offsets = self._offsets(b, plan.shift)
        for offset in offsets:
            words = with_offset(words, offset)
        return InWords(words, tuple(o.memref for o in (left, right, *offsets)))

    def _packed(self, b: Builder, source: Narrow, part: Part, groups: Axis) -> Operand:
        extent = self.axis.extent
        packing = WordPacking(source, part, extent, self.lanes, self.parallel)
        return packing.build(b, groups)

    def _offsets(self, b: Builder, shift: int) -> list[Operand]:
        """What zero points and the shift of the right factor add to the sums."""
        x, y = self.left.zero, self.right.zero
        offsets: list[Operand] = []
        if y is not None or shift:
            scale = _difference(b, b.constant(shift, I32), y)
            offsets.append(self._offset(b, self.left, None, scale))
        if x is not None:
            scale = _difference(b, b.constant(0, I32), x)
            offsets.append(self._offset(b, self.right, y, scale))
        return offsets

    def _offset(
        self, b: Builder, factor: Narrow, zero: Value | None, scale: Value
    ) -> Operand:
        """``scale`` times the sums of a factor less ``zero``."""

        def term(i: Builder, at: Sequence[Index]) -> Value:
            return _difference(i, widened(i, factor, at), zero)

        sums = Sums.of(self.found, factor.operand, parallel=self.parallel)
        return sums.build(b, term, scale)


def _difference(b: Builder, value: Value, less: Value | None) -> Value:
    if less is None:
        return value
    return b.add("arith.subi", (value, less), [I32], hint=value.name)[0]


def _types(plan: PackedDots) -> Parts:
    left, right = (
        IntegerType(part.bits, "" if part.signed else "u")
        for part in (plan.left, plan.right)
    )
    return left, right
