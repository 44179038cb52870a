"""Peeling, splitting, normalising and unrolling keep order, instances and results."""

from __future__ import annotations

import numpy as np
import pytest
from affine_programs import arguments, programs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from interpreter import interpret
from lowering import apply

import gpucodegen as gcg
from gpucodegen import errors

PIPELINES = [
    "peel",
    "peel{front=2,back=1}",
    "peel{front=0,back=2},canonicalize",
    "split-index-set{at=1}",
    "split-index-set{at=t}",
    "normalize-loops",
    "normalize-loops,canonicalize",
    "unroll{factor=2}",
    "unroll{factor=3,loop=0}",
    "normalize-loops,unroll{factor=3},canonicalize",
]
examples = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.sampled(18)
@examples
@given(
    programs(symbolic=True),
    st.sampled_from(PIPELINES),
    st.integers(-3, 5),
    st.integers(-3, 5),
)
def test_the_same_accesses_in_the_same_order(text: str, passes: str, n: int, t: int):
    before = interpret(gcg.parse(text), arguments(n, t))
    after = interpret(apply(passes, text), arguments(n, t))
    if "canonicalize" not in passes:  # it folds the marks of instances away
        assert after.order == before.order
    for got, expected in zip(after.arrays, before.arrays, strict=True):
        np.testing.assert_array_equal(got, expected)


RUNNING_SUM = """func.func @f(%A: memref<?xf64>, %S: memref<?xf64>, %n: index) {
  %c = arith.constant 0.0 : f64
  %m = memref.dim %A, %zero : memref<?xf64>
  affine.for %i = max affine_map<(d0) -> (d0, 1)>(%n) to %m step 3 {
    %s = affine.for %j = 0 to min affine_map<(d0, d1) -> (d0 + 5, d1)>(%i, %m)
        iter_args(%a = %c) -> (f64) {
      %x = affine.load %A[%j] : memref<?xf64>
      %t = arith.addf %a, %x : f64
      affine.yield %t : f64
    }
    affine.store %s, %S[%i] : memref<?xf64>
  }
  return
}""".replace("  %m =", "  %zero = arith.constant 0 : index\n  %m =")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("passes", "target"),
    [
        ("peel{loop=j,front=1,back=2}", "cpu"),
        ("split-index-set{loop=i,at=7},unroll{factor=4}", "cpu"),
        ("normalize-loops,unroll{factor=2}", "cpu"),
        ("normalize-loops,unroll{factor=2}", "sim"),
    ],
)
@pytest.mark.parametrize("n", [-4, 2, 40])
def test_engines_agree_on_carried_values(passes: str, target: str, n: int):
    a = np.random.default_rng(0).standard_normal(20)
    expected, got = np.zeros(20), np.zeros(20)
    for i in range(max(n, 1), 20, 3):
        for x in a[: max(0, min(i + 5, 20))]:
            expected[i] += x
    gcg.compile(apply(passes, RUNNING_SUM), target=target).f(a, got, n)
    np.testing.assert_array_equal(got, expected)


TRIANGLE = """func.func @f(%A: memref<9x9xf32>, %v: f32) {
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 2 {
      affine.store %v, %A[%i, %j] : memref<9x9xf32>
    }
    affine.for %j = 0 to 3 {
      affine.store %v, %A[%i, %j] : memref<9x9xf32>
    } {gpucodegen.name = "late"}
  }
  return
}"""


def test_full_unrolling_leaves_no_loop():
    text = str(apply("unroll{factor=0,loop=0.1},canonicalize", TRIANGLE))
    assert text.count("affine.for") == 2
    assert "%A[%i, 2]" in text


def test_full_unrolling_needs_a_constant_count():
    with pytest.raises(errors.IllegalTransformation, match=r"not constant\. Give a"):
        apply("unroll{factor=0,loop=i}", RUNNING_SUM)


def test_names_find_loops_and_copies_get_names_of_their_own():
    text = str(apply("peel{loop=late}", TRIANGLE))
    assert '{gpucodegen.name = "late_front"}' in text
    assert '{gpucodegen.name = "late"}' in text
    assert str(apply("peel{loop=0.1,function=f}", TRIANGLE)) == text


@pytest.mark.cases(
    ("passes", "message"),
    [
        (
            "peel{loop=k}",
            "no loop 'k' in @f. Known loops: 0 (i), 0.0 (j), 0.1 (late)",
        ),
        ("peel{loop=j}", "'j' names 2 loops of @f. Name one by its path: 0.0 (j), "),
        ("peel{function=g}", "no function 'g'. Known functions: f"),
        ("peel{front=-1}", "pass 'peel': option 'front' is negative"),
        ("unroll{factor=-1}", "pass 'unroll': option 'factor' cannot be -1"),
        ("split-index-set{at=w}", "'w' is neither a number nor an index argument"),
    ],
)
def test_unusable_options_are_explained(passes: str, message: str):
    with pytest.raises(errors.CompileError) as caught:
        apply(passes, TRIANGLE)
    assert message in str(caught.value)
