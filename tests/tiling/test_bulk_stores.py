"""The proof of copies of engines from shared memory: what it takes and refuses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

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
from gpucodegen.tiling.proof.races import Race, races


@dataclass(frozen=True)
class Stores:
    """Each of 64 threads puts an element, one copies all of them out, four times.

    ``order``: of the parts of a round; ``whither``: the row that a round writes.
    """

    order: str = "wait meet put fence meet copy"
    last: str = "wait"
    pending: int = 0
    reads: bool = True
    bulk: bool = True
    whither: str = "4*b + k"
    first: str = "t = 0"

    @property
    def races(self) -> tuple[Race, ...]:
        lines = replace(read("s", "c"), span=(("c", "64"),))
        row = replace(write("out", self.whither, "c"), span=(("c", "64"),))
        copy = Statement("copy", (lines, row), grouped=True, bulk=True)
        wait = GroupWait(self.pending, bulk=self.bulk, reads=self.reads)
        parts: dict[str, Node] = {
            "put": Statement("put", (write("s", "t"),)),
            "fence": ProxyFence(),
            "some fence": If(None, (ProxyFence(),)),
            "meet": Barrier(),
            "copy": If((self.first,), (copy, Commit(bulk=self.bulk))),
            "start": If((self.first,), (copy,)),
            "wait": If((self.first,), (wait,)),
        }
        body = tuple(parts[name.replace("_", " ")] for name in self.order.split())
        end = tuple(parts[name] for name in self.last.split())
        loops = [
            Loop("b", "0", "3", role=Role.BLOCK),
            Loop("t", "0", "64", role=Role.THREAD),
        ]
        arrays = Array("s", (64,), ("b",)), Array("out", (None, None))
        rounds = nest([Loop("k", "0", "4")], body)
        return races(model(Scop(arrays=arrays, body=nest(loops, (*rounds, *end)))))


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


def test_who_waits_for_writes_may_write_again() -> None:
    assert Stores(whither="b", reads=False).races == ()
