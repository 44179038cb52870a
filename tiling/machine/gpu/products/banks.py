"""Turns that shared memory needs for an access of a warp, by its addresses.

Shared memory has 32 banks of 4 bytes.  One turn, a wavefront, serves one word of each
bank; equal words are served together.  Accesses of 8 bytes go by half a warp, of 16 by
a quarter.  Two of these turns become one if all lanes t and t ^ 1, or all t and t ^ 2,
share their addresses: that rule is measured by the community, not documented.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

BANKS, WORD = 32, 4


def wavefronts(addresses: Sequence[int], width: int, *, merged: bool = True) -> int:
    """Wavefronts of an access of ``width`` bytes at the lanes' addresses in bytes.

    ``merged``: by the rule of lanes that share their addresses.

    >>> wavefronts([4 * lane for lane in range(32)], 4)
    1
    >>> wavefronts([128 * lane for lane in range(32)], 4)
    32
    >>> wavefronts([16 * lane for lane in range(32)], 16)
    4
    >>> pairs = [lane // 2 % 4 * 16 for lane in range(32)]
    >>> wavefronts(pairs, 16), wavefronts(pairs, 16, merged=False)
    (2, 4)
    """
    phases = max(width // WORD, 1)
    if merged and phases > 1 and any(_shared(addresses, by) for by in (1, 2)):
        phases //= 2
    lanes = max(1, 32 // phases)
    parts = (addresses[n : n + lanes] for n in range(0, len(addresses), lanes))
    return sum(_turns(part, width) for part in parts)


def _shared(addresses: Sequence[int], by: int) -> bool:
    """Whether each lane has the address of its partner."""
    return all(
        lane ^ by < len(addresses) and address == addresses[lane ^ by]
        for lane, address in enumerate(addresses)
    )


def _turns(addresses: Sequence[int], width: int) -> int:
    words = {
        address // WORD + n for address in addresses for n in range(max(width // 4, 1))
    }
    return max(Counter(word % BANKS for word in words).values(), default=0)
