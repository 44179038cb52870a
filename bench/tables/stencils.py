"""Grids relaxed over many steps: time tiles against the best code without them."""

from __future__ import annotations

from math import prod

from bench import naive_stencils
from bench.case import Case, Peer
from bench.peers import numba_peer, ours
from bench.row import Work
from bench.tables.examples import slices
from examples.catalogue import PROGRAMS, Program
from examples.problems import Size

JACOBI, SEIDEL = PROGRAMS["jacobi_2d"], PROGRAMS["seidel_2d"]
HEAT = PROGRAMS["heat_3d"]


def relaxed(program: Program, size: Size, size_of: int, *peers: Peer) -> Case:
    """A program, and itself without time tiles; traffic as if each step were one."""
    untiled = ours(program.path, program.entry, "untiled", time_tiles=False)
    work = program.problem.work(size)
    moved = 2 * size_of * prod(size.values())
    return Case.of(program, size, (untiled, *peers), work=Work(work, moved))


def square(steps: int, side: int) -> Size:
    """Steps in time on a square grid."""
    return {"T": steps, "H": side, "W": side}


LINES = (
    *(relaxed(JACOBI, square(50, n), 4, Peer("NumPy", slices)) for n in (1000, 2000)),
    relaxed(JACOBI, square(100, 4096), 4, numba_peer(naive_stencils.jacobi_2d)),
    relaxed(HEAT, {**HEAT.large, "T": 100}, 4, numba_peer(naive_stencils.heat_3d)),
    *(relaxed(SEIDEL, square(96, n), 8) for n in (1000, 2000)),
)
