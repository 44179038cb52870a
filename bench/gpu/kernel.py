"""What is known of a kernel that is measured on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.row import Limit, Work
from examples.problems import Answer, Arguments, Size

if TYPE_CHECKING:
    import numpy as np


class Kind(Enum):
    """What a kernel does; estimates are compared with times for each of these."""

    PRODUCT = "product"
    CONVOLUTION = "convolution"
    REDUCTION = "reduction"
    STREAM = "stream"
    STENCIL = "stencil"
    SOLVER = "solver"


Make = Callable[[Size], str]


def _none(_: Size) -> None:
    """Every extent stands in the text."""


@dataclass(frozen=True, slots=True)
class GpuKernel:
    """One row.

    ``source`` makes the text for extents, or is a path.  ``arguments`` makes those of
    one call, ``answer`` what they must hold afterwards by position.  ``large`` is
    measured, ``small`` is checked on any device.  ``peers``: names in `peers.PEERS`.
    ``open_extents``: what a report must be told of extents that the text leaves open.
    ``options``: what it is compiled with.
    """

    name: str
    kind: Kind
    source: Make | Path
    arguments: Callable[[np.random.Generator, Size], Arguments]
    answer: Callable[..., Answer]
    work: Callable[[Size], Work]
    large: Size
    small: Size
    peers: tuple[str, ...] = ()
    entry: str = "f"
    limit: Limit = Limit.FMA
    tolerance: float = 1e-4
    open_extents: Callable[[Size], Mapping[str, int] | int | None] = _none
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def program(self, size: Size) -> str | Path:
        """The program for extents."""
        return self.source if isinstance(self.source, Path) else self.source(size)


def normal_arrays(
    *shapes: tuple[str, ...], dtype: str = "f4"
) -> Callable[..., Arguments]:
    """Arrays of normal numbers, of extents by name."""

    def made(rng: np.random.Generator, size: Size) -> Arguments:
        return tuple(
            rng.standard_normal([size[n] for n in shape]).astype(dtype)
            for shape in shapes
        )

    return made
