"""Contractions of narrow integers as contractions of words of several of them.

Where both factors are i8 or i16 widened to i32, less a zero point or not, a reduction
axis k is cut into groups:

    A'[.., k', ..] = word of A[.., g k' + p, ..],  p < g          (and B' of B)
    C += A' (x) B'  with  a' * b' = sum_p a_p * b_p               (`dialects.words`)

Sums of 32 bits wrap around, so their order has no meaning.  Words behind the end of the
axis are filled up with zeros.  Zero points, and a shift of B that gives it the sign
that a processor wants, are made up for where sums start (`offsets`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from gpucodegen.dialects.words import Parts
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I32, INDEX, IntegerType, MemRefType
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.contraction.blocking import row_axis
from gpucodegen.passes.contraction.offsets import Sums, with_offset
from gpucodegen.passes.contraction.operands import Operand
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.contraction.word_packing import Narrow, WordPacking, widened
from gpucodegen.passes.indexing import Index
from gpucodegen.passes.nests import Axis
from gpucodegen.tiling.cpu_problem import CpuModel
from gpucodegen.tiling.word_plan import WORD, Part, WordPlan, plan_words

WIDENING = {"arith.extsi": True, "arith.extui": False}
"""Operations that make a narrow integer an i32, and whether it has a sign."""
SPARSE = 4
"""Elements of an array for each that is used, beyond which not all of it is packed."""


@dataclass(frozen=True, slots=True)
class InWords:
    """A contraction of words, and the buffers that were made for it."""

    contraction: Contraction
    buffers: tuple[Value, ...]


def in_words(b: Builder, found: Contraction, model: CpuModel) -> InWords | None:
    """The contraction over words, after what packs them; None where it stays."""
    if found.element != I32 or found.scale is not None or row_axis(found) is None:
        return None
    rows = prod(axis.extent for axis in (*found.rows, *found.batch))
    for axis in found.reduction:
        factors = [_narrow(o, found, axis) for o in (found.left, found.right)]
        left, right = factors
        if left is None or right is None:
            continue
        lowering = _InWords(found, axis, left, right, model)
        plan = plan_words(
            left.part, right.part, model.unit.narrowest, rows, summed=lowering.is_summed
        )
        if plan is not None and (lowering.is_summed or not lowering.has_zeros):
            return lowering.build(b, plan)
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
    model: CpuModel

    @property
    def has_zeros(self) -> bool:
        """Whether zero points are subtracted."""
        return self.left.zero is not None or self.right.zero is not None

    @property
    def is_summed(self) -> bool:
        """Whether both factors can be summed up over the reduction."""
        return self._sums(self.left) is not None and self._sums(self.right) is not None

    def build(self, b: Builder, plan: WordPlan) -> InWords:
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
            words=_types(plan),
        )
        offsets = self._offsets(b, plan.shift)
        for offset in offsets:
            words = with_offset(words, offset)
        return InWords(words, tuple(o.memref for o in (left, right, *offsets)))

    def _packed(self, b: Builder, source: Narrow, part: Part, groups: Axis) -> Operand:
        lanes = self.model.unit.lanes(WORD)
        packing = WordPacking(source, part, self.axis.extent, lanes, self._is_parallel)
        return packing.build(b, groups)

    @property
    def _is_parallel(self) -> bool:
        work = prod(axis.extent for axis in self.found.axes)
        return self.model.threads_for(work) > 1

    def _sums(self, factor: Narrow) -> Sums | None:
        reduction, operand = self.found.reduction, factor.operand
        return Sums.over(operand, reduction, parallel=self._is_parallel)

    def _offsets(self, b: Builder, shift: int) -> list[Operand]:
        """What zero points and the shift of the right factor add to the sums."""
        rows, columns = self._sums(self.left), self._sums(self.right)
        x, y = self.left.zero, self.right.zero
        offsets: list[Operand] = []
        if rows is not None and (y is not None or shift):
            scale = b.constant(shift, I32)
            if y is not None:
                (scale,) = b.add("arith.subi", (scale, y), [I32], hint="scale")
            offsets.append(
                rows.build(b, lambda i, at: widened(i, self.left, at), scale)
            )
        if columns is not None and x is not None:
            zero = b.constant(0, I32)
            (scale,) = b.add("arith.subi", (zero, x), [I32], hint="scale")

            def term(i: Builder, at: Sequence[Index]) -> Value:
                value = widened(i, self.right, at)
                if y is None:
                    return value
                return i.add("arith.subi", (value, y), [I32], hint="term")[0]

            offsets.append(columns.build(b, term, scale))
        return offsets


def _types(plan: WordPlan) -> Parts:
    left, right = (
        IntegerType(part.bits, "" if part.signed else "u")
        for part in (plan.left, plan.right)
    )
    return left, right
