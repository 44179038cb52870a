"""What a caller asks of the time loops of a function: their tiles, or none.

Time loops that may be tiled are counted from 0 as they stand in the text.  With N the
number of one, ``timeN.tiled=1`` leaves it as it is and ``timeN.tiled=2`` tiles it.
``timeN.steps=8`` has eight steps in a tile, ``timeN.width0=16`` sixteen cells along the
first axis of space.  What is left out is chosen by the model of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from gpucodegen.tiling.machine.plan_space import Choose, Menus, fields_of, least
from gpucodegen.tiling.machine.temporal_tiling import TimeTiles

P = TypeVar("P")
KIND = "time"
_NAME = re.compile(rf"{KIND}\d+\..*")


def is_of_time_tiles(name: str) -> bool:
    """Whether a field of a plan is about tiles of time loops on the CPU.

    >>> [is_of_time_tiles(name) for name in ("time0.steps", "time.steps", "order0")]
    [True, False, False]
    """
    return _NAME.fullmatch(name) is not None


def time_tile_fields() -> list[str]:
    """Those fields, with 0 for every number.

    >>> time_tile_fields()
    ['time0.tiled', 'time0.steps', 'time0.width0']
    """
    return fields_of(f"{KIND}0", TimeTiles)


@dataclass(slots=True)
class TimeLoop:
    """A nest that may be a time loop; it gets its number when there is a choice."""

    loops: TimeLoops
    kind: str = ""

    @property
    def choice(self) -> Choose:
        """Takes the tiles that are asked for, or those of least cost."""
        menus = self.loops.menus
        return self._choose if menus.wanted or menus.keeps else least

    def _choose(self, plans: Iterable[P], cost: Callable[[P], Any], /) -> P:
        self.kind = f"{KIND}{next(self.loops.numbers)}"
        return self.loops.menus.of(self.kind)(plans, cost)

    @property
    def is_asked(self) -> bool:
        """Whether a caller asks for something here."""
        wishes = self.loops.menus.wanted.items()
        return any(n and name.partition(".")[0] == self.kind for name, n in wishes)


@dataclass(frozen=True, slots=True)
class TimeLoops:
    """The time loops of a module, as a pass meets them, and what is asked of them."""

    menus: Menus
    numbers: Iterator[int] = field(default_factory=count)

    def next(self) -> TimeLoop:
        """The next nest."""
        return TimeLoop(self)
