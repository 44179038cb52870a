"""Loops that carry totals, in parts that threads run: results, and what is refused."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from lowering import apply

import gpucodegen as gcg
from gpucodegen.passes.loops.parallel_totals import ParallelizeReductions

TEXT = """func.func @f(%x: memref<{n}xi64>, %y: memref<{n}xi64>, %o: memref<2xi64>) {{
  %a = arith.constant 5 : i64
  %b = arith.constant -7 : i64
  %sums:2 = affine.for %i = {first} to {n} step {step}
      iter_args(%s = %a, %m = %b) -> (i64, i64) {{
    %v = affine.load %x[%i] : memref<{n}xi64>
    %w = affine.load %y[%i] : memref<{n}xi64>
    %t = arith.{one} : i64
    %u = arith.{other} : i64
    {more}
    affine.yield %t, %u : i64, i64
  }}
  affine.store %sums#0, %o[0] : memref<2xi64>
  affine.store %sums#1, %o[1] : memref<2xi64>
  return
}}"""
SUM, LARGEST = "addi %s, %v", "maxsi %m, %w"
STORE = "affine.store %v, %y[%i] : memref<{n}xi64>"


def parallel(text: str, threads: int = 3) -> gcg.Module:
    with patch.object(ParallelizeReductions, "_pays", return_value=True):
        return apply(f"parallelize-reductions{{threads={threads}}}", text)


def written(
    n: int, one: str, other: str, more: str = "", first: int = 0, step: int = 1
) -> str:
    return TEXT.format(
        n=n, one=one, other=other, more=more.format(n=n), first=first, step=step
    )


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize(
    ("n", "first", "step"), [(1536, 0, 1), (1543, 0, 1), (4001, 3, 2), (1100, 1, 1)]
)
@pytest.mark.parametrize("more", ["", STORE])
def test_results(n: int, first: int, step: int, more: str, threads: int) -> None:
    text = written(n, SUM, LARGEST, more, first, step)
    rng = np.random.default_rng(5)
    x, y = rng.integers(-99, 99, (2, n))
    for target in ("interp", "cpu"):
        out, other = np.zeros(2, "i8"), y.copy()
        gcg.compile(parallel(text, threads), target=target).f(x, other, out)
        taken = slice(first, n, step)
        assert out.tolist() == [5 + x[taken].sum(), max(-7, y[taken].max())]
        if more:
            assert np.array_equal(other[taken], x[taken])


def test_there_are_parts() -> None:
    assert str(parallel(written(1536, SUM, LARGEST))).count("affine.for") == 3
    assert str(parallel(written(1543, SUM, LARGEST))).count("affine.for") == 4


@pytest.mark.parametrize(
    ("one", "other", "more"),
    [
        ("subi %v, %s", LARGEST, ""),
        ("addi %m, %v", LARGEST, ""),
        (SUM, "maxsi %m, %s", ""),
        (SUM, LARGEST, "affine.store %s, %y[%i] : memref<{n}xi64>"),
        (SUM, LARGEST, "affine.store %v, %y[0] : memref<{n}xi64>"),
        (SUM, LARGEST, "affine.store %v, %x[-%i + 1535] : memref<{n}xi64>"),
    ],
)
def test_what_depends_on_other_iterations_stays(
    one: str, other: str, more: str
) -> None:
    text = written(1536, one, other, more)
    assert str(parallel(text)) == str(gcg.parse(text))


def test_sums_of_floats_in_order_stay() -> None:
    text = """func.func @f(%x: memref<1536xf32>) -> f32 {
  %a = arith.constant 0.0 : f32
  %s = affine.for %i = 0 to 1536 iter_args(%p = %a) -> (f32) {
    %v = affine.load %x[%i] : memref<1536xf32>
    %n = arith.addf %p, %v : f32
    affine.yield %n : f32
  }
  return %s : f32
}"""
    assert str(parallel(text)) == str(gcg.parse(text))
    with patch.object(ParallelizeReductions, "_pays", return_value=True):
        made = apply("parallelize-reductions{threads=2,relaxed=true}", text)
    assert str(made).count("affine.for") == 3


def test_nested_loops_that_hand_a_total_on() -> None:
    text = """func.func @f(%x: memref<7x9xf64>) -> f64 {
  %a = arith.constant 1.0 : f64
  %s = affine.for %i = 0 to 7 iter_args(%p = %a) -> (f64) {
    %r = affine.for %j = 0 to 9 iter_args(%q = %p) -> (f64) {
      %v = affine.load %x[%i, %j] : memref<7x9xf64>
      %n = arith.addf %q, %v fastmath<reassoc> : f64
      affine.yield %n : f64
    }
    affine.yield %r : f64
  }
  return %s : f64
}"""
    made = parallel(text, 2)
    assert str(made).count("affine.for") == 4
    x = np.arange(63, dtype="f8").reshape(7, 9)
    for target in ("interp", "cpu"):
        assert gcg.compile(made, target=target).f(x) == 1 + x.sum()
