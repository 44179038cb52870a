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
from gpucodegen.dialects.builtin import Module

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


PERIODIC = """func.func @f(%A: memref<40xf64>, %B: memref<40xf64>) -> f64 {{
  %c = arith.constant 0.0 : f64
  %s = affine.for %i = {low} to {high} iter_args(%a = %c) -> (f64) {{
    %x = affine.load %A[({sign} %i + {shift}) mod {period}] : memref<40xf64>
    %y = affine.load %A[({sign} %i + {shift}) floordiv {period} + 20] : memref<40xf64>
    %z = arith.mulf %x, %y : f64
    affine.store %z, %B[%i] : memref<40xf64>
    %t = arith.subf %z, %a : f64
    affine.yield %t : f64
  }}
  return %s : f64
}}"""


@pytest.mark.parametrize("seed", range(12))
def test_periodic_indices_are_linear_between_wraps(seed: int):
    random = np.random.default_rng(seed)
    low, period = int(random.integers(0, 9)), int(random.integers(9, 40))
    high, shift = int(random.integers(low + 32, 41)), int(random.integers(-50, 50))
    sign = ("", "-1 *")[seed % 2]
    text = PERIODIC.format(
        low=low, high=high, shift=shift, period=period, sign=sign
    ).replace("+ -", "- ")
    split = apply("split-at-wraps", text)
    factor = -1 if sign else 1
    quotients = [(factor * i + shift) // period for i in range(low, high)]
    pieces = len(set(quotients))
    assert str(split).count("affine.for") == pieces
    assert " mod " not in str(split)
    assert "floordiv" not in str(split)
    data = random.random((2, 40))
    results = [interp_of(module, data) for module in (gcg.parse(text), split)]
    np.testing.assert_array_equal(*results)


def interp_of(module: Module, data: np.ndarray) -> np.ndarray:
    a, b = data.copy()
    total = gcg.compile(module, target="interp").f(a, b)
    return np.array([*b, total])


@pytest.mark.cases("period, lanes", [(4, 1), (15, 32)])
def test_many_wraps_keep_their_loop(period: int, lanes: int):
    text = PERIODIC.format(low=0, high=40, shift=0, period=period, sign="")
    split = apply(f"split-at-wraps{{lanes={lanes}}}", text)
    assert str(split) == str(gcg.parse(text))


def test_constant_quotients_need_no_pieces():
    text = PERIODIC.format(low=0, high=39, shift=1, period=40, sign="")
    split = str(apply("split-at-wraps", text))
    assert split.count("affine.for") == 1
    assert "%A[%i + 1]" in split
    assert "%A[20]" in split


def test_periodic_stencils_become_vectors():
    @gcg.jit(target="cpu")
    def smooth(u: np.ndarray, v: np.ndarray) -> None:
        v[:] = np.roll(u, 1, 1) + np.roll(u, -1, 1) + np.roll(u, 1, 0)

    u, v = np.random.default_rng(0).random((2, 24, 40))
    smooth(u, v)
    want = np.roll(u, 1, 1) + np.roll(u, -1, 1) + np.roll(u, 1, 0)
    np.testing.assert_array_equal(v, want)
    assert "vload" in smooth.source(u, v)
