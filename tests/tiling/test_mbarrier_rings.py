"""What the proof by enumeration takes for a ring of mbarriers, and isl as the judge."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from test_mbarriers import SPOILT, UPDATE, Ring
from tiling_edits import edits

from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import (
    Array,
    Barrier,
    If,
    Loop,
    Node,
    Phase,
    Scop,
    Statement,
    Turn,
    read,
    statements,
    write,
)
from gpucodegen.tiling.proof.enumeration import proven
from gpucodegen.tiling.proof.kernel_order import ALL_LANES
from gpucodegen.tiling.proof.mbarriers import NotModelledError
from gpucodegen.tiling.proof.races import PROOF, races

Nodes = tuple[Node, ...]
WARP = Barrier(lanes=ALL_LANES)


def is_refused(scop: Scop) -> bool:
    """Whether isl finds a race, or does not know."""
    try:
        return bool(races(model(scop, PROOF)))
    except NotModelledError:
        return True


def rewritten(nodes: Nodes, change: Callable[[Node], Nodes | None]) -> Nodes:
    """Nodes with others in the place of those for which ``change`` has some."""
    found = list[Node]()
    for node in nodes:
        new = change(node)
        if new is not None:
            found += new
        elif isinstance(node, Loop):
            found.append(replace(node, body=rewritten(node.body, change)))
        elif isinstance(node, If):
            body, orelse = (rewritten(n, change) for n in (node.body, node.orelse))
            found.append(replace(node, body=body, orelse=orelse))
        else:
            found.append(node)
    return tuple(found)


def with_(scop: Scop, name: str, make: Callable[[Any], Nodes]) -> Scop:
    """A kernel with others in the place of the statements or barriers of a name."""

    def change(node: Node) -> Nodes | None:
        found = getattr(node, "what", getattr(node, "name", ""))
        return make(node) if found == name else None

    body = rewritten(scop.body, change)
    assert body != scop.body
    return replace(scop, body=body)


def written_out(scop: Scop) -> Scop:
    """A ring whose consumers then exchange sums in their warps, and store them."""
    cell = "32*floor(t/32) + 31 - (t mod 32)"
    put = Statement("put", (write("sums", "t"),))
    get = Statement("get", (read("sums", cell), write("out", "64*b + t")))

    def change(node: Node) -> Nodes | None:
        if isinstance(node, If) and node.constraints == ("t < 64",):
            return (replace(node, body=(*node.body, put, WARP, get)),)
        return None

    arrays = (Array("sums", (64,), ("b",)), Array("out", (192,)))
    body = rewritten(scop.body, change)
    return replace(scop, arrays=(*scop.arrays, *arrays), body=body)


RING = Ring(2, steps="5").scop
RINGS = (
    RING,
    Ring(3, tiles=2, steps="4", before="4").scop,
    written_out(Ring(1, steps="3").scop),
)


@pytest.mark.cases("stages", [1, 2, 3, 4, 7])
def test_rings_are_proven(stages: int) -> None:
    for ring in (Ring(stages), Ring(stages, tiles=4)):
        assert proven(ring.scop).is_complete
        assert proven(written_out(ring.scop)).is_complete


@pytest.mark.cases("change", [row[1] for row in SPOILT], ids=[row[0] for row in SPOILT])
def test_a_ring_that_is_spoilt_is_left_to_isl(change: dict[str, Any]) -> None:
    assert not proven(Ring(**change).scop).is_complete


def other_box(copy: Statement) -> Nodes:
    """A second copy, of the same cells, that brings as many bytes."""
    halves = replace(copy, phase=Phase(Turn.COPY, 32))
    return halves, replace(halves, name="copy again")


def at_other_steps(node: Statement) -> Nodes:
    """A statement in some iterations only."""
    return (If(("k - 1 >= 0",), (node,)),)


def released(*condition: str) -> Callable[[Statement], Nodes]:
    return lambda node: (If(condition, (node,)),)


def reads(*indices: str) -> Callable[[Statement], Nodes]:
    access = replace(read("s", *indices), span=(("c", "32"),))
    return lambda node: (replace(node, accesses=(access,)),)


CHANGED: dict[str, tuple[str, Callable[[Any], Nodes]]] = {
    "1: another use of an mbarrier": (
        "multiply",
        lambda n: (n, Statement("look", (read("full", "k mod 2"),))),
    ),
    "1: initialised twice": (
        "init full",
        lambda n: (n, replace(n, name="init again")),
    ),
    "1: initialised behind the barrier": (
        "barrier",
        lambda n: (n, Statement("again", (write("full", "0"),))),
    ),
    "2: copy before its wait": (
        "wait for empty",
        lambda n: (
            Statement(
                "early",
                (replace(write("full", "p mod 2"), **UPDATE), write("s", "0", "0")),
                phase=Phase(Turn.COPY, 0),
            ),
            n,
        ),
    ),
    "2: arrival in some steps": ("release", at_other_steps),
    "2: wait in some steps": ("wait for full", at_other_steps),
    "3: a barrier of the block in the loop": ("end", lambda n: (n, Barrier())),
    "4: reads another stage": ("multiply", reads("(k + 1) mod 2", "c")),
    "4: reads one stage": ("multiply", reads("0", "c")),
    "5: bytes expected by the arrival at empty": (
        "release",
        lambda n: (replace(n, phase=Phase(Turn.ARRIVE, 8)),),
    ),
    "6: copies that overlap": ("copy", other_box),
    "7: written by a consumer": (
        "multiply",
        lambda n: (n, Statement("write", (write("s", "k mod 2", "t mod 32"),))),
    ),
    "7: read before the wait": (
        "wait for full",
        lambda n: (Statement("early", (read("s", "k mod 2", "0"),)), n),
    ),
    "7: read behind the loop": (
        "copy",
        lambda n: (n, Statement("late", (read("s", "p mod 2", "0"),))),
    ),
    "7: warp barrier before the read": (
        "multiply",
        lambda n: (replace(WARP, orders=frozenset()), n, Statement("other", ())),
    ),
}


@pytest.mark.slow
@pytest.mark.cases("name", CHANGED)
def test_each_condition_is_needed(name: str) -> None:
    """isl refuses these rings; enumeration would not without the condition."""
    scop = with_(RING, *CHANGED[name])
    assert not proven(scop).is_complete
    if not name.startswith("5"):  # bytes that no copy brings are no race for isl
        assert is_refused(scop)


def test_each_warp_that_reads_must_arrive() -> None:
    scop = with_(Ring(2, steps="5", empty=1).scop, "release", released("t = 0"))
    assert not proven(scop).is_complete
    assert is_refused(scop)


def in_turn(scop: Scop, *between: Node) -> Scop:
    """The producer before the consumers, in the place of beside them."""

    def change(node: Node) -> Nodes | None:
        if isinstance(node, If) and node.orelse:
            return (*node.orelse, *between, replace(node, orelse=()))
        return None

    return replace(scop, body=rewritten(scop.body, change))


def test_a_barrier_between_producer_and_consumers_is_left_to_isl() -> None:
    """It would wait for a producer that waits for the consumers."""
    assert proven(in_turn(RING)).is_complete
    assert not proven(in_turn(RING, Barrier())).is_complete


def test_a_consumer_that_produces_is_left_to_isl() -> None:
    """Its wait for the copy may stand before the copy."""
    text = str([s.name for s in statements(RING.body)])
    assert "copy" in text

    def change(node: Node) -> Nodes | None:
        if isinstance(node, If) and node.constraints == ("t = 64",):
            return (replace(node, constraints=("t = 0",)),)
        return None

    ring = in_turn(RING)
    assert not proven(replace(ring, body=rewritten(ring.body, change))).is_complete


@pytest.mark.sampled(2)
@pytest.mark.cases("uppers", [("5", "4"), ("t", "5"), ("b + 1", "b + 1"), ("5", "5")])
def test_trip_counts(uppers: tuple[str, str]) -> None:
    """They are those of the producer's loop, and may depend on the block."""
    bounds = dict(zip(("k", "p"), uppers, strict=True))

    def change(node: Node) -> Nodes | None:
        if isinstance(node, Loop) and node.name in bounds:
            return (replace(node, upper=bounds[node.name]),)
        return None

    scop = replace(RING, body=rewritten(RING.body, change))
    assert proven(scop).is_complete == (uppers[0] == uppers[1])
    assert is_refused(scop) == (uppers[0] != uppers[1])


def twice_edited(seed: int) -> Iterator[Scop]:
    """Random kernels that differ in two places from a ring that is proven."""
    chosen = random.Random(seed)
    once = {ring: [scop for _, scop in edits(ring)] for ring in RINGS}
    while True:
        ring = chosen.choice(RINGS)
        scop = chosen.choice(once[ring])
        yield chosen.choice([found for _, found in edits(scop)])


def disagreements(tried: list[Scop], wanted: int) -> list[Scop]:
    """Of some kernels those that isl does not prove, though enumeration does."""
    decided = [scop for scop in tried if proven(scop).is_complete]
    assert len(decided) >= wanted
    return [scop for scop in decided if is_refused(scop)]


@pytest.mark.slow
@pytest.mark.cases("number", range(len(RINGS)))
def test_edits_that_are_proven_are_proven_by_isl(number: int) -> None:
    assert disagreements([scop for _, scop in edits(RINGS[number])], 8) == []


@pytest.mark.slow
@pytest.mark.cases("seed", range(2))
def test_many_edits_that_are_proven_are_proven_by_isl(seed: int) -> None:
    assert disagreements(list(islice(twice_edited(seed), 600)), 6) == []
