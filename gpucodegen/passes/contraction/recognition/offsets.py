"""What zero points add to a contraction of integers: once to each row, to each column.

    sum_k (a - x) (b + s - y) =   sum_k a b
                                + (s - y) sum_k a             (an offset of the row)
                                - x sum_k (b + s - y)         (an offset of the column)

where the b that is multiplied lies ``s`` below that of the program.  Both have the axes
of their factor, windows of an image included; they are summed up before the contraction
and added where its sums start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I32
from gpucodegen.passes.contraction.cpu.ranges import (
    Positions,
    Range,
    Values,
    carried,
    grid,
)
from gpucodegen.passes.contraction.fusion.pointwise import Pointwise, Step
from gpucodegen.passes.contraction.recognition.operands import Operand, buffer_of
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis

Term = Callable[[Builder, Sequence[Index]], Value]
"""Builds an i32 of an element of an array."""


@dataclass(frozen=True, slots=True)
class Sums:
    """``sum over walked of term(source)``, at every position of the axes ``kept``."""

    source: Operand
    kept: tuple[Axis, ...]
    walked: tuple[Axis, ...]
    parallel: bool

    @staticmethod
    def of(contraction: Contraction, factor: Operand, *, parallel: bool) -> Sums:
        """The sums of a factor over the whole reduction, in the order of the result.

        Of the axes walked, the one that is contiguous in memory comes last.
        """
        result, last = contraction.result, len(factor.indices) - 1
        places = {
            axis: result.dimensions_of(axis)
            for axis in contraction.axes
            if factor.mentions(axis) and axis not in contraction.reduction
        }
        kept = sorted(places, key=places.__getitem__)
        walked = sorted(
            contraction.reduction, key=lambda axis: factor.coefficient(last, axis) == 1
        )
        return Sums(factor, tuple(kept), tuple(walked), parallel)

    @property
    def _in_registers(self) -> bool:
        """Whether the terms of a sum, not those of its neighbours, are contiguous."""
        last = len(self.source.indices) - 1
        return self.source.coefficient(last, self.walked[-1]) == 1

    def build(self, b: Builder, term: Term, scale: Value) -> Operand:
        """A new buffer of ``scale`` times each sum."""
        sums = buffer_of(b, self.kept, I32, "offsets")
        if self._in_registers:
            self._one_by_one(b, sums.memref, term, scale)
        else:
            self._together(b, sums.memref, term, scale)
        return sums

    def _one_by_one(self, b: Builder, buffer: Value, term: Term, scale: Value) -> None:
        """Each sum in a register."""
        whole = [Range.whole(axis) for axis in self.walked]

        def sum_(i: Builder, at: Positions) -> None:
            def step(j: Builder, here: Positions, now: Values) -> Values:
                value = term(j, self.source.at(here))
                return j.add("arith.addi", (now[0], value), [I32], hint="sum")

            (total,) = carried(i, whole, at, [i.constant(0, I32)], step)
            (value,) = i.add("arith.muli", (scale, total), [I32], hint="offset")
            i.store(value, buffer, self._cell(at))

        self._everywhere(b, self.kept, sum_, parallel=self.parallel)

    def _together(self, b: Builder, buffer: Value, term: Term, scale: Value) -> None:
        """Neighbouring sums in memory, one step of each at a time."""

        def clear(i: Builder, at: Positions) -> None:
            i.store(i.constant(0, I32), buffer, self._cell(at))

        def add(i: Builder, at: Positions) -> None:
            value = term(i, self.source.at(at))
            (value,) = i.add("arith.muli", (scale, value), [I32], hint="term")
            old = i.load(buffer, self._cell(at), "sum")
            (value,) = i.add("arith.addi", (old, value), [I32], hint="sum")
            i.store(value, buffer, self._cell(at))

        self._everywhere(b, self.kept, clear)
        self._everywhere(b, (*self.walked, *self.kept), add)

    def _cell(self, at: Positions) -> list[Index]:
        return [at[axis.iv] for axis in self.kept]

    @staticmethod
    def _everywhere(
        b: Builder,
        axes: Sequence[Axis],
        body: Callable[[Builder, Positions], None],
        *,
        parallel: bool = False,
    ) -> None:
        def point(i: Builder, ivs: Sequence[Value]) -> None:
            places = zip(axes, ivs, strict=True)
            body(i, {axis.iv: Index.of(iv) for axis, iv in places})

        names = [axis.name for axis in axes]
        grid(b, [axis.extent for axis in axes], point, names, parallel=parallel)


def with_offset(contraction: Contraction, offset: Operand) -> Contraction:
    """The contraction whose sums start that much higher."""
    result = contraction.result
    old, more, new = (Value(I32, name) for name in ("old", "offset", "new"))
    steps: tuple[Step, ...] = (
        (Operation("affine.load", (result.memref,), (old,)), result),
        (Operation("affine.load", (offset.memref,), (more,)), offset),
        (Operation("arith.addi", (old, more), (new,)), None),
        (Operation("affine.store", (new, result.memref)), result),
    )
    start = contraction.start or Pointwise((), (result,))
    return replace(contraction, start=replace(start, steps=(*start.steps, *steps)))
