"""Several copies of one group are proven together, as each is by itself."""

from __future__ import annotations

import pytest

from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import (
    Array,
    Barrier,
    Commit,
    GroupWait,
    Loop,
    Node,
    Role,
    Scop,
    Statement,
    nest,
    read,
    write,
)
from gpucodegen.tiling.proof.conflicts import groups_of
from gpucodegen.tiling.proof.races import races

ROUNDS = Loop("k", "0", "6")


def kernel(order: str, cells: tuple[str, ...], used: str, pending: int = 0) -> Scop:
    """Rounds in which each of 32 threads copies some cells and uses others.

    ``cells``: of ``s``, one for each copy; ``order``: of the parts of a round.
    """
    copies = [
        Statement(
            f"copy{n}",
            (read("x", f"64*k + 32*{n} + t"), write("s", cell)),
            grouped=True,
        )
        for n, cell in enumerate(cells)
    ]
    parts: dict[str, tuple[Node, ...]] = {
        "copies": tuple(copies),
        "commit": (Commit(),),
        "wait": (GroupWait(pending),),
        "meet": (Barrier(),),
        "use": (Statement("use", (read("s", used), write("y", "t"))),),
        "halves": (copies[0], Statement("put", (write("z", "t"),)), *copies[1:]),
    }
    body = tuple(node for name in order.split() for node in parts[name])
    end = GroupWait(0)
    threads = [Loop("t", "0", "32", role=Role.THREAD)]
    arrays = (
        Array("s", (512,)),
        Array("x", (512,)),
        Array("y", (32,)),
        Array("z", (32,)),
    )
    return Scop(arrays=arrays, body=nest(threads, (*nest([ROUNDS], body), end)))


def reasons(scop: Scop) -> set[str]:
    return {race.reason for race in races(model(scop))}


APART = "64*(k mod 2) + t", "64*(k mod 2) + 32 + t"
THIS, BEFORE = "64*(k mod 2) + 63 - t", "64*((k + 1) mod 2) + 63 - t"
WHOLE = "copies commit wait meet use meet"
NO_WAIT = "no wait completes a copy before its cells are used"
NO_BARRIER = "no barrier orders two threads"
PROVEN: set[str] = set()
TWICE = "two copies of one group write one cell"


@pytest.mark.cases(
    ("order", "cells", "used", "pending", "found"),
    [
        (WHOLE, APART, THIS, 0, PROVEN),
        ("halves commit wait meet use meet", APART, THIS, 0, PROVEN),
        ("meet copies commit wait meet use", APART, BEFORE, 1, PROVEN),
        (WHOLE, APART, THIS, 1, {NO_WAIT}),
        ("copies commit wait use meet", APART, THIS, 0, {NO_WAIT, NO_BARRIER}),
        (WHOLE, ("t", "31 - t"), "t", 0, {NO_BARRIER}),
        (WHOLE, ("t", "t"), "t", 0, {TWICE}),
        ("halves commit wait meet use meet", ("t", "t"), "t", 0, {NO_WAIT}),
    ],
)
def test_copies_of_one_group(
    order: str, cells: tuple[str, ...], used: str, pending: int, found: set[str]
) -> None:
    assert reasons(kernel(order, cells, used, pending)) == found


def test_what_stands_between_copies_parts_them() -> None:
    def count(order: str) -> int:
        return len(groups_of(model(kernel(order, APART, THIS))))

    assert count(WHOLE) == 2
    assert count("halves commit wait meet use meet") == 4
