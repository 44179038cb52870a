"""Kernels see which cells the views of one buffer share."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

ROWS = "memref<5x6xi64, strided<[8, 1], offset: 48>>"
APART = f"""func.func @f(%a: memref<16x8xi64>) {{
  %v = memref.subview %a[6, 0] [5, 6] [1, 1] : memref<16x8xi64> to {ROWS}
  affine.parallel (%i, %j) = (0, 0) to (5, 6) {{
    %two = arith.constant 2 : i64
    affine.store %two, %v[%i, %j] : {ROWS}
  }}
  affine.for %i = 0 to 5 {{
    %x = affine.load %v[%i, %i] : {ROWS}
    affine.store %x, %a[%i, %i] : memref<16x8xi64>
  }}
  return
}}"""

LINE = "memref<100000xi64, strided<[1], offset: 0>>"
VIEW = f"memref.subview %a[0] [100000] [1] : memref<100000xi64> to {LINE}"
SAME = f"""func.func @f(%a: memref<100000xi64>) {{
  %x = {VIEW}
  %y = {VIEW}
  affine.for %i = 0 to 100000 {{
    %n = affine.load %x[%i] : {LINE}
    %m = arith.addi %n, %n : i64
    affine.store %m, %y[%i] : {LINE}
  }}
  return
}}"""


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_writes_of_a_view_do_not_meet_each_other(target: str):
    a = np.arange(128).reshape(16, 8)
    want = a.copy()
    want[6:11, :6] = 2
    want[range(5), range(5)] = 2
    gcg.compile(APART, target=target).f(a)
    np.testing.assert_array_equal(a, want)


def test_loops_over_equal_views_stay_parallel():
    a = np.arange(100000)
    program = gcg.compile(SAME, target="cpu", threads=2)
    program.f(a)
    assert "prange" in program.source("f")
    np.testing.assert_array_equal(a, 2 * np.arange(100000))
