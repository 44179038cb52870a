"""What enumeration of one block proves, a simulation and isl must find, too."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from test_random_kernels import kernels, simulated
from tiling_nests import nests

from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import (
    Access,
    AccessKind,
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
    Tag,
    Wait,
    nest,
    read,
    write,
)
from gpucodegen.tiling.proof.enumeration import proven
from gpucodegen.tiling.proof.races import PROOF, races

EXTENTS = Array("g", (32,)), Array("s", (32,), scope=("b",))


def is_sound(scop: Scop) -> bool:
    known = replace(scop, arrays=EXTENTS)
    return not (proven(known).is_complete and simulated(known))


@pytest.mark.slow
@settings(nests, max_examples=50)
@given(kernels())
def test_random_kernels_that_are_proven_have_no_race(scop: Scop) -> None:
    assert is_sound(scop)


@pytest.mark.slow
@settings(nests, max_examples=1200)
@given(kernels())
def test_many_random_kernels_that_are_proven_have_no_race(scop: Scop) -> None:
    assert is_sound(scop)


GRID = (Loop("b", "0", "4", role=Role.BLOCK), Loop("t", "0", "64", role=Role.THREAD))
TILE = "64*(k mod 2) + t", "64*((k + 1) mod 2) + t"
ARRAYS = (
    Array("x", (4, 1024)),
    Array("y", (4096,)),
    Array("s", (256,), scope=("b",)),
    Array("z", (4, 6, 12)),
)
GLOBAL = ARRAYS[0], ARRAYS[1], ARRAYS[3]


def kernel(*body: Node) -> Scop:
    return Scop(arrays=ARRAYS, body=nest(GRID, body))


def loop(*body: Node, upper: str = "6") -> Loop:
    return Loop("k", "0", upper, body=body)


def copy(cell: str = TILE[0], name: str = "copy") -> Statement:
    moved = read("x", "b", "64*k + t"), write("s", cell)
    return Statement(name, moved, grouped=True)


def use(cell: str, name: str = "use") -> Statement:
    return Statement(name, (read("s", cell), write("y", "64*b + t")))


def put(cell: str, name: str = "put") -> Statement:
    return Statement(name, (write("s", cell),))


def guarded(text: str, *body: Node) -> If:
    return If((text,), body)


def tiles(cell: str, name: str = "k") -> Loop:
    """Each block writes three tiles of ``y``."""
    store = Statement(f"tile {name}", (write("y", cell),))
    return Loop(name, "0", "3", body=(store,))


def pixels(
    width: int, row: int, pixel: str = "64*b + t", name: str = "pixels"
) -> Statement:
    """Writes a pixel of an image of some width."""
    place = f"floor(({pixel})/{width})", f"(({pixel}) mod {row})"
    return Statement(name, (write("x", *place),))


def images(pixel: str = "64*b + t", name: str = "images") -> Statement:
    """Writes a pixel of images of 6 rows and 12 columns."""
    row = f"floor(({pixel})/12)"
    place = f"floor(({pixel})/72)", f"({row}) mod 6", f"({pixel}) mod 12"
    return Statement(name, (write("z", *place),))


STRIDED = "64*((b + 4*{}) mod 16) + t"
WARP = Barrier(lanes=(1 << 32) - 1)
ACROSS, BESIDE = (
    "64*(k mod 2) + 63 - t",
    "64*(k mod 2) + 32*floor(t/32) + 31 - (t mod 32)",
)
END = GroupWait(0)
PIPELINE = (
    loop(guarded("4 - k >= 0", copy(TILE[1])), Commit(), GroupWait(1), Barrier()),
    END,
)


@pytest.mark.cases(
    "body",
    [
        (loop(put(TILE[0]), Barrier(), use(ACROSS), Barrier()),),
        (loop(put(TILE[0]), Barrier(), use(ACROSS)),),
        (loop(put(TILE[0]), WARP, use(BESIDE), WARP),),
        (loop(put(TILE[0]), guarded("31 - t >= 0", WARP), Barrier(), use(ACROSS)),),
        (loop(copy(), Commit(), GroupWait(0), Barrier(), use(ACROSS)),),
        (loop(copy(), Commit(), GroupWait(1), Barrier(), use("t + 128")), END),
        (loop(guarded("1 - b >= 0", Barrier()), put("t"), upper="3 - b"),),
        PIPELINE,
        (tiles(STRIDED.format("k")), tiles(STRIDED.format("q"), "q")),
        (tiles("512*b + 3*t + k"),),
        (pixels(96, 96),),
        (images(),),
        (ProxyFence(), Commit(bulk=True), GroupWait(0, bulk=True, reads=True)),
    ],
)
def test_both_prove(body: tuple[Node, ...]) -> None:
    scop = kernel(*body)
    assert proven(scop).is_complete
    assert races(model(scop)) == ()


@pytest.mark.slow
@pytest.mark.cases(
    "body",
    [
        (loop(put(TILE[0]), use(ACROSS), Barrier()),),
        (loop(put("t"), Barrier(), use("63 - t")),),
        (loop(put(TILE[0]), WARP, use(ACROSS), Barrier()),),
        (loop(put(TILE[0]), guarded("31 - t >= 0", WARP), use(BESIDE), Barrier()),),
        (guarded("30 - t >= 0", WARP),),
        (guarded("32 - t >= 0", Barrier()),),
        (loop(copy(), Commit(), GroupWait(1), Barrier(), use(ACROSS), Barrier()), END),
        (loop(copy(), Commit(), Barrier(), GroupWait(0), use(ACROSS), Barrier()),),
        (loop(copy(), GroupWait(0), Barrier(), use(ACROSS), Barrier()),),
        (loop(copy(), copy(name="again"), Commit(), GroupWait(0), Barrier()),),
        (loop(copy(), Commit(), put(TILE[0]), GroupWait(0), Barrier()),),
        (loop(copy("t"), Commit(), GroupWait(0)), put("63 - t")),
        (loop(copy(TILE[0]), Commit(), GroupWait(1)),),
        (Statement("global", (write("y", "32*b + t"),)),),
        (Statement("global", (write("y", "64*b + floor(t/2)"),)),),
        (Statement("half", (write("y", "64*floor(b/2) + t"),)),),
        (tiles(STRIDED.format("k")), tiles(STRIDED.format("q") + " + 1", "q")),
        (tiles("64*b + 64*k + t"),),
        (tiles("64*((b + k) mod 8) + t"),),
        (tiles("128*b + t + k"),),
        (images("64*b + t - (t mod 2)"),),
        (pixels(96, 95),),
        (pixels(96, 48),),
        (pixels(96, 96), pixels(96, 96, "64*b + t + 1", "again")),
        (pixels(96, 96, "64*b + 2*floor(t/2)"),),
    ],
)
def test_both_refuse(body: tuple[Node, ...]) -> None:
    scop = kernel(*body)
    assert not proven(scop).is_complete
    assert races(model(scop))


TAG = Tag("y", ("0",))
LANES = Barrier(lanes=1)
EMPTY, SHADOW = (("l", "0"),), (("t", "1"),)
UNKNOWN = If(None, (Barrier(),), uniform=True)


@pytest.mark.cases(
    "body",
    [
        (Wait(TAG),),
        (Barrier(of_grid=True),),
        (LANES,),
        (Barrier(lanes=(1 << 32) - 1, alone=True),),
        (UNKNOWN,),
        (Statement("tagged", (write("s", "t"),), tag=TAG), Wait(TAG)),
        (Statement("bulk", (write("s", "t"),), grouped=True, bulk=True),),
        (Statement("joined", (write("s", "t"),), joined=True),),
        (Statement("somewhere", (write("s", None),)),),
        (Statement("nowhere", (read("x", "b", "t"),), grouped=True), END),
        (Statement("away", (read("s", "t"), write("y", "t")), grouped=True), END),
        (Statement("empty", (Access("s", AccessKind.WRITE, ("l",), EMPTY),)),),
        (Statement("shadow", (Access("s", AccessKind.WRITE, ("t",), SHADOW),)),),
        (Loop("k", "0", "t", body=(Barrier(),)),),
        (Loop("k", "0", (), body=(put("t"),)),),
        (Loop("k", "0", "8", opaque=True, body=(put("t"),)),),
    ],
)
def test_other_kernels_are_left_to_isl(body: tuple[Node, ...]) -> None:
    assert not proven(kernel(*body)).is_complete


def test_unknown_extents_of_arrays_are_left_to_isl() -> None:
    body = nest(GRID, (put("t"),))
    assert proven(Scop(arrays=ARRAYS, body=body)).is_complete
    unknown = (*GLOBAL, Array("s", (None,), scope=("b",)))
    assert not proven(Scop(arrays=unknown, body=body)).arrays
    ordered = (*GLOBAL, replace(ARRAYS[2], ordered=True))
    assert not proven(Scop(arrays=ordered, body=body)).arrays


OPEN = (
    Loop("b", "0", (), role=Role.BLOCK),
    Loop("c", "0", "N", role=Role.BLOCK),
    Loop("t", "0", "64", role=Role.THREAD),
)


def open_kernel(*body: Node) -> Scop:
    """A kernel of any number of blocks, with a parameter."""
    arrays = (*GLOBAL, Array("s", (256,), scope=("b", "c")), Array("w", (None, None)))
    return Scop(("N",), arrays=arrays, body=nest(OPEN, body))


def stored(*cell: str) -> Statement:
    return Statement("stored", (write("w", *cell),))


def open_loop(*body: Node, lower: str = "0", upper: str = "N") -> Loop:
    return Loop("k", lower, upper, body=body)


FILLED = (put("64*(k mod 2) + t"), Barrier(), use("64*(k mod 2) + 63 - t"))
BOUNDED = Loop("q", "t", "256", 64, (Statement("strided", (write("s", "q"),)),))


@pytest.mark.sampled(3)
@pytest.mark.cases(
    "body",
    [
        (stored("64*b + t + N", "c"),),
        (stored("c", "b"), Barrier()),
        (stored("64*b + t", "2*c + 1"), stored("64*b + t", "2*c")),
    ],
)
def test_stores_of_any_number_of_blocks(body: tuple[Node, ...]) -> None:
    named = tuple(
        replace(node, name=f"S{n}") if isinstance(node, Statement) else node
        for n, node in enumerate(body)
    )
    scop = open_kernel(*named)
    is_one_thread = len(body) == 2 and isinstance(body[1], Barrier)
    assert proven(scop).is_complete != is_one_thread
    assert (races(model(scop)) == ()) != is_one_thread


@pytest.mark.cases(
    ("body", "is_proven"),
    [
        ((open_loop(*FILLED),), True),
        ((open_loop(*FILLED, lower="N - 7"),), True),
        ((open_loop(*FILLED[::2]),), False),
        ((open_loop(put("64*(k mod 2) + t"), Barrier()), use("t")), True),
        ((open_loop(put("t")), use("63 - t")), False),
        (
            (open_loop(put("64*(k mod 2) + t"), Barrier(), put("63 - t", "last")),),
            False,
        ),
        ((BOUNDED, Barrier(), use("64*(N mod 4) + 63 - t")), True),
        ((BOUNDED, use("64*(N mod 4) + 63 - t")), False),
        ((BOUNDED, guarded("N - 9 >= 0", Barrier()), use("63 - t")), False),
        ((BOUNDED, guarded("N - 9 >= 0", Barrier()), use("t")), True),
        ((guarded("N - t >= 0", Barrier()),), False),
        ((Loop("k", "0", "N - t", body=(Barrier(),)),), False),
        ((put("N + t"),), False),
        ((open_loop(put("64*k + t"), Barrier()),), False),
        ((open_loop(copy("t"), Commit(), GroupWait(0), Barrier()),), True),
        ((open_loop(copy("t"), Commit(), Barrier()), END), False),
        ((open_loop(copy(TILE[0]), Commit(), GroupWait(1), Barrier()), END), True),
    ],
)
def test_loops_of_any_number_of_trips(
    body: tuple[Node, ...], *, is_proven: bool
) -> None:
    shared = tuple(
        node
        if not isinstance(node, Statement)
        else replace(node, accesses=node.accesses[:1])
        for node in body
    )
    scop = open_kernel(*(only_shared(node) for node in shared))
    assert proven(scop).is_complete == is_proven
    if is_proven:
        assert races(model(scop, PROOF)) == ()


def only_shared(node: Node) -> Node:
    """Without accesses to global memory."""
    match node:
        case Statement(accesses=accesses):
            kept = tuple(access for access in accesses if access.array == "s")
            return replace(node, accesses=kept)
        case Loop() | If():
            return replace(node, body=tuple(map(only_shared, node.body)))
        case _:
            return node


def test_arrays_are_decided_one_by_one() -> None:
    body = Statement("S", (write("y", "64*b + t"), write("s", "0")))
    verdict = proven(kernel(body))
    assert verdict.arrays == {"y"}
    assert not verdict.is_complete
    found = races(model(kernel(body)), verdict.arrays)
    assert {race.witness.array for race in found if race.witness} == {"s"}


@pytest.mark.cases(
    ("kinds", "is_proven"),
    [
        ((("add", "t - t"), ("add", "0")), True),
        ((("add", "0"), ("max", "0")), False),
        ((("add", "0"), ("", "0")), False),
        ((("add", "64*b + t"), ("", "64*b + t")), True),
    ],
)
def test_atomic_updates(kinds: tuple[tuple[str, str], ...], *, is_proven: bool) -> None:
    accesses = [
        Access("y", AccessKind.WRITE, (cell,), atomic=kind) for kind, cell in kinds
    ]
    scop = kernel(Statement("S", tuple(accesses)))
    assert proven(scop).is_complete == is_proven
    assert (races(model(scop)) == ()) == is_proven


CELLS = (*TILE, ACROSS, BESIDE, "t", "63 - t", "64*(k mod 3) + t", "t + 128")
GUARDS = "31 - t >= 0", "4 - k >= 0", "1 - b >= 0", "t - 40 >= 0"


def random_node(chosen: random.Random, name: str) -> Node:
    """A write, a copy, a fence or a use, some under a condition."""
    cell = chosen.choice(CELLS)
    statements = copy(cell, name), use(cell, name), put(cell, name)
    wait = GroupWait(chosen.choice([0, 0, 1, 2]))
    nodes = *statements, Barrier(), WARP, Commit(), wait
    (node,) = chosen.choices(nodes, [3, 2, 2, 5, 2, 4, 4])
    is_guarded = chosen.random() < 0.15
    return guarded(chosen.choice(GUARDS), node) if is_guarded else node


def pipelines(seed: int, count: int) -> Iterator[Scop]:
    """Random pipelines of writes, copies, fences and uses."""
    chosen = random.Random(seed)
    for _ in range(count):
        body = [random_node(chosen, f"S{n}") for n in range(chosen.randint(3, 8))]
        yield kernel(loop(*body), END, Barrier())


def open_pipelines(seed: int, count: int) -> Iterator[Scop]:
    """Random pipelines of any number of trips, with a use behind the loop."""
    chosen = random.Random(seed)
    lowers, last = ("0", "0", "1", "N - 5"), ("(N mod 2)", "((N + 1) mod 2)", "0")
    for scop in pipelines(seed, count):
        (grid,) = scop.body
        assert isinstance(grid, Loop)
        (threads,) = grid.body
        assert isinstance(threads, Loop)
        (walked, *rest) = threads.body
        assert isinstance(walked, Loop)
        walked = replace(walked, lower=chosen.choice(lowers), upper="N")
        if chosen.random() < 0.4:
            rest.append(use(f"64*{chosen.choice(last)} + 63 - t", "last"))
        if chosen.random() < 0.2:
            walked = guarded("N - 3 >= 0", walked)
        threads = replace(threads, body=(walked, *rest))
        block = Loop("b", "0", (), role=Role.BLOCK, body=(threads,))
        yield replace(scop, parameters=("N",), body=(block,))


def disagreements(
    scops: Callable[[int, int], Iterator[Scop]], seed: int, tried: int, wanted: int
) -> list[Scop]:
    """Of some kernels those that isl does not prove, though enumeration does."""
    decided = [s for s in scops(seed, tried) if proven(s).is_complete]
    assert len(decided) >= wanted
    return [scop for scop in decided if races(model(scop, PROOF))]


@pytest.mark.slow
def test_pipelines_that_are_proven_are_proven_by_isl() -> None:
    assert disagreements(pipelines, 0, 100, 5) == []


@pytest.mark.slow
def test_many_pipelines_that_are_proven_are_proven_by_isl() -> None:
    assert disagreements(pipelines, 1, 1_800, 90) == []


@pytest.mark.slow
def test_open_pipelines_that_are_proven_are_proven_by_isl() -> None:
    assert disagreements(open_pipelines, 2, 80, 3) == []


@pytest.mark.slow
def test_many_open_pipelines_that_are_proven_are_proven_by_isl() -> None:
    assert disagreements(open_pipelines, 3, 1_500, 60) == []


@dataclass(frozen=True)
class Staged:
    """A pipeline of N trips over tiles in stages, which are copied ahead of their use.

    ``ahead``: the tiles that are copied before the loop. ``fewer``: in how many trips
    less than there are tiles left one is copied. ``round``: the trips made at a time.
    """

    stages: int = 3
    ahead: int = 2
    fewer: int = 0
    pending: int = 1
    first: int = 0
    is_guarded: bool = True
    has_barrier: bool = True
    round: int = 1

    def tile(self, at: str, name: str) -> Statement:
        return copy(f"64*(({at}) mod {self.stages}) + t", name)

    def trip(self, at: str, name: str, *, is_whole: bool) -> Iterator[Node]:
        """Wait for a tile, copy a later one, and use the first."""
        yield GroupWait(self.pending)
        if self.has_barrier:
            yield Barrier()
        later = self.tile(f"{at} + {self.ahead}", f"copy {name}")
        left = f"N - {self.ahead + self.fewer + 1} - ({at}) >= 0"
        yield later if is_whole else guarded(left, later)
        yield Commit()
        yield use(f"64*(({at}) mod {self.stages}) + 63 - t", f"use {name}")

    def kernel(self) -> Scop:
        body = list[Node]()
        for n in range(self.ahead):
            tile = self.tile(f"{n + self.first}", f"tile {n}")
            is_inside = guarded(f"N - {n + self.first + 1} >= 0", tile)
            body += is_inside if self.is_guarded else tile, Commit()
        start: tuple[str, ...] = (str(self.first),)
        if self.round > 1:
            rounds = f"floor((N - {self.ahead})/{self.round})"
            inside = [
                node
                for n in range(self.round)
                for node in self.trip(f"{self.round}*q + {n}", f"{n}", is_whole=True)
            ]
            body.append(Loop("q", "0", rounds, body=tuple(inside)))
            start = f"{self.round}*({rounds})", "0"
        trip = tuple(self.trip("k", "last", is_whole=False))
        body.append(Loop("k", start, "N", body=trip))
        return open_kernel(*map(only_shared, body))


STAGED = [
    (Staged(), True),
    (Staged(stages=2, ahead=1, pending=0), True),
    (Staged(stages=4, ahead=3, pending=2), True),
    (Staged(stages=4), True),
    (Staged(first=1), True),
    (Staged(round=3), True),
    (Staged(stages=4, ahead=3, pending=2, round=4), True),
    (Staged(fewer=1), True),
    (Staged(fewer=-1), False),
    (Staged(pending=2), False),
    (Staged(is_guarded=False), False),
    (Staged(has_barrier=False), False),
    (Staged(stages=2), False),
    (Staged(stages=2, round=2), False),
    (Staged(pending=2, round=3), False),
    (Staged(fewer=-1, round=3), False),
]


@pytest.mark.sampled(5)
@pytest.mark.cases(("staged", "is_proven"), STAGED)
def test_trip_counts_decide_what_is_copied(staged: Staged, *, is_proven: bool) -> None:
    assert proven(staged.kernel()).is_complete == is_proven


def staged_pipelines(seed: int, count: int) -> Iterator[Scop]:
    """Random pipelines with guarded copies, right ones and others."""
    chosen = random.Random(seed)
    for _ in range(count):
        stages = chosen.choice([2, 3, 4])
        ahead = max(1, stages - chosen.choice([0, 1, 1, 1, 2]))
        yield Staged(
            stages,
            ahead,
            fewer=chosen.choice([-1, 0, 0, 0, 1]),
            pending=max(0, ahead - chosen.choice([0, 1, 1, 1, 2])),
            first=chosen.choice([0, 0, 1, 2]),
            is_guarded=chosen.random() < 0.8,
            has_barrier=chosen.random() < 0.9,
            round=chosen.choice([1, 1, 2, 3, 4]),
        ).kernel()


@pytest.mark.slow
def test_staged_pipelines_that_are_proven_are_proven_by_isl() -> None:
    assert disagreements(staged_pipelines, 4, 60, 10) == []


PIXELS = (
    "64*b + t",
    "32*b + t",
    "64*b + 63 - t",
    "t + 64*b + 4*(b mod 2)",
    "128*b + 2*t",
)
SHIFTS = "", "", " + 1", " + 64*k", " + 256*k", " - (t mod 2)"


def random_places(chosen: random.Random) -> tuple[str, str]:
    """Row and column of a pixel, mostly those of one image."""
    width = chosen.choice([8, 48, 64])
    pixel = chosen.choice(PIXELS) + chosen.choice(SHIFTS)
    other = pixel if chosen.random() < 0.8 else chosen.choice(PIXELS)
    row = chosen.choice([width, width, width, width // 2])
    offset = chosen.choice(["", "", "", " + 1", " + 8*k"])
    return f"floor(({pixel})/{width})", f"(({other}) mod {row}){offset}"


def places_proven(seed: int, tried: int, wanted: int) -> list[Scop]:
    """Of random kernels that write images those that only enumeration proves."""
    chosen = random.Random(seed)
    decided = list[Scop]()
    for _ in range(tried):
        first, second = random_places(chosen), random_places(chosen)
        again = first if chosen.random() < 0.5 else second
        put = Statement("put", (write("x", *first),))
        get = Statement("get", (chosen.choice([read, write])("x", *again),))
        scop = kernel(loop(put, get, upper="2"))
        if proven(scop).is_complete:
            decided.append(scop)
    assert len(decided) >= wanted
    return [scop for scop in decided if races(model(scop, PROOF))]


@pytest.mark.slow
def test_images_that_are_proven_are_proven_by_isl() -> None:
    assert places_proven(0, 150, 10) == []


@pytest.mark.slow
def test_many_images_that_are_proven_are_proven_by_isl() -> None:
    assert places_proven(1, 2_500, 200) == []
