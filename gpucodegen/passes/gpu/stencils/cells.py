"""Which cell of an array each instance of a parallel nest computes or reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.framework.indexing import Index, compact, from_map
from gpucodegen.passes.gpu.facts.mapped_loops import MappedLoop

ACCESSES = {"affine.load": 0, "affine.store": 1}
"""Accesses of one cell, and which operand the array is."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One coordinate of a cell: the variable of a loop plus ``offset``.

    Without a loop it is ``offset`` in all instances.
    """

    loop: MappedLoop | None
    offset: int

    @property
    def lower(self) -> Index:
        """The first coordinate."""
        return (self.loop.lower if self.loop else Index.of(0)) + self.offset

    @property
    def upper(self) -> Index:
        """The coordinate after the last."""
        return (self.loop.uppers[0] if self.loop else Index.of(1)) + self.offset


def memref_of(op: Operation) -> Value:
    """The array of an access."""
    return op.operands[ACCESSES[op.name]]


def indices_of(op: Operation) -> list[Index]:
    """The indices of an access."""
    return from_map(affine.map_of(op), op.operands[ACCESSES[op.name] + 1 :])


def axes_of(
    indices: Sequence[Index], loops: Sequence[MappedLoop]
) -> tuple[Axis, ...] | None:
    """Indices as axes, each loop in just one; None if they are anything else."""
    axes = [_axis(index, loops) for index in indices]
    found = tuple(axis for axis in axes if axis is not None)
    used = [axis.loop for axis in found if axis.loop]
    if len(found) < len(axes) or len(used) != len(loops):
        return None
    return found if all(loop in used for loop in loops) else None


def _axis(index: Index, loops: Sequence[MappedLoop]) -> Axis | None:
    if index.constant is not None:
        return Axis(None, index.constant)
    for loop in loops:
        offset = compact(index - loop.iv).constant
        if offset is not None:
            return Axis(loop, offset)
    return None


def offsets_from(indices: Sequence[Index], axes: Sequence[Axis]) -> list[int] | None:
    """How far a cell is from the one on the axes; None if that is not constant."""
    found: list[int] = []
    for index, axis in zip(indices, axes, strict=True):
        start = Index.of(axis.loop.iv if axis.loop else 0)
        offset = compact(index - start).constant
        if offset is None:
            return None
        found.append(offset - axis.offset)
    return found
