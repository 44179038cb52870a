"""The proof of rings of mbarriers, written as nodes: what it takes and refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import (
    Array,
    Barrier,
    If,
    Loop,
    Node,
    Phase,
    Role,
    Scop,
    Statement,
    Turn,
    nest,
    read,
    write,
)
from gpucodegen.tiling.proof.kernel_order import ALL_LANES
from gpucodegen.tiling.proof.mbarriers import NotModelledError
from gpucodegen.tiling.proof.races import PROOF, Race, races

UPDATE = {"atomic": "mbarrier"}


@dataclass(frozen=True)
class Ring:
    """Two warps read what the first thread of a third one copies, ``steps`` times.

    ``tiles``: and all of it again for each of so many; ``before``: the steps of those
    before one.  ``drop``: parts that are left out.
    """

    stages: int = 2
    steps: str = "9"
    full: int = 1
    empty: int = 2
    expected: int = 64
    full_odd: int = 1
    empty_odd: int = 0
    behind: str = "k"
    stage: str = ""
    ready: int = 0
    tiles: int = 0
    before: str = "9"
    drop: str = ""

    def turn(self, name: str, array: str, at: str, phase: Phase) -> Statement:
        access = write(array, at)
        if phase.turn is not Turn.INIT:
            access = replace(access, **UPDATE)
        return Statement(name, (access,), phase=phase)

    @property
    def scop(self) -> Scop:
        s = self.stages

        def step(k: str) -> str:
            return f"{self.before}*{tile_of[k[0]]} + {k}" if self.tiles else k

        def stage(k: str) -> str:
            return self.stage or f"({step(k)}) mod {s}"

        def odd(k: str, value: int) -> str:
            return f"(floor(({step(k)})/{s})) mod 2 = {value}"

        tile_of = {"p": "q", "k": "m"}

        def around(k: str, body: tuple[Node, ...]) -> tuple[Node, ...]:
            """The loops of a role."""
            tiles = [Loop(tile_of[k], "0", str(self.tiles))] if self.tiles else []
            return nest([*tiles, Loop(k, "0", self.steps)], self.kept(body))

        inits = tuple(
            self.turn(f"init {n}", n, "i", Phase(Turn.INIT, count))
            for n, count in (("full", self.full), ("empty", self.empty))
        )
        copy = Statement(
            "copy",
            (
                replace(write("full", stage("p")), **UPDATE),
                replace(write("s", stage("p"), "c"), span=(("c", "32"),)),
            ),
            phase=Phase(Turn.COPY, 64),
        )
        produce = (
            self.turn(
                "wait for empty",
                "empty",
                stage("p"),
                Phase(Turn.WAIT, odd=odd("p", self.empty_odd)),
            ),
            self.turn("expect", "full", stage("p"), Phase(Turn.ARRIVE, self.expected)),
            copy,
        )
        consume = (
            self.turn(
                "wait for full",
                "full",
                stage("k"),
                Phase(Turn.WAIT, odd=odd("k", self.full_odd)),
            ),
            Statement(
                "multiply", (replace(read("s", stage("k"), "c"), span=(("c", "32"),)),)
            ),
            Barrier(lanes=ALL_LANES, orders=frozenset(), what="end"),
            If(
                ("t mod 32 = 0",),
                (
                    self.turn(
                        "release", "empty", stage(self.behind), Phase(Turn.ARRIVE, 0)
                    ),
                ),
            ),
        )
        body = (
            If(("t = 0",), nest([Loop("i", "0", str(self.ready or s))], inits)),
            Barrier(),
            If(
                ("t < 64",),
                around("k", consume),
                (
                    If(
                        ("t = 64",),
                        around("p", produce),
                    ),
                ),
            ),
        )
        loops = [
            Loop("b", "0", "3", role=Role.BLOCK),
            Loop("t", "0", "96", role=Role.THREAD),
        ]
        arrays = tuple(
            Array(name, shape, ("b",))
            for name, shape in (("full", (s,)), ("empty", (s,)), ("s", (s, 32)))
        )
        known = ("N",) if self.steps == "N" else ()
        return Scop(known, arrays=arrays, body=nest(loops, self.kept(body)))

    def kept(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """Nodes without what is dropped."""

        def name(node: Any) -> str:
            if isinstance(node, If) and isinstance(node.body[0], Statement):
                return node.body[0].name
            return getattr(node, "what", getattr(node, "name", ""))

        return tuple(n for n in nodes if not self.drop or name(n) != self.drop)

    @property
    def races(self) -> tuple[Race, ...]:
        return races(model(self.scop, PROOF))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stages", [1, 2, 3, 4, 7])
def test_rings_of_all_sizes_are_proven(stages: int) -> None:
    assert Ring(stages).races == ()


@pytest.mark.slow
@pytest.mark.cases("stages", [2, 1, 3, 4, 5, 6, 7])
def test_a_ring_that_turns_on_over_tiles_is_proven(stages: int) -> None:
    """No number of stages but 1 and 3 divides the steps of a tile."""
    assert Ring(stages, tiles=4).races == ()


def test_a_ring_is_proven_for_any_number_of_steps() -> None:
    ring = Ring(3)
    scop = replace(replace(ring, steps="N").scop, context=("N >= 1",))
    assert races(model(scop)) == ()


SPOILT: list[tuple[str, dict[str, Any], str]] = [
    ("no wait for full", {"drop": "wait for full"}, "no barrier orders"),
    ("no wait for empty", {"drop": "wait for empty"}, "may come before"),
    ("no arrival at empty", {"drop": "release"}, "does not end"),
    ("nothing expected", {"drop": "expect"}, "nothing expects"),
    ("products not waited for", {"drop": "end"}, "no barrier orders"),
    ("barriers not waited for", {"drop": "barrier"}, "no barrier orders"),
    ("full: phase flipped", {"full_odd": 0}, "no barrier orders"),
    ("empty: phase flipped", {"empty_odd": 1}, "behind the wait only"),
    ("too few bytes", {"expected": 32}, "64 bytes arrive where 32"),
    ("one arrival too few", {"empty": 1}, "2 threads arrive"),
    ("one arrival too many", {"empty": 3}, "2 threads arrive"),
    ("two arrivals at full", {"full": 2}, "1 threads arrive"),
    ("a barrier without init", {"ready": 1}, "is not initialised"),
    ("another stage released", {"behind": "k + 1"}, ""),
    ("one stage for all", {"stage": "0"}, ""),
    ("tiles: begins anew at each", {"tiles": 4, "before": "0"}, ""),
    ("tiles: skips a step between", {"tiles": 4, "before": "10"}, ""),
    ("tiles: phase flipped", {"tiles": 4, "full_odd": 0}, "no barrier orders"),
    ("tiles: no arrival", {"tiles": 4, "drop": "release"}, "does not end"),
    ("tiles: unknown steps", {"tiles": 4, "steps": "N"}, ""),
]


@pytest.mark.sampled(5)
@pytest.mark.cases(
    ("change", "told"), [row[1:] for row in SPOILT], ids=[row[0] for row in SPOILT]
)
def test_a_ring_that_is_spoilt(change: dict[str, Any], told: str) -> None:
    ring: Callable[..., Ring] = Ring
    try:
        found = ring(**change).races
    except NotModelledError:
        assert not told
        return
    assert any(told in str(race) for race in found), list(map(str, found))
