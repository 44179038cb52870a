from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from tiling_nests import nests, scops
from tiling_oracle import common, conflicts, execute
from tiling_samples import JACOBI, MATMUL, MATMUL_INIT, SEIDEL, nest

from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import Loop, Scop
from gpucodegen.tiling.proof.dependences import Dependence, dependences
from gpucodegen.tiling.proof.legality import (
    bands,
    check_fusion,
    check_interchange,
    check_schedule,
    check_tiling,
)


def analysed(scop: Scop) -> tuple[Dependence, ...]:
    return dependences(model(scop))


def chain(scop: Scop) -> list[Loop]:
    """The outermost perfect nest."""
    found = [scop.body[0]]
    while len(found[-1].body) == 1 and isinstance(found[-1].body[0], Loop):
        found.append(found[-1].body[0])
    return found


def test_distance_minus_one_is_not_tilable():
    """Upstream accepts an exact distance of -1 (llvm-project 191147)."""
    scop = nest("for i in 0..4\n  for j in 1..5\n    A[i,j] = A[i + 1,j - 1]")
    refusal = check_tiling(analysed(scop), chain(scop))
    assert refusal is not None
    assert str(refusal) == (
        "a dependence points backward along loop j: "
        "S0 at (i=0, j=2) reads A[1, 1] and S0 at (i=1, j=1) writes it"
    )
    assert [str(d) for d in refusal.dependence.distance] == ["[1, 1]", "[-1, -1]"]
    assert check_tiling(analysed(scop), chain(scop)[:1]) is None
    assert check_interchange(analysed(scop), chain(scop), ("j", "i")) is not None
    assert [b.names for b in bands(scop.body, analysed(scop))] == [("i",), ("j",)]


def test_bands_of_known_nests():
    assert names(MATMUL) == [("i", "j", "k")]
    assert names(MATMUL_INIT) == [("i", "j"), ("k",)]
    assert names(JACOBI) == [("t",), ("i", "j"), ("k", "l")]
    assert names(SEIDEL) == [("t",), ("i", "j")]


def names(scop: Scop) -> list[tuple[str, ...]]:
    return [band.names for band in bands(scop.body, analysed(scop))]


def test_seidel_is_tiled_skewed_only():
    built = model(SEIDEL)
    found = dependences(built)
    rectangular = ("floor(t/16)", "floor(i/16)", "floor(j/16)", "t", "i", "j")
    skewed = (
        "floor(t/16)",
        "floor((t + i)/16)",
        "floor((2*t + i + j)/16)",
        *("t", "i", "j"),
    )
    assert check_schedule(built, found, {"S0": rectangular}) is not None
    assert check_schedule(built, found, {"S0": skewed}) is None


def test_reassociation_frees_the_order_of_a_reduction():
    backward = ("i", "j", "-k")
    built = model(MATMUL)
    found = dependences(built)
    assert check_schedule(built, found, {"S0": backward}) is not None
    assert check_schedule(built, found, {"S0": backward}, relaxed=True) is None


def test_fusion_needs_values_to_be_ready():
    text = "for i in 0..N\n  A[i] = x[i]\nfor k in 0..N\n  B[k] = A[{}]"
    same, later = (nest(text.format(e), "N") for e in ("k", "N - 1 - k"))
    assert check_fusion(analysed(same), same.body[:1], same.body[1:]) is None
    refusal = check_fusion(analysed(later), later.body[:1], later.body[1:])
    assert refusal is not None
    assert refusal.witness is not None
    other = nest("for i in 0..N\n  A[i] = x[i]\nfor k in 0..M\n  B[k] = A[k]", "N M")
    refusal = check_fusion(analysed(other), other.body[:1], other.body[1:])
    assert str(refusal) == "loops i and k have different bounds"


def test_imperfect_chains_are_refused():
    loop = MATMUL_INIT.body[0].body[0]
    refusal = check_tiling(analysed(MATMUL_INIT), [loop, loop.body[1]])
    assert str(refusal) == "loop j holds more than loop k"


@pytest.mark.slow
@nests
@given(scops())
def test_tilings_and_interchanges_equal_enumeration(scop: Scop):
    of = chain(scop)
    found = analysed(scop)
    depth = len(of)
    pairs = [
        (a.values(depth), b.values(depth))
        for a, b in conflicts(execute(scop))
        if common(a, b) >= depth and a.around[0][0] is of[0]
    ]
    backward = any(y[d] < x[d] for x, y in pairs for d in range(depth))
    assert (check_tiling(found, of) is not None) == backward
    for order in itertools.permutations(range(depth)):
        reverses = any([y[d] for d in order] < [x[d] for d in order] for x, y in pairs)
        refused = check_interchange(found, of, [of[d].name for d in order])
        assert (refused is not None) == reverses
