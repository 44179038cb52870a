"""Split-K for CPU contractions: threads reduce parts of K, then the parts are summed.

    parallel for parts p:
      P[p][..] = sum of k in part p
    P[parts][..] = sum of the remaining steps                (fewer than parts)
    for elements of the result:
      C[..] = C[..] + P[0][..] + P[1][..] + ..

Fused prologues and epilogues stay with the last nest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, FloatType, MemRefType, element_type
from gpucodegen.passes.contraction.epilogue_fusion import finished, in_element, started
from gpucodegen.passes.contraction.operands import Operand, Positions, Range, nested
from gpucodegen.passes.contraction.recognize import Contraction, Pointwise, Tile
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, replace_values
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.records import dataclass

Lower: TypeAlias = Callable[[Contraction, Sequence[Operation]], Sequence[Operation]]
"""Lowers one of the partial contractions, after the operations before it."""


def lower(
    contraction: Contraction, parts: int, lanes: int, each: Lower
) -> list[Operation]:
    """Operations that replace the nest; ``lanes``: cells that are added at once.

    ``each`` lowers the partial sums; there is one reduction axis and no outer axis.
    """
    b = Builder(contraction.location)
    (step,) = contraction.reduction
    chunk, rest = divmod(step.extent, parts)
    places = _Partial.of(b, contraction, parts + (rest > 0))
    part = _axis("part", parts, step)
    inside = _axis(step.name, chunk, step)
    at = {step.iv: Index.of(part.iv) * chunk + Index.of(inside.iv)}
    sums = places.sums(Index.of(part.iv), (part,), inside, at)
    b.operations += each(sums, b.operations)
    if rest:
        last = _axis(step.name, rest, step)
        at = {step.iv: Index.of(last.iv) + parts * chunk}
        sums = places.sums(Index.of(parts), (), last, at)
        b.operations += each(sums, b.operations)
    places.add_up(b, lanes)
    b.add("memref.dealloc", (places.buffer,))
    return b.operations


def _axis(name: str, extent: int, like: Axis) -> Axis:
    return Axis(Value(INDEX, name, like.iv.location), extent, 0, 1, like.operation)


@dataclass(frozen=True, slots=True)
class _Partial:
    """The partial results: ``buffer[part][cells]``, cells by the axes of the result.

    ``zero``: their initial value.
    """

    contraction: Contraction
    buffer: Value
    axes: tuple[Axis, ...]
    count: int
    zero: Value

    @staticmethod
    def of(b: Builder, contraction: Contraction, count: int) -> _Partial:
        """Partial results, to be filled."""
        result = contraction.result
        axes = sorted(
            (axis for axis in contraction.axes if axis not in contraction.reduction),
            key=result.dimensions_of,
        )
        shape = (count, *(axis.extent for axis in axes))
        ty = MemRefType(shape, contraction.element)
        zero = b.constant(0, contraction.element)
        buffer = b.allocate("memref.alloc", ty, "partial")
        return _Partial(contraction, buffer, tuple(axes), count, zero)

    def at(self, part: Index) -> Operand:
        return Operand(self.buffer, (part, *(Index.of(a.iv) for a in self.axes)))

    def sums(
        self, part: Index, outer: tuple[Axis, ...], inside: Axis, at: Positions
    ) -> Contraction:
        """The contraction of a part; ``at``: its positions in the whole reduction."""
        whole = self.contraction
        result = self.at(part)
        fill = Operation("affine.store", (self.zero, self.buffer))
        return replace(
            whole,
            axes=(*outer, *self.axes, inside),
            result=result,
            left=_moved(whole.left, at),
            right=_moved(whole.right, at),
            batch=outer,
            reduction=(inside,),
            start=Pointwise(((fill, result),), ()),
            epilogue=None,
        )

    def add_up(self, b: Builder, lanes: int) -> None:
        """Add the parts to each cell of the result, in order."""
        *others, fast = self.axes
        result = self.contraction.result
        is_line = result.coefficient(len(result.indices) - 1, fast) == 1
        width = lanes if is_line else 1
        rest = fast.extent % width
        whole = fast.extent - rest

        def cells(i: Builder, at: Positions, count: int) -> None:
            self._add(i, Tile(at, {fast: count} if is_line else {}))

        def line(i: Builder, at: Positions) -> None:
            full = Range(fast, 0, [whole], width)
            nested(i, [full], at, lambda j, here: cells(j, here, width))
            if rest:
                cells(i, at | {fast.iv: Index.of(whole)}, rest)

        ranges = [Range.whole(axis) for axis in others]
        b.once(lambda i: nested(i, ranges, {}, line))

    def _add(self, b: Builder, tile: Tile) -> None:
        is_float = isinstance(self.contraction.element, FloatType)

        def more(i: Builder, part: Value, now: Sequence[Value]) -> Sequence[Value]:
            term = tile.read(i, self.at(Index.of(part)), "term")
            operands, ty = (now[0], term), now[0].type
            return i.add("arith.addf" if is_float else "arith.addi", operands, [ty])

        old = started(b, self.contraction, tile)
        start = in_element(b, self.contraction.element, old, "arith.extf")
        (total,) = b.carried_loop(0, self.count, [start], more, hint="part")
        found = in_element(b, element_type(old.type), total, "arith.truncf")
        finished(b, self.contraction, tile, found)


def _moved(operand: Operand, at: Positions) -> Operand:
    """The operand at other places of the reduction."""
    indices = tuple(replace_values(index, at) for index in operand.indices)
    steps = ((op, place and _moved(place, at)) for op, place in operand.steps)
    return replace(operand, indices=indices, steps=tuple(steps))
