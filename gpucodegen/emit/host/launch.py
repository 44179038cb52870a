"""What a host function is that makes its results, launches one kernel and returns.

Comes in: what was printed of a function.  Goes out: the launch, for callers that need
no host program to make it, or None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpucodegen.emit.kernel.reports import Reports

Form = tuple[tuple[int, ...], str]
"""Extents and element type of an array."""


TensorMap = tuple[int, tuple[int, ...], int, int]
"""Which argument it describes, the extents of its boxes, swizzle and promotion."""


class OneLaunch(NamedTuple):
    """All that a host function does.

    ``order``: which values the kernel takes, in its order: a number counts the
    arguments of the function, then ``results``, the arrays that it makes and returns,
    then the words for reports, then ``maps``.  ``single``: it returns one array, no
    tuple.  ``words``: how many there are for reports, and ``told``: what these mean.
    ``grid`` and ``block``: of a kernel in blocks, how many blocks and threads.
    """

    kernel: str
    order: tuple[int, ...]
    results: tuple[Form, ...] = ()
    single: bool = False
    words: int = 0
    told: tuple[object, ...] = ()
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    maps: tuple[TensorMap, ...] = ()


class Launched(NamedTuple):
    """A launch: grid and block, or None, and arguments are names or expressions."""

    kernel: str
    arguments: tuple[str, ...]
    status: str
    reports: Reports
    grid: str = "None"
    block: str = "None"


@dataclass(slots=True)
class PrintedHost:
    """Lines of a function's body by what they do, as they are printed.

    ``made``: variables that hold new arrays.  ``same``: variables that are others.
    ``maps``: those that hold tensor maps: the array's variable, then texts of what else
    a `TensorMap` has.  ``launches``, and what is ``returned``.
    """

    made: dict[str, Form] = field(default_factory=dict[str, Form])
    same: dict[str, str] = field(default_factory=dict[str, str])
    maps: dict[str, tuple[str, str, str, str]] = field(
        default_factory=dict[str, tuple[str, str, str, str]]
    )
    launches: list[Launched] = field(default_factory=list[Launched])
    returned: tuple[str, ...] = ()

    def one_launch(self, arguments: Sequence[str], lines: int) -> OneLaunch | None:
        """The only launch, if there is nothing else among so many ``lines``.

        What is made has to be returned, and nothing else.  Extents are numbers.

        >>> start = Launched("k", ("b", "a"), "status", Reports())
        >>> PrintedHost(launches=[start]).one_launch(["a", "b"], 1).order
        (1, 0)
        >>> PrintedHost(launches=[start]).one_launch(["a", "b"], 2)
        >>> made = PrintedHost({"c": ((4,), "f32")}, {"b": "c"}, {}, [start], ("c",))
        >>> made.one_launch(["a"], 4)[1:4]
        ((1, 0), (((4,), 'f32'),), True)
        """
        returned = [self.same.get(name, name) for name in self.returned]
        if len(self.launches) != 1 or list(self.made) != returned:
            return None
        kernel, texts, status, reports, *sizes = self.launches[0]
        extents = [_numbers(size) for size in sizes]
        known = len(self.made) + len(self.same) + 2 * bool(reports.words)
        known += len(self.maps)
        names = [*arguments, *self.made, *[status] * bool(reports.words), *self.maps]
        maps = [self._map(map_, arguments) for map_ in self.maps.values()]
        given = [self.same.get(text, text) for text in texts]
        if lines != known + 1 + bool(returned) or not set(given) <= set(names):
            return None
        grid, block = extents
        if grid is None or block is None or None in maps:
            return None
        return OneLaunch(
            kernel,
            tuple(map(names.index, given)),
            tuple(self.made.values()),
            len(returned) == 1,
            reports.words,
            tuple(reports.told),
            grid,
            block,
            tuple(filter(None, maps)),
        )

    def _map(
        self, texts: tuple[str, str, str, str], arguments: Sequence[str]
    ) -> TensorMap | None:
        """A map of an argument; None of another array, or of extents not known here."""
        name, box, swizzle, promotion = texts
        array, extents = self.same.get(name, name), _numbers(box)
        if array not in arguments or extents is None:
            return None
        return arguments.index(array), extents, int(swizzle), int(promotion)


def _numbers(text: str) -> tuple[int, ...] | None:
    """The numbers of a tuple's text, none of ``None``; None where others are in it.

    >>> _numbers("(4, 1, 1)"), _numbers("None"), _numbers("(n, 1, 1)")
    ((4, 1, 1), (), None)
    """
    parts = [] if text == "None" else text.strip("()").split(", ")
    return tuple(map(int, parts)) if all(p.isdecimal() for p in parts) else None
