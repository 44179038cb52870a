"""Which lanes run next: groups of lanes by the basic block they have come to.

The group whose block comes first in an order of loops within loops runs, so that lanes
which took the shorter way, or fewer trips, wait where the ways meet, and run on
together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from gpucodegen.ptx.types import Array, Chosen, Mask

_FAIR = 4096
"""Turns of groups after which another one runs."""


class LaneGroups:
    """Lanes on their way through a kernel whose basic blocks have these ``ranks``.

    At blocks whose rank is beyond their number, lanes of a warp wait for each other;
    ``exited`` notes the lanes that have reached the end.
    """

    def __init__(self, ranks: Sequence[int], exited: Array) -> None:
        self.end, self.ranks, self.exited = len(ranks), ranks, exited
        self.at: dict[int, Mask] = {0: None}
        self._count = 0
        self._turns: Counter[int] = Counter()

    def join(self, block: int, mask: Mask) -> None:
        """Let lanes go to a block, beside those that are there already."""
        if block == self.end:
            self.exited[... if mask is None else mask] = True
            return
        if block in self.at and mask is not None:
            there = self.at[block]
            mask = None if there is None else there | mask
            if mask is not None and mask.all():
                mask = None
        self.at[block] = mask

    def take(self, block: int) -> Mask:
        """Remove the group of a block."""
        return self.at.pop(block)

    def next(self, fair: bool) -> int:
        """The first block of the order at which no lane waits for others of its warp.

        ``fair``, and now and then: the one that had the fewest turns, as some may wait
        for what others write.
        """
        self._count += 1
        if fair or self._count % _FAIR == 0:
            first = min(self.at, key=self._turn)
            self._turns[first] += 1
            return first
        return min(self.at, key=self.ranks.__getitem__)

    def _turn(self, block: int) -> tuple[bool, int, int]:
        rank = self.ranks[block]
        return rank >= self.end, self._turns[block], rank

    def running(self, stalled: Array) -> list[int]:
        """Blocks whose groups have no stalled lane."""
        return [
            block
            for block, mask in self.at.items()
            if not (stalled if mask is None else stalled & mask).any()
        ]


def divided(predicate: Array, mask: Mask, lanes: int) -> tuple[Chosen, Chosen]:
    """(lanes for which a predicate holds, the others); False stands for no lane."""
    if predicate.ndim == 0:
        return (mask, False) if predicate else (False, mask)
    true = predicate if mask is None else predicate & mask
    count = np.count_nonzero(true)
    if count == lanes:
        return mask, False
    if count == 0:
        return False, mask
    return true, (~true if mask is None else mask & ~true)
