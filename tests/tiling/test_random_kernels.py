"""Race verdicts of random small kernels against a simulation of every thread."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiling_nests import nests
from tiling_oracle import evaluate, holds

from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import (
    Access,
    AccessKind,
    Array,
    Barrier,
    If,
    Loop,
    Node,
    Role,
    Scop,
    Statement,
    Tag,
    Wait,
    nest,
)
from gpucodegen.tiling.proof.races import races

ARRAYS = (Array("g", (None,)), Array("s", (None,), scope=("b",)))
GRID = (
    Loop("b", "0", "2", role=Role.BLOCK),
    Loop("t", "0", "3", role=Role.THREAD),
)


@st.composite
def kernels(draw: st.DrawFn) -> Scop:
    numbers = itertools.count()

    def access(names: list[str]) -> Access:
        terms = [f"{draw(st.sampled_from([0, 1, 2, 3]))}*{name}" for name in names]
        linear = " + ".join([str(draw(st.integers(0, 2))), *terms])
        text = draw(st.sampled_from(["{}", "{}", "(({}) mod 4)", "floor(({})/2)"]))
        array = draw(st.sampled_from(["g", "s", "s", "s"]))
        kind = draw(st.sampled_from(list(AccessKind)))
        atomic = draw(st.sampled_from(["", "", "addi", "maxs"]))
        return Access(array, kind, (text.format(linear),), atomic=atomic)

    def statement(names: list[str]) -> Statement:
        count = draw(st.integers(1, 2))
        accesses = tuple(access(names) for _ in range(count))
        return Statement(f"S{next(numbers)}", accesses)

    def body(names: list[str], depth: int) -> tuple[Node, ...]:
        nodes: list[Node] = []
        choices = ["statement", "barrier", "loop", "if"][: 4 if depth < 2 else 2]
        for _ in range(draw(st.integers(1, 3))):
            match draw(st.sampled_from(choices)):
                case "barrier":
                    nodes.append(Barrier())
                case "loop":
                    name = f"k{next(numbers)}"
                    inner = body([*names, name], depth + 1)
                    step = draw(st.sampled_from([1, 1, 2]))
                    nodes.append(Loop(name, "0", "3", step, inner))
                case "if":
                    condition = draw(st.sampled_from(["t - 1 >= 0", "1 - b >= 0"]))
                    nodes.append(If((condition,), (statement(names),)))
                case _:
                    nodes.append(statement(names))
        return tuple(nodes)

    return Scop(arrays=ARRAYS, body=nest(GRID, body(["b", "t"], 0)))


def phases(
    body: tuple[Node, ...], env: dict[str, int], phase: list[int]
) -> Iterator[tuple[int, Access, int]]:
    """Every access of one thread with the number of barriers before it."""
    for node in body:
        match node:
            case Barrier():
                phase[0] += 1
            case Loop():
                for value in range(0, 3, node.step):
                    yield from phases(node.body, {**env, node.name: value}, phase)
            case If():
                if all(holds(c, env) for c in node.constraints or ()):
                    yield from phases(node.body, env, phase)
            case Statement():
                for access in node.accesses:
                    yield phase[0], access, evaluate(str(access.indices[0]), env)
            case _:
                raise AssertionError(node)


def simulated(scop: Scop) -> set[str]:
    """The rules that some pair of accesses breaks."""
    program = scop.body[0].body[0].body
    events = [
        ((b, t), *event)
        for b, t in itertools.product(range(2), range(3))
        for event in phases(program, {"b": b, "t": t}, [0])
    ]
    broken: set[str] = set()
    for (p, phase, x, cell), (q, other, y, place) in itertools.combinations(events, 2):
        conflict = x.array == y.array and cell == place and (x.writes or y.writes)
        if p == q or not conflict or (x.atomic and x.atomic == y.atomic):
            continue
        if p[0] == q[0] and phase == other:
            broken.add("threads")
        if p[0] != q[0] and x.array == "g":
            broken.add("blocks")
    return broken


@pytest.mark.slow
@nests
@given(kernels())
def test_races_equal_simulation(scop: Scop):
    assert {race.rule for race in races(model(scop))} == simulated(scop)


@st.composite
def pipelines(draw: st.DrawFn) -> Scop:
    """A sequential program of copies, waits and uses; two buffers, three tags."""
    numbers = itertools.count()

    def cell(names: list[str]) -> str:
        terms = [f"{draw(st.sampled_from([0, 1, 1]))}*{name}" for name in names]
        linear = " + ".join([str(draw(st.integers(0, 2))), *terms])
        return f"(({linear}) mod {draw(st.integers(2, 3))})"

    def node(names: list[str], depth: int) -> Node:
        choices = ["copy", "wait", "use", "use", "loop"][: 5 if depth < 2 else 4]
        match draw(st.sampled_from(choices)):
            case "copy":
                accesses = (
                    Access("g", AccessKind.READ, (cell(names),)),
                    Access("s", AccessKind.WRITE, (cell(names),)),
                )
                tag = Tag("tag", (cell(names),))
                return Statement(f"C{next(numbers)}", accesses, tag=tag)
            case "wait":
                return Wait(Tag("tag", (cell(names),)))
            case "use":
                kind = draw(st.sampled_from(list(AccessKind)))
                array = draw(st.sampled_from(["g", "s"]))
                access = Access(array, kind, (cell(names),))
                return Statement(f"S{next(numbers)}", (access,))
            case _:
                name = f"k{next(numbers)}"
                count = draw(st.integers(1, 3))
                body = tuple(node([*names, name], depth + 1) for _ in range(count))
                return Loop(name, "0", "3", body=body)

    body = tuple(node([], 0) for _ in range(draw(st.integers(1, 5))))
    return Scop(
        arrays=(Array("g", (3,)), Array("s", (3,)), Array("tag", (3,))), body=body
    )


def steps(
    body: tuple[Node, ...], env: dict[str, int]
) -> Iterator[tuple[Statement | Wait, dict[str, int]]]:
    for node in body:
        match node:
            case Loop():
                for value in range(3):
                    yield from steps(node.body, {**env, node.name: value})
            case Statement() | Wait():
                yield node, env
            case _:
                raise AssertionError(node)


def transferred(scop: Scop) -> set[str]:
    broken: set[str] = set()
    in_flight: list[tuple[int, list[tuple[str, int, bool]]]] = []
    for node, env in steps(scop.body, {}):
        tag = None if node.tag is None else evaluate(str(node.tag.indices[0]), env)
        if isinstance(node, Wait):
            in_flight = [copy for copy in in_flight if copy[0] != tag]
            continue
        touched = [
            (a.array, evaluate(str(a.indices[0]), env), a.writes) for a in node.accesses
        ]
        for flag, theirs in in_flight:
            if flag == tag:
                broken.add("tags")
            for x, y in itertools.product(theirs, touched):
                if x[:2] == y[:2] and (x[2] or y[2]):
                    broken.add("transfers")
        if tag is not None:
            in_flight.append((tag, touched))
    return broken | ({"unfinished"} if in_flight else set())


@pytest.mark.sampled(18)
@nests
@given(pipelines())
def test_transfers_equal_simulation(scop: Scop):
    assert {race.rule for race in races(model(scop))} == transferred(scop)
