"""Where factors lie in shared memory, as what multiplies them sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import VectorType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.tiling.machine.gpu.shared_copies import TileCopy


class Held(Protocol):
    """A factor's part in shared memory: terms of positions, which are rows or columns.

    ``stage`` is one of the kernel's own tiles.
    """

    @property
    def by_position(self) -> bool | None:
        """Whether its rows are those of positions, or of terms.

        None where rows do not begin at multiples of 16 bytes, or hold other elements.
        """
        ...

    def place(self, stage: Index, term: Index, position: Index) -> list[Index]:
        """The indices of an element."""
        ...

    def element(
        self, b: Builder, tile: Value, stage: Index, term: Index, position: Index
    ) -> Value:
        """The value at a place."""
        ...

    def line(
        self,
        b: Builder,
        tile: Value,
        at: tuple[Index, Index, Index],
        ty: VectorType,
        hint: str,
    ) -> Value:
        """The values of a term at neighbouring positions, from the stage and place."""
        ...


@dataclass(frozen=True, slots=True)
class Stages:
    """Stages that the kernel copies itself: ``copy`` says how each of them lies."""

    copy: TileCopy

    @property
    def by_position(self) -> bool:
        """As the copy lays it out."""
        return self.copy.by_position

    def place(self, stage: Index, term: Index, position: Index) -> list[Index]:
        """The stage, the row, and the place in it."""
        return [stage, *map(Index.of, self.copy.cell(term, position))]

    def element(
        self, b: Builder, tile: Value, stage: Index, term: Index, position: Index
    ) -> Value:
        """As it lies there."""
        return b.load(tile, self.place(stage, term, position))

    def line(
        self,
        b: Builder,
        tile: Value,
        at: tuple[Index, Index, Index],
        ty: VectorType,
        hint: str,
    ) -> Value:
        """As they lie there, side by side."""
        return b.vector_load(tile, self.place(*at), ty, hint)
