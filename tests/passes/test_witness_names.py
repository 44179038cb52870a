"""Witnesses call extents what the program calls them, and name those that matter."""

from __future__ import annotations

import pytest
from lowering import apply

import gpucodegen as gcg
from gpucodegen import errors

COPY = """func.func @f(%A: memref<?x?xf32>, %B: memref<?x?xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {}
  affine.for %i = 0 to {} {{
    affine.for %j = 0 to {} {{
      %x = affine.load %A[%i, %j] : memref<?x?xf32>
      affine.store %x, %B[%i, %j] : memref<?x?xf32>
    }}
  }}
  return
}}"""
SHIFT = """func.func @f(%A: memref<?x?xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {} = memref.dim %A, %c0 : memref<?x?xf32>
  affine.for %i = 1 to {} {{
    %x = affine.load %A[%i - 1, 0] : memref<?x?xf32>
    affine.store %x, %A[%i, 0] : memref<?x?xf32>
  }}
  return
}}"""


def dims(*names: str) -> str:
    return COPY.format(
        "\n".join(
            f"{name} = memref.dim %A, %c{d} : memref<?x?xf32>"
            for d, name in enumerate(names)
        ),
        *names,
    )


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("%N", "%M"), "dim 0 of B >= N and dim 1 of B >= M"),
        (("%N", "%1"), "dim 0 of B >= N and dim 1 of B >= dim 1 of A"),
        (("%0", "%1"), "dim 0 of B >= dim 0 of A and dim 1 of B >= dim 1 of A"),
    ],
)
def test_extents_that_are_needed(names: tuple[str, str], expected: str):
    printed = str(gcg.analyze(gcg.parse(dims(*names))))
    assert f"extents need: {expected}" in printed


@pytest.mark.parametrize(("name", "said"), [("%N", "N"), ("%0", "dim 0 of A")])
def test_a_witness_names_what_matters(name: str, said: str):
    found = gcg.analyze(gcg.parse(SHIFT.format(name, name)))["f"]
    first = next(str(d) for d in found.dependences if d.kind.value.startswith("read"))
    assert first.endswith(f"where {said}=3")


def test_a_loop_may_have_the_name_of_an_extent():
    text = SHIFT.format("%N", "%N").replace("%i", "%N_0").replace("%N_0", "%Nn")
    (loop,) = gcg.analyze(gcg.parse(text))["f"].loops
    assert loop.kind.value == "sequential"


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.ProvenOutOfBounds")
@pytest.mark.parametrize(("name", "said"), [("%N", "N"), ("%0", "dim 0 of A")])
def test_errors_use_the_same_words(name: str, said: str):
    text = SHIFT.format(name, name).replace(
        "affine.store %x, %A[%i, 0]", "affine.store %x, %A[%i + 1, 0]"
    )
    found = [str(v) for v in gcg.analyze(gcg.parse(text))["f"].violations]
    assert any(v.endswith(f"of extent {said} where {said}=2") for v in found)


def test_an_interchange_is_refused_in_these_words():
    text = """func.func @f(%A: memref<?x?xf32>) {
      %c0 = arith.constant 0 : index
      %0 = memref.dim %A, %c0 : memref<?x?xf32>
      affine.for %i = 0 to %0 {
        affine.for %j = 1 to 9 {
          %x = affine.load %A[%i + 1, %j - 1] : memref<?x?xf32>
          affine.store %x, %A[%i, %j] : memref<?x?xf32>
        }
      }
      return
    }"""
    with pytest.raises(errors.IllegalTransformation, match="where dim 0 of A=2"):
        apply("interchange", text)
