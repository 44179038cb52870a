"""Loops that copies of arrays make parallel, against runs in other orders."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from tiling_nests import nests
from tiling_oracle import evaluate, holds
from tiling_privates import SHAPES, programs
from tiling_samples import JACOBI, MATMUL, SEIDEL, nest

from gpucodegen.tiling.model.isl import UNLIMITED, Limits
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import (
    Array,
    If,
    Loop,
    Node,
    Scop,
    Statement,
    Tag,
    loops,
    read,
    write,
)
from gpucodegen.tiling.proof.liveness import (
    LoopKind,
    LoopVerdict,
    Private,
    liveness,
    loop_verdicts,
    parts,
    values,
    with_privatisation,
)


def verdicts(scop: Scop, limits: Limits = UNLIMITED) -> dict[str, LoopVerdict]:
    built = model(scop, limits)
    found = with_privatisation(loop_verdicts(built), values(built))
    return {v.loop.name: v for v in found}


# -- runs ------------------------------------------------------------------------------

UNWRITTEN = "unwritten"
Memory = dict[tuple[str, tuple[int, ...]], object]


@dataclass
class Run:
    """Executes a program; what each statement reads is noted, what it writes is new.

    The iterations of ``loop`` run in another order, with copies of some arrays.
    """

    scop: Scop
    loop: str = ""
    order: tuple[int, ...] = ()
    private: tuple[Private, ...] = ()
    memory: Memory = field(default_factory=Memory)
    seen: dict[object, list[object]] = field(default_factory=dict[object, list[object]])
    complete: bool = True

    def __post_init__(self) -> None:
        fresh = {a.name for a in self.scop.arrays if a.fresh}
        for array in self.scop.arrays:
            for cell in cells(array.name):
                self.memory[array.name, cell] = (
                    "nothing" if array.name in fresh else ("first", array.name, cell)
                )
        self.run(self.scop.body, {})

    @property
    def outcome(self) -> object:
        """All that was read, and what is left for others to read.

        None where a copy whose last value is kept was not written as a whole.
        """
        if not self.complete:
            return None
        kept = {a.name for a in self.scop.arrays if not a.forgotten}
        return self.seen, {k: v for k, v in self.memory.items() if k[0] in kept}

    def run(self, body: tuple[Node, ...], env: dict[str, int]) -> None:
        for node in body:
            match node:
                case Loop():
                    self.iterate(node, env)
                case If():
                    if all(holds(c, env) for c in node.constraints or ()):
                        self.run(node.body, env)
                case Statement():
                    self.execute(node, env)
                case _:
                    raise AssertionError(node)

    def iterate(self, loop: Loop, env: dict[str, int]) -> None:
        bounds = evaluate(loop.lowers[0], env), evaluate(loop.uppers[0], env)
        iterations = list(range(*bounds, loop.step))
        if loop.name != self.loop:
            for value in iterations:
                self.run(loop.body, {**env, loop.name: value})
            return
        shared = dict(self.memory)
        left: Memory = {}
        for at in (n for n in self.order if n < len(iterations)):
            for private in self.private:
                for cell in cells(private.array):
                    key = private.array, cell
                    start = shared[key] if private.copied_in else UNWRITTEN
                    self.memory[key] = start
            self.run(loop.body, {**env, loop.name: iterations[at]})
            if at == len(iterations) - 1:
                left = dict(self.memory)
        for private in self.private:
            source = left if private.copied_out and iterations else shared
            for cell in cells(private.array):
                self.memory[private.array, cell] = source[private.array, cell]
                if private.copied_out and iterations and source is left:
                    self.complete &= left[private.array, cell] != UNWRITTEN

    def execute(self, statement: Statement, env: dict[str, int]) -> None:
        instance = (statement.name, tuple(sorted(env.items())))
        for access in statement.accesses:
            cell = tuple(evaluate(str(index), env) for index in access.indices)
            if access.writes:
                found = tuple(self.seen.get(instance, ()))
                self.memory[access.array, cell] = ("by", instance, found)
            else:
                found = self.memory[access.array, cell]
                found = "nothing" if found == UNWRITTEN else found
                self.seen.setdefault(instance, []).append(found)


def cells(array: str) -> Iterable[tuple[int, ...]]:
    return itertools.product(*(range(extent) for extent in SHAPES[array]))


def orders() -> Iterator[tuple[int, ...]]:
    return itertools.permutations(range(3))


def conflicting(scop: Scop, loop: Loop) -> set[str]:
    """The arrays that a loop's dependences are on."""
    (verdict,) = (v for v in loop_verdicts(model(scop)) if v.loop.name == loop.name)
    return {d.source.access.array for d in verdict.carried}


def helped(scop: Scop, loop: Loop) -> bool:
    """Whether copies in some way keep all that is read and left, in every order."""
    wanted = Run(scop).outcome
    needed = sorted(conflicting(scop, loop))
    ways = [(a, b) for a, b in itertools.product([False, True], repeat=2) if not a & b]
    return any(
        all(Run(scop, loop.name, o, private).outcome == wanted for o in orders())
        for chosen in itertools.product(ways, repeat=len(needed))
        for private in (
            tuple(Private(n, *way) for n, way in zip(needed, chosen, strict=True)),
        )
    )


@pytest.mark.sampled(9)
@settings(nests, max_examples=150)
@given(programs())
def test_parallel_after_privatisation_equals_runs_in_any_order(scop: Scop):
    found = verdicts(scop)
    for loop in loops(scop.body):
        verdict = found[loop.name]
        if verdict.kind is LoopKind.PRIVATISABLE:
            wanted = Run(scop).outcome
            for order in orders():
                run = Run(scop, loop.name, order, verdict.private)
                assert run.outcome == wanted, (loop.name, verdict.description, order)
        elif verdict.kind is LoopKind.SEQUENTIAL:
            assert not helped(scop, loop), loop.name


# -- single cases ----------------------------------------------------------------------


def local(scop: Scop, *names: str) -> Scop:
    arrays = tuple(
        replace(a, fresh=True, forgotten=True) if a.name in names else a
        for a in scop.arrays
    )
    return replace(scop, arrays=arrays)


ROW_SUMS = (
    "for i in 0..N\n  s[] = z[]\n  for j in 0..M\n    s[] += A[i,j]\n  B[i] = s[]"
)


def descriptions(scop: Scop) -> dict[str, str]:
    return {name: v.description for name, v in verdicts(scop).items()}


@pytest.mark.cases(
    ("scop", "expected"),
    [
        (
            local(nest(ROW_SUMS, "N M"), "s"),
            {"i": "parallel after privatisation of s", "j": "reduction"},
        ),
        (
            nest(ROW_SUMS, "N M"),
            {
                "i": "parallel after privatisation of s (last value kept)",
                "j": "reduction",
            },
        ),
        (
            local(nest("for i in 0..N\n  s[] = A[i]\n  r[] += s[]", "N"), "s"),
            {"i": "reduction after privatisation of s"},
        ),
        (
            local(nest("for i in 0..N\n  B[i] = s[]\n  s[] = A[i]", "N"), "s"),
            {"i": "sequential"},
        ),
        (
            nest("for i in 0..N\n  for j in 0..M\n    t[j] = A[i,j]", "N M"),
            {"i": "sequential", "j": "parallel"},
        ),
    ],
)
def test_known_loops(scop: Scop, expected: dict[str, str]):
    assert descriptions(scop) == expected


def test_extents_decide_whether_the_last_iteration_writes_all():
    scop = nest("for i in 0..N\n  for j in 0..4\n    t[j] = A[i,j]", "N")
    whole = tuple(
        Array(a.name, (4,) if a.name == "t" else a.shape) for a in scop.arrays
    )
    wanted = "parallel after privatisation of t (last value kept)"
    assert descriptions(replace(scop, arrays=whole))["i"] == wanted
    more = tuple(Array(a.name, (5,) if a.name == "t" else a.shape) for a in scop.arrays)
    assert descriptions(replace(scop, arrays=more))["i"] == "sequential"


@pytest.mark.parametrize("scop", [MATMUL, SEIDEL, JACOBI])
def test_loops_that_carry_values_stay_as_they_are(scop: Scop):
    plain = {v.loop.name: v.kind for v in loop_verdicts(model(scop))}
    assert {name: v.kind for name, v in verdicts(scop).items()} == plain


CELL = Array("t", fresh=True, forgotten=True)


def scratch(*inside: Node, cell: Array = CELL) -> str:
    arrays = (cell, Array("A", (8,)), Array("tag"))
    loop = Loop("i", "0", "8", body=inside)
    return descriptions(Scop(arrays=arrays, body=(loop,)))["i"]


PUT = Statement("put", (read("A", "i"), write("t")))
GET = Statement("get", (read("t"), write("A", "i")))


def test_what_may_not_happen_helps_only_where_both_happen():
    assert scratch(PUT, GET) == "parallel after privatisation of t"
    assert scratch(If(None, (PUT, GET))) == "parallel after privatisation of t"
    assert scratch(If(None, (PUT,)), GET) == "sequential"
    unsure = replace(PUT, accesses=tuple(replace(a, must=False) for a in PUT.accesses))
    assert scratch(unsure, GET) == "sequential"


def test_registers_copies_under_way_and_the_world_outside_have_no_copies():
    assert scratch(PUT, GET, cell=replace(CELL, register=True)) == "sequential"
    assert scratch(PUT, GET, cell=replace(CELL, ordered=True)) == "sequential"
    assert scratch(replace(PUT, tag=Tag("tag")), GET) == "sequential"


def test_buffers_of_each_iteration_need_no_copy():
    arrays = (Array("t", scope=("i",), fresh=True, forgotten=True), Array("A", (8,)))
    scop = Scop(arrays=arrays, body=(Loop("i", "0", "8", body=(PUT, GET)),))
    assert descriptions(scop) == {"i": "parallel"}


def test_no_quota_left_means_sequential():
    built = model(local(nest(ROW_SUMS, "N M"), "s"))
    kinds = loop_verdicts(built)
    built.solver.limits = Limits(operations=1)
    found = with_privatisation(kinds, values(built))
    assert [v.kind.value for v in found] == ["sequential", "reduction"]


def test_liveness_of_a_part():
    scop = nest(
        "for i in 0..8\n  t[i] = A[i]\nfor j in 0..8\n  B[j] = t[j]\n"
        "for k in 0..8\n  B[k] = A[k]"
    )
    found = values(model(local(scop, "t")))
    first, second, third = loops(scop.body)
    assert liveness(found, "t", first).leaving
    assert not liveness(found, "t", first).entering
    assert liveness(found, "t", second).entering
    assert not liveness(found, "B", second).leaving
    assert liveness(found, "B", third).leaving
    shown = [(p.loop.name, p.live_in, p.live_out) for p in parts(found)]
    assert shown == [("i", ("A",), ("t",)), ("j", ("t",), ()), ("k", ("A",), ("B",))]
