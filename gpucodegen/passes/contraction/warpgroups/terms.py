"""The blocks of terms of a tile: each is of the last axis of the reduction."""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.passes.contraction.gpu.axes import Positions, extent, unflatten
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis


@dataclass(frozen=True, slots=True)
class Terms:
    """The axes of a reduction, ``depth`` terms of the last one at a time."""

    axes: tuple[Axis, ...]
    depth: int

    @property
    def blocks(self) -> Index:
        """How many there are."""
        return extent(self.axes[:-1]) * self._inner

    @property
    def _inner(self) -> Index:
        """Blocks along the last axis."""
        return self.axes[-1].size.ceildiv(self.depth)

    def at(self, block: Index) -> Positions:
        """Where the axes stand at the first term of a block."""
        *outer, inner = self.axes
        if not outer:
            return {inner.iv: block * self.depth}
        place = block % self._inner * self.depth
        return {inner.iv: place} | unflatten(block // self._inner, outer)
