from __future__ import annotations

import pytest
from tiling_samples import (
    CONVOLUTION,
    JACOBI,
    MATMUL,
    MATMUL_INIT,
    TRIANGULAR_SOLVE,
    nest,
)

from gpucodegen.tiling.machine.contraction import ContractionShape, contractions
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import Loop, Scop
from gpucodegen.tiling.proof.dependences import dependences

BATCHED = nest(
    """
for t in 0..T
  for i in 0..M
    for k in 0..K
      for b in 0..B
        for j in 0..N
          C[b,i,j] += A[b,k,i] X[b,j,k] alpha[]
""",
    "T M K B N",
)
MATVEC = nest("for j in 0..M\n  for i in 0..N\n    y[i] += A[j,i] x[j]", "M N")
DOT = nest("for i in 0..N\n  s[] += x[i] y[i]", "N")
TENSOR = nest(
    """
for a in 0..N
  for b in 0..N
    for c in 0..N
      for d in 0..N
        for e in 0..N
          C[a,b,c] += A[a,d,e] B[e,b,d,c]
""",
    "N",
)


def recognised(scop: Scop) -> tuple[ContractionShape, ...]:
    built = model(scop)
    return contractions(built, dependences(built))


def parts(found: ContractionShape) -> str:
    def text(of: tuple[Loop, ...]) -> str:
        return "".join(loop.name for loop in of)

    roles = found.roles
    return "/".join(map(text, (roles.batch, roles.m, roles.n, roles.k)))


@pytest.mark.cases(
    ("scop", "expected"),
    [
        (MATMUL, "/i/j/k"),
        (MATMUL_INIT, "/i/j/k"),
        (BATCHED, "b/i/j/k"),
        (MATVEC, "/i//j"),
        (DOT, "///i"),
        (CONVOLUTION, "/nhw/f/pqc"),
        (TENSOR, "/a/bc/de"),
    ],
)
def test_loops_are_split_by_the_accesses(scop: Scop, expected: str):
    (found,) = recognised(scop)
    assert parts(found) == expected


def test_convolutions_slide():
    (found,) = recognised(CONVOLUTION)
    assert found.sliding
    assert found.left.array == "I"
    assert found.left.coefficients[1] == {"h": 2, "p": 1}
    assert not recognised(MATMUL)[0].sliding


def test_outer_repetition_and_scalars_are_set_apart():
    (found,) = recognised(BATCHED)
    assert [loop.name for loop in found.roles.outer] == ["t"]
    assert [operand.array for operand in found.scalars] == ["alpha"]


@pytest.mark.cases(
    "scop",
    [
        JACOBI,
        TRIANGULAR_SOLVE,
        nest("for i in 0..N\n  for j in 0..N\n    C[i,j] = A[i,j] B[i,j]", "N"),
        nest("for i in 0..N\n  for k in 0..N\n    C[i] += A[i,k mod 2] B[k]", "N"),
        nest("for i in 0..N\n  for k in 0..N\n    C[i] += C[k] B[k]", "N"),
    ],
)
def test_everything_else_is_not_a_contraction(scop: Scop):
    assert recognised(scop) == ()
