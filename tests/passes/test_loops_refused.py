"""What a user is told when a loop transformation is refused."""

from __future__ import annotations

import pytest
from lowering import apply

from gpucodegen import errors

DIAGONAL = """func.func @f(%A: memref<9x9xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 1 to 9 {
      %x = affine.load %A[%i + 1, %j - 1] : memref<9x9xf32>
      affine.store %x, %A[%i, %j] : memref<9x9xf32>
    }
  }
  return
}"""

BACKWARD = """func.func @f(%A: memref<9xf32>, %B: memref<9xf32>, %v: f32) {
  affine.for %i = 0 to 9 {
    affine.store %v, %A[%i] : memref<9xf32>
  }
  affine.for %k = 0 to 9 {
    %x = affine.load %A[-%k + 8] : memref<9xf32>
    affine.store %x, %B[%k] : memref<9xf32>
  }
  return
}"""


def refusal(passes: str, text: str) -> str:
    with pytest.raises(errors.IllegalTransformation) as caught:
        apply(passes, text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("passes", "reason"),
    [
        (
            "interchange{order=[j,i]}",
            (
                "order (j, i) of the loops at 0 (i) is not legal: "
                "order (j, i) reverses a dependence"
            ),
        ),
        (
            "tile{sizes=[4,4]}",
            (
                "tiling the loops (i, j) is not legal: "
                "a dependence points backward along loop j"
            ),
        ),
        (
            "unroll-and-jam{loop=i}",
            (
                "jamming 2 iterations of the loop at 0 (i) is not legal: "
                "jamming 2 iterations of loop i reverses a dependence"
            ),
        ),
    ],
)
def test_a_distance_of_one_and_minus_one_is_refused_with_a_witness(
    passes: str, reason: str
):
    text = refusal(passes, DIAGONAL)
    assert reason in text
    assert "S0 at (i=0, j=2) reads A[1, 1] and S0 at (i=1, j=1) writes it" in text
    assert "<string>:2:3: error:" in text


def test_jamming_more_iterations_than_the_distance_is_refused_only():
    text = DIAGONAL.replace("%i + 1", "%i + 3").replace("<9x9x", "<12x9x")
    apply("unroll-and-jam{factor=3,loop=i}", text)
    assert "A[3, 1]" in refusal("unroll-and-jam{factor=4,loop=i}", text)


def test_fusion_across_a_violated_dependence_shows_both_places():
    text = refusal("fuse{loops=[i,k]}", BACKWARD)
    assert "fusion of the loops at 0 (i) and 1 (k) is not legal: " in text
    assert "fusion reverses a dependence: S0 at (i=" in text
    assert "<string>:3:5: note: S0 at (i=" in text
    assert "<string>:6:10: note: S1 at (k=" in text


SUMS = """func.func @f(%A: memref<8x8x{t}>, %s: memref<{t}>, %B: memref<8x{t}>) {{
  affine.for %i = 0 to 8 {{
    affine.for %j = 0 to 8 {{
      %x = affine.load %A[%i, %j] : memref<8x8x{t}>
      %y = affine.load %s[] : memref<{t}>
      %z = arith.{add} %y, %x : {t}
      affine.store %z, %s[] : memref<{t}>
    }}
  }}
  return
}}"""


def test_sums_are_reordered_where_the_program_allows_it():
    floats = SUMS.format(t="f32", add="addf")
    assert "reverses a dependence" in refusal("interchange", floats)
    apply("interchange{relaxed=true}", floats)
    apply("interchange", floats.replace("%x : f32", "%x fastmath<reassoc> : f32"))
    apply("interchange", SUMS.format(t="i32", add="addi"))


CARRIED = """func.func @f(%A: memref<8x8xf32>, %s: memref<f32>, %B: memref<8xf32>) {
  %c = arith.constant 0.0 : f32
  %r = affine.for %i = 0 to 8 iter_args(%a = %c) -> (f32) {
    %t = affine.for %j = 0 to 8 iter_args(%b = %a) -> (f32) {
      %x = affine.load %A[%i, %j] : memref<8x8xf32>
      %y = arith.addf %b, %x : f32
      affine.yield %y : f32
    }
    affine.yield %t : f32
  }
  affine.for %k = 0 to 8 {
    affine.store %r, %B[%k] : memref<8xf32>
  }
  return
}"""

TRIANGLE = """func.func @f(%A: memref<9x9xf32>, %v: f32) {
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to affine_map<(d0) -> (d0 + 1)>(%i) {
      affine.store %v, %A[%i, %j] : memref<9x9xf32>
    }
  }
  affine.for %k = 0 to 8 {
    affine.store %v, %A[%k, %k] : memref<9x9xf32>
  }
  return
}"""


@pytest.mark.cases(
    ("passes", "text", "reason"),
    [
        ("interchange", CARRIED, "reverses a dependence: S0 at (i=0, j=1) reads a[]"),
        ("unroll-and-jam{loop=i}", CARRIED, "loop i reverses a dependence: S0 at"),
        ("fuse{loops=[i,k]}", CARRIED, "loop k uses what loop i computed in all"),
        ("interchange{loop=i}", TRIANGLE, "the bounds of loop j depend on loop i"),
        ("unroll-and-jam{loop=i}", TRIANGLE, "the bounds of loop j depend on loop i"),
        ("fuse{loops=[i,k]}", TRIANGLE, "loops i and k have different bounds"),
        ("fuse{loops=[i,j]}", TRIANGLE, "they are not two loops of one block"),
        ("fuse{loops=[i,k],depth=2}", TRIANGLE, "fewer than 2 loops are perfectly"),
    ],
)
def test_other_refusals_say_why(passes: str, text: str, reason: str):
    assert reason in refusal(passes, text)


def test_copies_in_flight_are_left_alone():
    text = """func.func @f(%A: memref<64xf32>, %B: memref<64xf32, 1>,
    %t: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 8 {
      memref.dma_start %A[%j], %B[%j], %c8, %t[%c0]
          : memref<64xf32>, memref<64xf32, 1>, memref<1xi32>
      memref.dma_wait %t[%c0], %c8 : memref<1xi32>
    }
  }
  return
}"""
    assert "'memref.dma_start' orders more" in refusal("interchange", text)


@pytest.mark.parametrize(
    ("passes", "problem"),
    [
        ("fuse{loops=[i]}", "pass 'fuse': 'loops' holds 1 names"),
        ("interchange{loop=i,order=[i,i]}", "order (i, i) does not name each of"),
        ("unroll-and-jam{factor=0}", "option 'factor' cannot be 0"),
    ],
)
def test_unusable_options_are_explained(passes: str, problem: str):
    with pytest.raises(errors.InvalidPassOption) as caught:
        apply(passes, DIAGONAL)
    assert problem in str(caught.value)
