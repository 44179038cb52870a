"""What tuning may vary: the sizes that a nest takes from an option of the compiler.

Comes in: what a pass found while it mapped a program.  Goes out: the values of each
size.  A size of 0 is the compiler's own choice, so all zeros are the default schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from gpucodegen.tiling.machine.model import Machine
from gpucodegen.tiling.machine.products.candidates import Tiling
from gpucodegen.tiling.machine.products.problem import Problem
from gpucodegen.tiling.machine.products.register_tile import candidates
from gpucodegen.tiling.tuning.space import Objection, Point

REGISTER_TILE = ("rows", "columns", "k_block")
"""Sizes of a contraction on the CPU: of the result in registers, and of the steps."""
K_BLOCKS = (64, 128, 256, 512, 1024)
"""Steps of a reduction block: powers of two up to what a second cache holds."""
TILE_SIZES = (8, 16, 32, 64, 128, 256)
"""Iterations of a loop in a tile."""


@dataclass(frozen=True, slots=True)
class Knob:
    """The sizes of one nest that an option sets.

    ``option``: the field of the options; empty where none reaches the nest, whose plan
    is then the compiler's alone.  ``values`` of each size, in an order in which the
    compiler's choice, 0, stands next to those most like it.  ``start``: sizes that are
    worth a trial early.  ``pairs``: rows and columns that fit the registers together.
    """

    option: str
    values: Mapping[str, tuple[int, ...]]
    start: Mapping[str, int]
    pairs: frozenset[tuple[int, int]] = frozenset()

    def objection(self, point: Point) -> Objection | None:
        """Why a point is not worth a trial, though it may be legal.

        >>> tile = {"rows": (0, 4), "columns": (0, 8), "k_block": (0,)}
        >>> knob = Knob("register_tile", tile, {}, frozenset({(4, 16)}))
        >>> knob.objection({"rows": 4, "columns": 8, "k_block": 0})
        'the tile does not fit the registers'
        """
        if not self.pairs:
            return None
        rows, columns, _ = (point[name] for name in REGISTER_TILE)
        fits = not (rows and columns) or (rows, columns) in self.pairs
        return None if fits else "the tile does not fit the registers"


NOTHING = Knob("", {}, {})
"""A nest that no option reaches."""


def register_knob(problem: Problem, machine: Machine, tiling: Tiling) -> Knob:
    """The register tile and the reduction block of a contraction on the CPU.

    ``tiling``: what is chosen where nothing is asked for.
    """
    unit = problem.summing(machine.unit)
    fitting = [
        (tile.rows, tile.columns)
        for tile in candidates(unit, problem.element_bits)
        if tile.rows <= problem.rows
        and tile.columns < problem.columns + unit.lanes(problem.element_bits)
    ]
    steps = problem.steps
    block = tiling.k_chunk * prod(problem.reduction[tiling.k_position + 1 :])
    chosen = tiling.rows, tiling.columns, block
    every = (
        {rows for rows, _ in fitting},
        {columns for _, columns in fitting},
        {size for size in K_BLOCKS if size < steps},
    )
    values = {
        name: _around(own, sizes)
        for name, own, sizes in zip(REGISTER_TILE, chosen, every, strict=True)
    }
    return Knob("register_tile", values, {}, frozenset(fitting))


def _around(chosen: int, sizes: set[int]) -> tuple[int, ...]:
    """Sizes in order, with 0 in the place of the one that is chosen anyway.

    >>> _around(6, {2, 4, 6, 8})
    (2, 4, 0, 8)
    """
    less = sorted(size for size in sizes if size < chosen)
    more = sorted(size for size in sizes if size > chosen)
    return (*less, 0, *more)


def tile_knob(extents: Sequence[int | None]) -> Knob:
    """The tile sizes of a nest, outermost loop first; None: an unknown extent.

    >>> tile_knob([100, None]).values["tile0"]
    (0, 8, 16, 32, 64)
    """
    values = {
        f"tile{depth}": (0, *(n for n in TILE_SIZES if extent is None or n < extent))
        for depth, extent in enumerate(extents)
    }
    start = {name: 32 if 32 in sizes else 0 for name, sizes in values.items()}
    return Knob("tile_sizes", values, start)


def joined(knobs: Sequence[Knob]) -> Knob:
    """One knob for all nests of a function, which take their sizes from one option.

    Nests that no option reaches, and those of a register tile, keep others from being
    tiled: tile sizes would take their contractions apart.

    >>> joined([tile_knob([64]), tile_knob([64, 64])]).values
    {'tile0': (0, 8, 16, 32), 'tile1': (0, 8, 16, 32)}
    >>> joined([tile_knob([64, 64]), NOTHING]) == NOTHING
    True
    """
    own = [knob for knob in knobs if knob.option != "tile_sizes"]
    useful = [knob for knob in own or knobs if knob.option]
    if not useful:
        return NOTHING
    found = useful[0]
    for knob in useful[1:]:
        found = _both(found, knob)
    return found


def _both(one: Knob, other: Knob) -> Knob:
    """The values of both, in the order of the first."""
    names = dict.fromkeys((*one.values, *other.values))
    values = {
        name: tuple(
            dict.fromkeys((*one.values.get(name, ()), *other.values.get(name, ())))
        )
        for name in names
    }
    return Knob(
        one.option, values, {**other.start, **one.start}, one.pairs | other.pairs
    )
