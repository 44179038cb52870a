from __future__ import annotations

from dataclasses import replace

import pytest

from gpucodegen.tiling.model.isl import Limits
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import (
    Array,
    Barrier,
    If,
    Loop,
    Node,
    Reduction,
    Role,
    Scop,
    Statement,
    Tag,
    Wait,
    nest,
    read,
    write,
)
from gpucodegen.tiling.proof.races import races

N = 128
TILE = 32


def grid(block: int = TILE) -> list[Loop]:
    return [
        Loop("bi", "0", str(N // block), role=Role.BLOCK),
        Loop("bj", "0", str(N // block), role=Role.BLOCK),
        Loop("ti", "0", str(block), role=Role.THREAD),
        Loop("tj", "0", str(block), role=Role.THREAD),
    ]


ARRAYS = (
    Array("A", (N, N)),
    Array("B", (N, N)),
    Array("C", (N, N)),
    Array("sA", (TILE, TILE), scope=("bi", "bj")),
    Array("sB", (TILE, TILE), scope=("bi", "bj")),
    Array("acc", (), scope=("bi", "bj", "ti", "tj"), register=True),
)
I, J = f"{TILE}*bi + ti", f"{TILE}*bj + tj"
LOAD_A = Statement("loadA", (read("A", I, "k0 + tj"), write("sA", "ti", "tj")), loc="a")
LOAD_B = Statement("loadB", (read("B", "k0 + ti", J), write("sB", "ti", "tj")), loc="b")
MAC = Statement(
    "mac",
    (read("sA", "ti", "k"), read("sB", "k", "tj"), read("acc"), write("acc")),
    Reduction("add", read=2, write=3),
    loc="mac",
)
STORE = Statement("store", (read("acc"), write("C", I, J)), loc="c")
COMPUTE = Loop("k", "0", str(TILE), body=(MAC,))


def kernel(*body: Node, arrays: tuple[Array, ...] = ARRAYS) -> Scop:
    return Scop(arrays=arrays, body=nest(grid(), body))


def blocked(*body: Node) -> Loop:
    return Loop("k0", "0", str(N), step=TILE, body=body)


def rules(scop: Scop) -> set[str]:
    return {race.rule for race in races(model(scop))}


def test_two_barriers_per_block_of_k_are_enough():
    body = blocked(LOAD_A, LOAD_B, Barrier(), COMPUTE, Barrier())
    assert races(model(kernel(body, STORE))) == ()


def test_missing_barrier_before_compute_is_found_with_both_lines():
    found = races(model(kernel(blocked(LOAD_A, LOAD_B, COMPUTE, Barrier()), STORE)))
    assert {race.rule for race in found} == {"threads"}
    assert ("a", "mac") in {race.locations for race in found}
    witness = found[0].witness
    assert witness is not None
    assert witness.first.iteration["k0"] == witness.second.iteration["k0"]
    first, second = witness.first.iteration, witness.second.iteration
    assert (first["ti"], first["tj"]) != (second["ti"], second["tj"])


def test_missing_barrier_after_compute_is_found_across_iterations():
    found = races(model(kernel(blocked(LOAD_A, LOAD_B, Barrier(), COMPUTE), STORE)))
    assert {race.rule for race in found} == {"threads"}
    assert ("mac", "a") in {race.locations for race in found}
    assert all(
        race.witness.first.iteration["k0"] < race.witness.second.iteration["k0"]
        for race in found
        if race.witness
    )


def test_one_barrier_per_iteration_suffices_with_two_buffers():
    double = tuple(
        replace(array, shape=(2, TILE, TILE)) if array.name in ("sA", "sB") else array
        for array in ARRAYS
    )
    stage = f"floor(k0/{TILE}) mod 2"
    load_a = Statement(
        "loadA", (read("A", I, "k0 + tj"), write("sA", stage, "ti", "tj"))
    )
    load_b = Statement(
        "loadB", (read("B", "k0 + ti", J), write("sB", stage, "ti", "tj"))
    )
    mac = Statement("mac", (read("sA", stage, "ti", "k"), read("sB", stage, "k", "tj")))
    compute = Loop("k", "0", str(TILE), body=(mac,))
    body = blocked(load_a, load_b, Barrier(), compute)
    assert races(model(kernel(body, arrays=double))) == ()
    assert rules(kernel(blocked(load_a, load_b, compute), arrays=double)) == {"threads"}


def test_split_k_is_a_conflict_of_blocks():
    split = Loop("bk", "0", "4", role=Role.BLOCK)
    add = Statement("add", (read("C", I, J), write("C", I, J)), loc="add")
    scop = Scop(arrays=ARRAYS, body=nest([split, *grid()], (add,)))
    (race,) = races(model(scop))
    assert race.rule == "blocks"
    assert race.locations == ("add", "add")
    atomic = tuple(replace(access, atomic="addf") for access in add.accesses)
    scop = Scop(
        arrays=ARRAYS, body=nest([split, *grid()], (replace(add, accesses=atomic),))
    )
    assert races(model(scop)) == ()


def test_thread_dependent_barrier_diverges():
    inside = If(("15 - ti >= 0",), (Barrier(loc="here"),))
    (race,) = races(model(kernel(inside)))
    assert race.rule == "divergence"
    assert race.locations == ("here",)
    assert race.event is not None
    assert race.event.iteration["ti"] == 16
    assert races(model(kernel(If(("bi - 1 >= 0",), (Barrier(),))))) == ()


@pytest.mark.parametrize(
    "guard", [If(None, (Barrier(),)), Loop("w", opaque=True, body=(Barrier(),))]
)
def test_barrier_under_unknown_control_is_refused(guard: Node):
    assert rules(kernel(guard)) == {"divergence"}


def copy(name: str, stage: str, tile: str) -> Statement:
    source = replace(read("A", tile, "v"), span=(("v", "32"),))
    target = replace(write("buf", stage, "v"), span=(("v", "32"),))
    return Statement(name, (source, target), tag=Tag("tag", (stage,)), loc=name)


def use(stage: str) -> Statement:
    return Statement("use", (read("buf", stage, "t"),), loc="use")


def pipeline(*, wait: bool = True, barrier: bool = True, stages: int = 2) -> Scop:
    """Copy tile k+1 while tile k is used, in a ring of buffers."""
    now, following = f"k mod {stages}", f"(k + 1) mod {stages}"
    body = (
        If(("6 - k >= 0",), (copy("next", following, "k + 1"),)),
        *((Wait(Tag("tag", (now,))),) if wait else ()),
        use(now),
        *((Barrier(),) if barrier else ()),
    )
    arrays = (
        Array("A", (8, 32)),
        Array("buf", (stages, 32), scope=("b",)),
        Array("tag", (stages,), scope=("b",)),
    )
    threads = [
        Loop("b", "0", "4", role=Role.BLOCK),
        Loop("t", "0", "32", role=Role.THREAD),
    ]
    prologue = copy("first", "0", "0")
    return Scop(
        arrays=arrays,
        body=nest(threads, (prologue, Loop("k", "0", "8", body=body))),
    )


def test_double_buffered_copies_are_race_free():
    assert races(model(pipeline())) == ()


def test_missing_wait_is_named():
    found = races(model(pipeline(wait=False)))
    assert {"transfers", "tags"} <= {race.rule for race in found}
    lines = {race.locations for race in found if race.rule == "transfers"}
    assert ("first", "use") in lines


def test_missing_barrier_lets_the_next_copy_overtake_the_readers():
    found = races(model(pipeline(barrier=False)))
    assert {race.locations for race in found} == {("use", "next")}


def test_single_buffer_is_refused():
    assert "transfers" in rules(pipeline(stages=1))


def test_copies_of_a_sequential_program_need_their_wait_only():
    arrays = (Array("A", (8, 32)), Array("buf", (1, 32)), Array("tag", (1,)))
    get = Statement("use", (read("buf", "0", "5"),), loc="use")
    waiting = Loop(
        "k", "0", "8", body=(copy("get", "0", "k"), Wait(Tag("tag", ("0",))), get)
    )
    assert races(model(Scop(arrays=arrays, body=(waiting,)))) == ()
    hasty = replace(waiting, body=(waiting.body[0], get, waiting.body[1]))
    assert rules(Scop(arrays=arrays, body=(hasty,))) == {"transfers"}


def test_a_proof_that_is_not_found_is_a_refusal():
    body = blocked(LOAD_A, LOAD_B, Barrier(), COMPUTE, Barrier())
    found = races(model(kernel(body, STORE), Limits(altogether=-1)))
    assert any("not found within the limit" in str(race) for race in found)
    alone = Scop(arrays=ARRAYS[:1], body=(Statement("S", (read("A", "0", "0"),)),))
    assert races(model(alone, Limits(altogether=-1))) == ()


def test_what_the_context_says_costs_a_proof_nothing():
    """Sizes that cannot be are no reason why a barrier may be missing."""
    put, got = write("A", "ti", "tj"), read("A", "tj", "ti")
    first, then = Statement("put", (put,)), Statement("get", (got,))
    steps = Loop("k", "0", "K", body=(Barrier(), then, Barrier()))
    asked: list[int] = []
    for context in ((), ("M >= 0", "K >= 0", "N >= M")):
        scop = Scop(
            ("M", "N", "K"), context, ARRAYS[:1], nest(grid()[2:], (first, steps))
        )
        built = model(scop)
        assert races(built) == ()
        asked.append(built.solver.asked)
    assert asked[1] - asked[0] <= 2  # the context of both barriers


def test_statements_outside_the_thread_loops_are_refused():
    stray = Statement("stray", (read("A", "0", "0"),), loc="stray")
    (race,) = races(model(Scop(arrays=ARRAYS, body=(*nest(grid(), (STORE,)), stray))))
    assert race.locations == ("c", "stray")
