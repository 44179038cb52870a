"""Turns that shared memory needs for an access of a warp, by its addresses.

Shared memory has 32 banks of 4 bytes.  One turn, a wavefront, serves one word of each
bank; equal words are served together.  Accesses of 8 bytes go by half a warp, of 16 by
a quarter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

BANKS, WORD = 32, 4


def wavefronts(addresses: Sequence[int], width: int) -> int:
    """Wavefronts of an access of ``width`` bytes at the lanes' addresses in bytes.

    >>> wavefronts([4 * lane for lane in range(32)], 4)
    1
    >>> wavefronts([128 * lane for lane in range(32)], 4)
    32
    >>> wavefronts([16 * lane for lane in range(32)], 16)
    4
    """
    lanes = 32 * WORD // max(width, WORD)
    phases = (addresses[n : n + lanes] for n in range(0, len(addresses), lanes))
    return sum(_turns(phase, width) for phase in phases)


def _turns(addresses: Sequence[int], width: int) -> int:
    words = {
        address // WORD + n for address in addresses for n in range(max(width // 4, 1))
    }
    return max(Counter(word % BANKS for word in words).values(), default=0)
