"""Where the axes of a reduction stand, block of terms by block of terms."""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.passes.contraction.gpu.axes import Positions, extent, unflatten
from gpucodegen.passes.framework.indexing import Index, divided
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.tiling.machine.gpu.product_tiles import steps_of


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
        lines, place = divided(block, each.constant)
        return inner | {axis.iv: place * step + within} | unflatten(lines, outer)
