"""Which time loops are worth tiles: not those whose arithmetic takes longer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from gpucodegen.tiling.machine.processor import Machine
from gpucodegen.tiling.machine.temporal_tiling import TimePlan, plan_time_tiles
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest, read, write
from gpucodegen.tiling.proof.dependences import dependences
from gpucodegen.tiling.schedule.schedule import Unit, UnitNest
from gpucodegen.tiling.schedule.skewing import SkewedBand, find_band

SIDE = 400
MACHINE = Machine(2, second=1_310_720, shared=48 << 20)


def relaxation(shifts: Sequence[tuple[int, ...]], side: int = SIDE) -> UnitNest:
    """``A[(t + 1) mod 2, i, j, k]`` from neighbours in ``A[t mod 2]``."""
    names = ("i", "j", "k")
    reads = [
        read("A", "t mod 2", *(f"{n} + {s}" for n, s in zip(names, shift, strict=True)))
        for shift in shifts
    ]
    statement = Statement("S", (*reads, write("A", "(t + 1) mod 2", *names)))
    space = [Loop(name, "1", str(side - 1)) for name in names]
    array = Array("A", (2, side, side, side))
    body = nest([Loop("t", "0", "T"), *space], (statement,))
    built = model(Scop(("T",), (), (array,), body))
    return UnitNest(built, dependences(built), (Unit(("S",)),))


def plan(shifts: Sequence[tuple[int, ...]], side: int = SIDE) -> TimePlan | None:
    source = relaxation(shifts, side)
    band = find_band(source)
    assert isinstance(band, SkewedBand)
    return plan_time_tiles(source, band, {"A": 4}, MACHINE)


CUBE = list(product((-1, 0, 1), repeat=3))
CROSS = [shift for shift in CUBE if sum(map(abs, shift)) <= 1]


@pytest.mark.parametrize(("shifts", "pays"), [(CROSS, True), (CUBE, False)])
def test_seven_points_are_tiled_and_twenty_seven_are_not(
    shifts: list[tuple[int, ...]], pays: bool
):
    assert (plan(shifts) is not None) == pays


@pytest.mark.parametrize(("side", "pays"), [(80, False), (100, False), (256, True)])
def test_cubes_that_the_shared_cache_holds_keep_their_loops(side: int, pays: bool):
    """Measured on two threads: tiles run at 0.78, 0.78 and 1.3 of plain loops."""
    assert (plan(CROSS, side) is not None) == pays
