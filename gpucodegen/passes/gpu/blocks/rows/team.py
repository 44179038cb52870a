"""Threads that walk a program together: all blocks, a block, or each of its warps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from gpucodegen.dialects.shared.combiners import GPU_KINDS, Combiner
from gpucodegen.ir.attributes import Attribute, OpaqueAttr
from gpucodegen.ir.operation import Region, Value
from gpucodegen.ir.types import FloatType, IntegerType, Type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.tiling.machine.gpu.thread_groups import DIMENSIONS, split


@dataclass(frozen=True, slots=True)
class Team:
    """Threads by their positions, and how many there are of each, the slowest first.

    ``is_warp``: it is one of several warps of a block.  ``arrived``: the word at which
    blocks meet, if there are several.
    """

    positions: tuple[tuple[Index, int], ...]
    is_warp: bool = False
    arrived: Value | None = None

    @property
    def size(self) -> int:
        """How many threads."""
        return prod(count for _, count in self.positions)

    @property
    def number(self) -> Index:
        """A thread's number among all."""
        return _joined(self.positions)[0]

    def meet(self, b: Builder) -> None:
        """Append a barrier of all of them."""
        if self.arrived is not None:
            b.add("gcg.grid_barrier", (self.arrived,))
            return
        scope = {"scope": OpaqueAttr("#gpu.barrier_scope<subgroup>")}
        b.add("gpu.barrier", (), (), scope if self.is_warp else None)

    def combined(self, b: Builder, value: Value, kind: Combiner) -> Value:
        """What the values of all members combine to, known to each of them."""
        attributes: dict[str, Attribute] = {
            "op": OpaqueAttr(f"#gpu.all_reduce_op<{kind.kind}>")
        }
        name = "gpu.subgroup_reduce" if self.is_warp else "gpu.all_reduce"
        regions = () if self.is_warp else (Region(),)
        (total,) = b.add(
            name, (value,), [value.type], attributes, regions, hint=value.name
        )
        return total

    def lanes(
        self, extents: Sequence[int | None], most: int = DIMENSIONS
    ) -> list[tuple[Index, int]]:
        """Positions along each of some nested loops, outermost first, and their counts.

        >>> team = Team(tuple((Index.of(0), n) for n in (132, 16, 32)))
        >>> [[n for _, n in team.lanes(e)] for e in ([None], [9, 900], [9, 9, 9, 9])]
        [[67584], [132, 512], [1, 132, 16, 32]]
        """
        parts = split(extents, [count for _, count in self.positions], most)
        return [_joined(self.positions[part]) for part in parts]


def _joined(positions: Sequence[tuple[Index, int]]) -> tuple[Index, int]:
    """Several positions as one."""
    number, size = Index.of(0), 1
    for position, count in positions:
        number, size = number * count + position, size * count
    return compact(number), size


def combines(kind: Combiner, ty: Type) -> bool:
    """Whether teams can combine values of a type in this way."""
    return kind.kind in GPU_KINDS and isinstance(ty, FloatType | IntegerType)
