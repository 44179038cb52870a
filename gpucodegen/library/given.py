"""What a routine of the library gets: the operands of one call, and where it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from gpucodegen.ir.locations import UNKNOWN, FileLoc, Location


class Given(NamedTuple):
    """One operation or call.

    ``operands`` are numbers and buffers, ``kinds`` their types as MLIR spells them,
    ``"f32[]"`` for a buffer of ``f32``.  ``attributes`` are those of the operation.
    ``contents`` fetches what a buffer holds into main memory.

    >>> given = Given("printI64", (3,), ("i64",))
    >>> given.location is UNKNOWN
    True
    """

    name: str
    operands: tuple[Any, ...] = ()
    kinds: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = {}
    place: tuple[str, int, int] | tuple[()] = ()
    contents: Callable[[Any], np.ndarray] = np.asarray

    @property
    def location(self) -> Location:
        """Where it stands in the program."""
        return FileLoc(*self.place) if self.place else UNKNOWN


Routine = Callable[[Given], tuple[Any, ...]]
"""Runs a call; returns one value for each result."""
