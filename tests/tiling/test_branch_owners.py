"""Branches by a block variable whose accesses a test of divisors holds apart."""

from __future__ import annotations

import pytest

from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import (
    Array,
    Barrier,
    If,
    Loop,
    Role,
    Scop,
    Statement,
    nest,
    read,
    write,
)
from gpucodegen.tiling.proof.enumeration import proven
from gpucodegen.tiling.proof.races import races

GRID = (
    Loop("k", "0", "2", role=Role.BLOCK),
    Loop("b", "0", "3", role=Role.BLOCK),
    Loop("t", "0", "8", role=Role.THREAD),
)


def kernel(*places: tuple[str, ...]) -> Scop:
    """Block (n, b) writes the n-th place."""
    body = tuple(
        If(
            (f"k - {n} >= 0", f"{n} - k >= 0"),
            (Statement(f"s{n}", (write("a", *at),)),),
        )
        for n, at in enumerate(places)
    )
    return Scop(arrays=(Array("a", (200,) * len(places[0])),), body=nest(GRID, body))


PHASES = {
    "phases": (("2*(8*b + t)",), ("2*(8*b + t) + 1",)),
    "phases of an inner dimension": (
        ("floor((8*b + t)/5)", "3*((8*b + t) mod 5)"),
        ("floor((8*b + t)/5)", "3*((8*b + t) mod 5) + 2"),
    ),
    "two strides": (
        ("2*(floor((8*b + t)/5))", "3*((8*b + t) mod 5)"),
        ("2*(floor((8*b + t)/5)) + 1", "3*((8*b + t) mod 5)"),
    ),
}


@pytest.mark.cases("name", list(PHASES))
def test_phases_are_apart(name: str):
    assert proven(kernel(*PHASES[name])).is_complete


@pytest.mark.cases("distance, is_free", [(1, True), (2, True), (3, False), (12, False)])
def test_a_thread_owns_neighbours_of_its_place(distance: int, is_free: bool):
    """Both indices have the same quotients and remainders, but other constants."""
    row, column = "floor((8*b + t)/5)", "3*((8*b + t) mod 5)"
    both = write("a", row, column), write("a", row, f"{column} + {distance}")
    loops = (GRID[1], GRID[2])
    body = nest(loops, (Statement("s", both),))
    scop = Scop(arrays=(Array("a", (200, 200)),), body=body)
    assert proven(scop).is_complete == is_free


MEETING = {
    "one phase": (("2*(8*b + t)",), ("2*(8*b + t)",)),
    "next phase": (("2*(8*b + t)",), ("2*(8*b + t) + 2",)),
    "strides without a common divisor": (("2*(8*b + t)",), ("3*(8*b + t) + 1",)),
    "blocks of one branch": (("2*(4*b + t)",), ("2*(8*b + t) + 1",)),
    "threads of one branch": (
        ("2*(8*b + floor(t/2))",),
        ("2*(8*b + t) + 1",),
    ),
}


@pytest.mark.cases("name", list(MEETING))
def test_meeting_branches_are_refused(name: str):
    scop = kernel(*MEETING[name])
    assert not proven(scop).is_complete
    assert races(model(scop))


def staged(without: int | None = None) -> Scop:
    """Eight kernels of different numbers of blocks, one of them without a barrier."""
    branches = [
        If(
            (f"k - {n} >= 0", f"{n} - k >= 0", f"{11 - n} - b >= 0"),
            (
                Statement(f"put {n}", (write("s", "t"),)),
                *(() if n == without else (Barrier(),)),
                Statement(
                    f"get {n}", (read("s", "7 - t"), write("a", f"{n}", "8*b + t"))
                ),
            ),
        )
        for n in range(8)
    ]
    grid = (
        Loop("k", "0", "8", role=Role.BLOCK),
        Loop("b", "0", "12", role=Role.BLOCK),
        Loop("t", "0", "8", role=Role.THREAD),
    )
    arrays = Array("a", (8, 96)), Array("s", (8,), scope=("k", "b"))
    return Scop(arrays=arrays, body=nest(grid, branches))


@pytest.mark.cases("without, is_proven", [(None, True), (0, False), (7, False)])
def test_each_branch_has_a_budget(without: int | None, is_proven: bool):
    assert proven(staged(without)).is_complete == is_proven
