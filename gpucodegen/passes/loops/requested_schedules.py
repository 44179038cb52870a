"""Schedule options of a call: tiles of time loops, loop orders and fusions of nests.

Tileable time loops and nests are counted from 0 in textual order.  For time loop N,
``timeN.tiled=1`` leaves it untiled and ``timeN.tiled=2`` tiles it; ``timeN.steps=8``
has eight steps in a tile, ``timeN.width0=16`` sixteen elements along the first space
axis.  ``order2=21`` runs the loops of nest 2 in the order of the digits, the second one
outermost.  ``fusion1=1`` keeps nest 1 apart from its successor, ``fusion1=2`` fuses the
two.  Omitted options are chosen by the machine model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import count, permutations
from typing import Any, TypeVar

from gpucodegen import errors
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.plan_space import Choose, Menus, fields_of, least
from gpucodegen.tiling.machine.temporal_tiling import TimeTiles

APART, TOGETHER = 1, 2
FEW = 3
"""Most loops that may come in any order; of more, one goes innermost or outermost."""
_ORDER_NAME = re.compile(r"(order|fusion)(\d+)")
FIELDS = "order0", "fusion0"
"""The option names, with 0 for the number of a nest."""
Order = tuple[int, ...]
"""Positions of loops in a nest, the one that runs outermost first."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Requested orders of nests and fusions with the next nest, by number.

    >>> Asked.of(("order2", 21, "fusion1", 2))
    Asked(orders={2: (1, 0)}, fusions={1: 2})
    """

    orders: Mapping[int, Order] = field(default_factory=dict[int, Order])
    fusions: Mapping[int, int] = field(default_factory=dict[int, int])

    @staticmethod
    def of(plan: Sequence[int | str]) -> Asked:
        """The requests in a list of names and numbers in turn; 0 requests nothing.

        Raises InvalidPassOption.
        """
        orders: dict[int, Order] = {}
        fusions: dict[int, int] = {}
        for name, number in zip(plan[::2], plan[1::2], strict=len(plan) % 2 == 0):
            found = _ORDER_NAME.fullmatch(str(name))
            if found is None or not isinstance(number, int):
                raise _unusable(name, number)
            place = int(found[2])
            if number and found[1] == "order":
                orders[place] = _order(name, number)
            elif number:
                if number not in (APART, TOGETHER):
                    raise _unusable(name, number)
                fusions[place] = number
        return Asked(orders, fusions)


def is_asked(name: str) -> bool:
    """Whether a plan field names an order or a fusion.

    >>> [name for name in ("order0", "fusion12", "stream.width") if is_asked(name)]
    ['order0', 'fusion12']
    """
    return _ORDER_NAME.fullmatch(name) is not None


def number_of(order: Order) -> int:
    """An order as the digits of a number.

    >>> number_of((1, 0, 2))
    213
    """
    return int("".join(str(position + 1) for position in order))


def orders(depth: int) -> Iterator[Order]:
    """Orders of ``depth`` loops that are worth a trial, the textual one first.

    >>> [number_of(order) for order in orders(2)]
    [12, 21]
    >>> len(list(orders(3))), len(list(orders(4)))
    (6, 7)
    """
    if depth <= FEW:
        yield from permutations(range(depth))
        return
    every = tuple(range(depth))
    moved = [
        order
        for at in every
        for rest in [(*every[:at], *every[at + 1 :])]
        for order in ((*rest, at), (at, *rest))
    ]
    yield from dict.fromkeys((every, *moved))


def not_there(name: str) -> errors.InvalidPassOption:
    return errors.InvalidPassOption(
        name="improve-locality",
        problem=f"there is no nest for {name}",
        hint="Nests are counted from 0; `gpucodegen tune` lists what may be asked for",
    )


def _order(name: int | str, number: int) -> Order:
    order = tuple(int(digit) - 1 for digit in str(number))
    if sorted(order) != list(range(len(order))):
        raise _unusable(name, number)
    return order


def _unusable(name: int | str, number: int | str) -> errors.InvalidPassOption:
    return errors.InvalidPassOption(
        name="improve-locality",
        problem=f"option 'plan' cannot hold {name}={number}",
        hint="Give orders as order0=21, fusions as fusion0=1 (apart) or 2 (together)",
    )


P = TypeVar("P")
KIND = "time"
_TILE_NAME = re.compile(rf"{KIND}\d+\..*")


def is_of_time_tiles(name: str) -> bool:
    """Whether a plan field names tiles of time loops on the CPU.

    >>> [is_of_time_tiles(name) for name in ("time0.steps", "time.steps", "order0")]
    [True, False, False]
    """
    return _TILE_NAME.fullmatch(name) is not None


def time_tile_fields() -> list[str]:
    """The names of these fields, with 0 for every number.

    >>> time_tile_fields()
    ['time0.tiled', 'time0.steps', 'time0.width0']
    """
    return fields_of(f"{KIND}0", TimeTiles)


@dataclass(slots=True)
class TimeLoop:
    """A candidate time loop; it is numbered when it has alternatives."""

    loops: TimeLoops
    kind: str = ""

    @property
    def choice(self) -> Choose:
        """The choice of the requested tiles, or those of least cost."""
        menus = self.loops.menus
        return self._choose if menus.wanted or menus.keeps else least

    def _choose(self, plans: Iterable[P], cost: Callable[[P], Any], /) -> P:
        self.kind = f"{KIND}{next(self.loops.numbers)}"
        return self.loops.menus.of(self.kind)(plans, cost)

    @property
    def is_asked(self) -> bool:
        """Whether the caller requests tiles here."""
        wishes = self.loops.menus.wanted.items()
        return any(n and name.partition(".")[0] == self.kind for name, n in wishes)


@dataclass(frozen=True, slots=True)
class TimeLoops:
    """The time loops of a module in the order of a pass, and the requests."""

    menus: Menus
    numbers: Iterator[int] = field(default_factory=count)

    def next(self) -> TimeLoop:
        return TimeLoop(self)
