"""Arguments of a call in many copies, taken in turn, so that none is found in a cache.

Comes in: the arguments of a call and the bytes to get past.  Goes out: sets of them
that lie in memory alike.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpucodegen.tuning.measuring.arguments import copied

MOST_SETS = 256
"""Sets that are made at most: of small arguments they do not get past a large cache."""
SHARE_OF_MEMORY = 0.25
"""Part of the memory that is free which all sets together may take."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """The arguments of a call, and sets of them in memory of their own.

    >>> import numpy as np
    >>> rotation = Rotation.of([np.ones(1024), 3], 1 << 16)
    >>> len(rotation.sets), rotation.sets[0][1]
    (9, 3)
    >>> rotation.sets[8][0][:] = 7
    >>> rotation.reset()
    >>> int(rotation.sets[8][0].sum())
    1024
    """

    arguments: Sequence[Any]
    sets: tuple[tuple[Any, ...], ...]

    @staticmethod
    def of(arguments: Sequence[Any], cache: int) -> Rotation:
        """Sets whose arrays together exceed ``cache`` bytes, as far as memory allows.

        One set where ``cache`` is 0.
        """
        size = max(1, sum(getattr(one, "nbytes", 0) for one in arguments))
        room = int(SHARE_OF_MEMORY * _free_memory()) // size
        count = max(1, min(cache // size + 1 if cache else 1, room, MOST_SETS))
        return Rotation(
            arguments, tuple(tuple(map(copied, arguments)) for _ in range(count))
        )

    def reset(self, count: int | None = None) -> None:
        """Give the sets their first contents; the last one is then nearest in caches.

        ``count``: only so many of them.
        """
        for copies in self.sets[:count]:
            for copy, argument in zip(copies, self.arguments, strict=True):
                if copy is not argument:
                    copy[...] = argument

    def changed(self, position: int) -> bool:
        """Whether a call may leave other numbers in the argument of a position."""
        return self.sets[0][position] is not self.arguments[position]


def _free_memory() -> int:
    """Bytes that the system says are free; much where it does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 33
