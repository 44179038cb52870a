"""The proof of copies of engines from shared memory: what it takes and refuses."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
from tiling_edits import edits

from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import (
    Array,
    Barrier,
    Commit,
    GroupWait,
    If,
    Loop,
    Node,
    ProxyFence,
    Role,
    Scop,
    Statement,
    nest,
    read,
    write,
)
from gpucodegen.tiling.proof.enumeration import proven
from gpucodegen.tiling.proof.races import PROOF, Race, races


@dataclass(frozen=True)
class Stores:
    """Each of 64 threads puts an element, one copies all of them out, in some rounds.

    ``order``: of the parts of a round; ``whither``: the row that a round writes.
    """

    order: str = "wait meet put fence meet copy"
    last: str = "wait"
    pending: int = 0
    reads: bool = True
    bulk: bool = True
    whither: str = "4*b + k"
    first: str = "t = 0"
    cell: str = "t"
    rounds: int = 4

    def body(self, parts: Mapping[str, Node]) -> tuple[Node, ...]:
        """The parts of a round; repeated statements get names of their own."""
        found = list[Node]()
        for n, name in enumerate(self.order.split()):
            node = parts[name.replace("_", " ")]
            match node:
                case Statement():
                    node = replace(node, name=f"{node.name} {n}")
                case If(body=(Statement() as first, *rest)):
                    copy = replace(first, name=f"{first.name} {n}")
                    node = replace(node, body=(copy, *rest))
                case _:
                    pass
            found.append(node)
        return tuple(found)

    @property
    def races(self) -> tuple[Race, ...]:
        return races(model(self.scop))

    @property
    def scop(self) -> Scop:
        lines = replace(read("s", "c"), span=(("c", "64"),))
        row = replace(write("out", self.whither, "c"), span=(("c", "64"),))
        copy = Statement("copy", (lines, row), grouped=True, bulk=True)
        wait = GroupWait(self.pending, bulk=self.bulk, reads=self.reads)
        parts: dict[str, Node] = {
            "put": Statement("put", (write("s", self.cell),)),
            "fence": ProxyFence(),
            "some fence": If(None, (ProxyFence(),)),
            "meet": Barrier(),
            "meet warp": Barrier(lanes=(1 << 32) - 1),
            "copy": If((self.first,), (copy, Commit(bulk=self.bulk))),
            "start": If((self.first,), (copy,)),
            "wait": If((self.first,), (wait,)),
            "wait all": If((self.first,), (replace(wait, pending=0, reads=False),)),
        }
        body = self.body(parts)
        end = tuple(parts[name] for name in self.last.split())
        loops = [
            Loop("b", "0", "3", role=Role.BLOCK),
            Loop("t", "0", "64", role=Role.THREAD),
        ]
        arrays = Array("s", (64,), ("b",)), Array("out", (None, None))
        rounds = nest([Loop("k", "0", str(self.rounds))], body)
        return Scop(arrays=arrays, body=nest(loops, (*rounds, *end)))


PROVEN = {
    "as kernels have it": Stores(),
    "a fence behind the barrier": Stores("wait meet put meet fence copy"),
    "a wait that leaves writes open": Stores(reads=True),
    "a wait for all": Stores(reads=False),
}


@pytest.mark.cases("name", PROVEN)
def test_what_is_proven(name: str) -> None:
    assert PROVEN[name].races == ()


SPOILT = {
    "no fence": (Stores("wait meet put meet copy"), "no proxy fence"),
    "fence before the stores": (Stores("wait meet fence put meet copy"), "no proxy"),
    "a fence of some threads": (Stores("wait meet put some_fence meet copy"), "proxy"),
    "no wait before the stores": (Stores("meet put fence meet copy"), "no wait"),
    "no barrier behind the wait": (Stores("wait put fence meet copy"), "no wait"),
    "no barrier before the copy": (Stores("wait meet put fence copy"), "no barrier"),
    "a group too many is open": (Stores(pending=1), "no wait"),
    "no group": (Stores("wait meet put fence meet start"), "no wait"),
    "groups of other copies": (Stores(bulk=False), "no wait"),
    "no wait at the end": (Stores(last=""), "no wait ends a copy"),
    "all threads copy": (Stores(first="t >= 0"), "no "),
    "blocks write one row": (Stores(whither="k"), "two blocks use one cell"),
    "rounds write one row": (Stores(whither="b"), "no wait"),
}


@pytest.mark.cases("name", SPOILT)
def test_what_is_refused(name: str) -> None:
    stores, told = SPOILT[name]
    assert any(told in str(race) for race in stores.races), stores.races


@pytest.mark.cases("name", PROVEN)
def test_what_enumeration_proves(name: str) -> None:
    behind = name == "a fence behind the barrier"
    assert proven(PROVEN[name].scop).is_complete != behind


@pytest.mark.cases("name", SPOILT)
def test_what_enumeration_leaves_to_isl(name: str) -> None:
    assert not proven(SPOILT[name][0].scop).is_complete


@pytest.mark.slow
@pytest.mark.cases(
    ("whither", "is_proven"), [("150*b + k", True), ("150*b + (k mod 149)", False)]
)
def test_many_rounds_whose_writes_stay_open(whither: str, *, is_proven: bool) -> None:
    scop = Stores(rounds=150, whither=whither).scop
    assert proven(scop).is_complete == is_proven


PARTS = "wait", "meet", "put", "fence", "copy", "meet_warp", "start", "wait_all"


def disagreements(seed: int, tried: int, wanted: int) -> list[Scop]:
    """Of random rounds those that isl does not prove, though enumeration does."""
    chosen = random.Random(seed)
    decided = list[Scop]()
    for _ in range(tried):
        order = "wait meet put fence meet copy".split()
        for _ in range(chosen.randint(1, 3)):
            at = chosen.randrange(len(order))
            order[at : at + chosen.randint(0, 1)] = [chosen.choice(PARTS)]
        whither = chosen.choice(["4*b + k", "4*b + k", "b", "k", "4*b + (k mod 2)"])
        stores = Stores(
            " ".join(order),
            last=chosen.choice(["wait", "wait", ""]),
            pending=chosen.choice([0, 0, 0, 1]),
            reads=chosen.random() < 0.5,
            whither=whither,
            first=chosen.choice(["t = 0", "t = 0", "t = 40", "32 - t >= 1"]),
            cell=chosen.choice(["t", "t", "63 - t", "floor(t/2)"]),
        )
        if proven(stores.scop).is_complete:
            decided.append(stores.scop)
    assert len(decided) >= wanted
    return [scop for scop in decided if races(model(scop, PROOF))]


def test_rounds_that_enumeration_proves_are_proven_by_isl() -> None:
    assert disagreements(0, 50, 2) == []


@pytest.mark.slow
def test_many_rounds_that_enumeration_proves_are_proven_by_isl() -> None:
    assert disagreements(1, 1400, 70) == []


@pytest.mark.sampled(3)
@pytest.mark.cases("seed", range(3))
def test_edits_that_are_proven_are_proven_by_isl(seed: int) -> None:
    stores = [PROVEN["as kernels have it"], PROVEN["a wait for all"]]
    stores.append(Stores("wait meet put fence meet copy", pending=0, whither="k + 4*b"))
    found = [scop for _, scop in edits(stores[seed].scop) if proven(scop).is_complete]
    assert len(found) >= 3
    assert not [scop for scop in found if races(model(scop, PROOF))]


def test_who_waits_for_writes_may_write_again() -> None:
    assert Stores(whither="b", reads=False).races == ()
