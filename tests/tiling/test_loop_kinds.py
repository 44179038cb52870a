from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiling_nests import nests, scops
from tiling_oracle import carrying_loops
from tiling_samples import (
    CONVOLUTION,
    JACOBI,
    MATMUL,
    MATMUL_INIT,
    SEIDEL,
    TRIANGULAR_SOLVE,
    nest,
)

from gpucodegen.tiling.model.isl import MANY, Limits
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import Array, If, Loop, Scop, Statement, read, write
from gpucodegen.tiling.proof.dependences import dependences, rows
from gpucodegen.tiling.proof.liveness import LoopKind, loop_verdicts


def kinds(scop: Scop) -> str:
    verdicts = loop_verdicts(model(scop))
    return " ".join(f"{v.loop.name}:{v.kind.value[0]}" for v in verdicts)


@pytest.mark.cases(
    ("scop", "expected"),
    [
        (MATMUL, "i:p j:p k:r"),
        (MATMUL_INIT, "i:p j:p k:r"),
        (CONVOLUTION, "n:p h:p w:p f:p p:r q:r c:r"),
        (JACOBI, "t:s i:p j:p k:p l:p"),
        (SEIDEL, "t:s i:s j:s"),
        (TRIANGULAR_SOLVE, "i:s j:r"),
        (nest("for i in 0..N\n  A[i mod 8] = B[floor(i/2)]", "N"), "i:s"),
        (nest("for i in 0..N\n  A[floor(i/8), i mod 8] = B[i]", "N"), "i:p"),
        (nest("for i in 0..N step 2\n  A[i] = A[i + 1]", "N"), "i:p"),
        (nest("for i in 0..N\n  s[] += A[i]\n  B[i] = s[]", "N"), "i:s"),
        (nest("for i in 0..N\n  s[] += A[i]\n  s[] += B[i]", "N"), "i:r"),
    ],
)
def test_kinds_of_known_nests(scop: Scop, expected: str):
    assert kinds(scop) == expected


def test_witness_names_iterations_cell_and_both_lines():
    scop = nest("for i in 0..4\n  for k in 0..4\n    C[i] = A[i,k]")
    verdict = loop_verdicts(model(scop))[1]
    assert verdict.kind is LoopKind.SEQUENTIAL
    assert str(verdict.witness) == (
        "iterations (i=0, k=0) and (i=0, k=1) both write C[0]"
    )
    assert verdict.witness is not None
    assert verdict.witness.locations == ("C[i] = A[i,k]", "C[i] = A[i,k]")
    assert [str(interval) for interval in verdict.distance] == ["[0, 0]", "[1, 3]"]


def test_declared_parallel_loop_is_parallel():
    loop = Loop("i", "0", "N", parallel=True, body=(Statement("S", (write("s"),)),))
    assert kinds(Scop(("N",), (), (Array("s"),), (loop,))) == "i:p"


def test_buffers_allocated_in_a_loop_are_private_to_its_iterations():
    use = (Statement("put", (write("t", "0"),)), Statement("get", (read("t", "0"),)))
    loop = Loop("i", "0", "8", body=use)
    private = Array("t", (1,), scope=("i",))
    assert kinds(Scop(arrays=(private,), body=(loop,))) == "i:p"
    assert kinds(Scop(arrays=(Array("t", (1,)),), body=(loop,))) == "i:s"


def test_what_is_not_affine_is_assumed():
    arrays = (Array("A", (8,)), Array("B", (8,)))
    unknown_cell = Statement("S", (read("B", "i"), write("A", None)))
    gather = Statement("S", (read("B", None), write("A", "i")))
    loop = Loop("i", "0", "8", body=(unknown_cell,))
    assert kinds(Scop(arrays=arrays, body=(loop,))) == "i:s"
    assert kinds(Scop(arrays=arrays, body=(Loop("i", "0", "8", body=(gather,)),))) == (
        "i:p"
    )
    again = Loop("w", opaque=True, body=(Statement("S", (write("A", "i"),)),))
    inside = Loop("i", "0", "8", body=(again,))
    assert kinds(Scop(arrays=arrays, body=(inside,))) == "i:p w:s"


def test_unknown_condition_takes_both_branches():
    then, other = Statement("S", (write("A", "0"),)), Statement("T", (read("A", "0"),))
    scop = Scop(arrays=(Array("A", (1,)),), body=(If(None, (then,), (other,)),))
    assert len(dependences(model(scop))) == 1


def test_opaque_loops_are_not_counted_but_their_dependences_are():
    statement = Statement("S", (write("A", "i"),))
    repeat = Loop("w", opaque=True, body=(statement,))
    scop = Scop(arrays=(Array("A", (8,)),), body=(Loop("i", "0", "8", body=(repeat,)),))
    assert rows(scop) == [(0, 0, 1, "false"), (0, 0, 2, "true")]


def test_symbolic_sizes_give_infinite_ends():
    scop = nest("for i in 0..N\n  for j in 0..N\n    s[] = A[i,j]", "N")
    found = {row[:3]: row[3] for row in rows(scop)}
    assert found[1, 1, 1] == "[1, +inf][-inf, +inf]"
    assert found[1, 1, 2] == "[0, 0][1, +inf]"
    assert found[1, 1, 3] == found[0, 1, 1] == "false"


def test_no_quota_left_means_dependent():
    """Upstream treats a failed analysis as independence (llvm-project 210585)."""
    scop = nest("for i in 0..N\n  for j in 0..i\n    A[2*i + j] = A[2*i - j + 1]", "N")
    built = model(scop)
    built.solver.limits = Limits(operations=1)
    assert all(v.kind is LoopKind.SEQUENTIAL for v in loop_verdicts(built))
    assert {d.assumed for d in dependences(built)} == {True}
    starved = {row[:3]: row[3] for row in rows(scop, Limits(operations=1))}
    assert starved[1, 1, 1] == "[1, +inf][-inf, +inf]"
    assert starved[1, 1, 2] == "[0, 0][1, +inf]"
    assert starved[0, 1, 3] == "true"
    assert starved[0, 0, 1] == "false"


def test_no_operations_left_mean_dependent():
    scop = nest("for i in 0..8\n  A[i] = B[i]")
    late = Limits(altogether=-1)
    assert [v.kind for v in loop_verdicts(model(scop, late))] == [LoopKind.SEQUENTIAL]
    found = {row[:3]: row[3] for row in rows(scop, late)}
    assert found[1, 1, 1] == "[1, +inf]"
    assert found[0, 1, 1] == found[0, 0, 1] == "false"


def copies(count: int) -> Scop:
    """So many parallel loops, each with an array and an extent of its own."""
    return Scop(
        arrays=tuple(Array(f"A{n}", (3 * count,)) for n in range(count)),
        body=tuple(
            Loop(
                f"i{n}",
                "0",
                f"{n + 8}",
                body=(
                    Statement(
                        f"S{n}", (read(f"A{n}", f"2*i{n}"), write(f"A{n}", f"2*i{n}"))
                    ),
                ),
            )
            for n in range(count)
        ),
    )


def test_large_problems_have_proportionally_more_operations():
    built = model(copies(MANY))
    assert {v.kind for v in loop_verdicts(built)} == {LoopKind.PARALLEL}
    enough = Limits(altogether=built.solver.spent)
    large = loop_verdicts(model(copies(3 * MANY), enough))
    assert {v.kind for v in large} == {LoopKind.PARALLEL}


@pytest.mark.slow
@nests
@given(scops(parameters=("N",)))
def test_symbolic_verdicts_cover_every_size(scop: Scop):
    verdicts = loop_verdicts(model(scop))
    parallel = {v.loop.name for v in verdicts if v.kind is LoopKind.PARALLEL}
    for size in range(-1, 4):
        assert parallel.isdisjoint(carrying_loops(scop, N=size))


@pytest.mark.cases("scop", [MATMUL, CONVOLUTION, JACOBI, SEIDEL])
def test_each_question_takes_few_operations_of_isl(scop: Scop):
    built = model(scop, Limits(operations=20_000))
    assert not any(d.assumed for d in dependences(built))
    kinds = [verdict.kind for verdict in loop_verdicts(built)]
    assert kinds == [verdict.kind for verdict in loop_verdicts(model(scop))]


@pytest.mark.sampled(5)
@given(scops(), st.randoms())
def test_dependences_of_chosen_carriers_are_a_part_of_all(scop: Scop, random: Random):
    built = model(scop)
    every = dependences(built)
    names = [verdict.loop.name for verdict in loop_verdicts(built, every)]
    chosen = {name for name in names if random.random() < 0.5}
    expected = [d for d in every if d.carrier and d.carrier.name in chosen]
    found = dependences(built, chosen)
    assert list(map(str, found)) == list(map(str, expected))
