"""Which lanes run next: groups of lanes by the basic block they have come to.

The group with the earliest block runs, so that lanes which took the shorter way wait
where the ways meet, and run on together.
"""

from __future__ import annotations

import numpy as np

from gpucodegen.ptx.types import Array, Chosen, Mask


class LaneGroups:
    """Lanes on their way through a kernel of so many basic blocks."""

    def __init__(self, end: int) -> None:
        self.end = end
        self.at: dict[int, Mask] = {0: None}

    def join(self, block: int, mask: Mask) -> None:
        """Let lanes go to a block, beside those that are there already."""
        if block in self.at and mask is not None:
            there = self.at[block]
            mask = None if there is None else there | mask
            if mask is not None and mask.all():
                mask = None
        self.at[block] = mask

    def take(self, block: int) -> Mask:
        """Remove the group of a block."""
        return self.at.pop(block)

    def running(self, stalled: Array) -> list[int]:
        """Blocks whose groups have no stalled lane, the end included."""
        return [
            block
            for block, mask in self.at.items()
            if block == self.end
            or not (stalled if mask is None else stalled & mask).any()
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
