"""What a deal is, and whether it gives dependent iterations of loops to one member.

Two loops of one start and step are dealt out alike: the iteration at position p goes to
member p mod size of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.work import Middles
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact, from_map
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.legality import stays_within

Divide = Callable[[Builder], None]
"""Appends what a member of a team does of an operation."""


class Dealing(Protocol):
    """How operations are divided among the members of a team."""

    def deal(self, op: Operation, middles: Middles) -> Divide | None:
        """What a member does of an operation; None if all of them walk it.

        It may depend on the middles of the loops around.
        """
        ...

    def is_of_one_member(
        self, found: Sequence[Dependence], before: Operation, after: Operation
    ) -> bool:
        """Whether one member runs both ends of all dependences."""
        ...

    def note(self, op: Operation) -> None:
        """Know that an operation that is not divided stands here."""
        ...


def is_of_one_member(
    found: Sequence[Dependence], before: Operation, after: Operation
) -> bool:
    """Whether one member runs both ends of all dependences between two loops."""
    if not found:
        return True
    if not _are_alike(before, after):
        return False
    return all(stays_within(d, before, after) for d in found)


def _are_alike(first: Operation, second: Operation) -> bool:
    """Whether both are loops of one start and step that are dealt out alone."""
    starts = [_start(op) for op in (first, second)]
    if None in starts:
        return False
    one, other = (affine.For(op) for op in (first, second))
    same = [
        compact(a - b).constant == 0 for a in starts[:1] for b in starts[1:] if a and b
    ]
    return all(same) and one.step == other.step


def _start(op: Operation) -> Index | None:
    """Where a loop without loops inside begins, if that is one place."""
    if op.name != "affine.for" or any(o.regions for o in inner_operations(op)):
        return None
    loop = affine.For(op)
    lowers = from_map(loop.lower_map, loop.lower_operands)
    return lowers[0] if len(lowers) == 1 else None
