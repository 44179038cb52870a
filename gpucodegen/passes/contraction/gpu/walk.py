"""Where the axes of a reduction stand, block of terms by block of terms.

An operand walks as few axes as it can: those that it has side by side are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpucodegen.passes.contraction.gpu.axes import Positions, extent, unflatten
from gpucodegen.passes.contraction.recognition.collapse import (
    Folded,
    is_row_major,
    merged,
)
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.tiling.machine.gpu.steps import steps_of


@dataclass(frozen=True, slots=True)
class Walk:
    """Terms of the ``axes``, the last one fastest, in blocks of ``depth``.

    The first block begins ``before`` terms too early where there is no whole number of
    blocks.
    """

    axes: tuple[Axis, ...]
    depth: int

    @property
    def blocks(self) -> Index:
        """Number of blocks."""
        return extent(self.axes).ceildiv(self.depth)

    @property
    def before(self) -> Index:
        """Terms of the first block that do not exist."""
        return self.blocks * self.depth - extent(self.axes)

    def number(self, block: Index, term: Index) -> Index:
        """The number of a term of a block; negative if it does not exist."""
        return block * self.depth + term - self.before

    def at(self, block: Index, term: Index) -> Positions:
        """Positions of the axes at a term of a block.

        Where blocks walk evenly, the parts that depend on the term are the same in all
        blocks, and the others are the same for all terms.
        """
        steps = steps_of([extent((axis,)).constant for axis in self.axes], self.depth)
        if steps is None:
            return unflatten(self.number(block, term), self.axes)
        axis, outer = self.axes[steps.axis], self.axes[: steps.axis]
        inner = unflatten(term % steps.inner, self.axes[steps.axis + 1 :])
        step, within = Index.of(steps.step), term // steps.inner
        if not outer:
            missing = self.before // steps.inner
            return inner | {axis.iv: block * step + within - missing}
        each = extent((axis,)) // step
        assert each.constant is not None
        place = block % each.constant * step + within
        return inner | {axis.iv: place} | unflatten(block // each, outer)


def side_by_side(
    b: Builder, operand: Operand, axes: Sequence[Axis]
) -> tuple[Operand, tuple[Axis, ...]]:
    """The operand, through a view, over axes none of which continues another."""
    if operand.steps or not is_row_major(operand):
        return operand, tuple(axes)
    folded, left = Folded.of(operand), list(axes)
    while True:
        for slow, fast in pairwise(left):
            found = merged(slow, fast, folded)
            if found is not None:
                whole, folded = found
                at = left.index(slow)
                left[at : at + 2] = [whole]
                break
        else:
            return folded.view(b), tuple(left)
