"""Kernels see which cells the views of one buffer share."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.checks.races import VerifyKernels

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


TURNED = "memref<64x64xf32, strided<[1, 64]>>"
MIRROR = f"""func.func @f(%a: memref<64x64xf32>) {{
  %t = memref.transpose %a (d0, d1) -> (d1, d0) : memref<64x64xf32> to {TURNED}
  affine.for %i = 0 to 64 {{
    affine.for %j = 0 to 64 {{
      %x = affine.load %t[%i, %j] : {TURNED}
      %y = arith.addf %x, %x : f32
      affine.store %y, %a[%i, %j] : memref<64x64xf32>
    }}
  }}
  return
}}"""


def test_a_transposed_view_shows_the_cells_of_its_buffer():
    a = np.random.default_rng(0).random((64, 64), np.float32)
    want = a.copy()
    for i in range(64):
        for j in range(64):
            want[i, j] = 2 * want[j, i]
    gcg.compile(MIRROR, target="cpu", threads=2).f(a)
    np.testing.assert_array_equal(a, want)


def test_an_aligned_view_shows_the_cells_of_its_buffer():
    text = """func.func @f(%a: memref<100xf32>) {
      %v = memref.assume_alignment %a, 4 : memref<100xf32>
      affine.for %i = 0 to 99 {
        %x = affine.load %v[%i] : memref<100xf32>
        affine.store %x, %a[%i + 1] : memref<100xf32>
      }
      return
    }"""
    a = np.arange(100, dtype=np.float32)
    gcg.compile(text, target="cpu", threads=2).f(a)
    assert not a.any()


CUBE = "memref<64x5x1000xf64>"
SCALED_THEN_UPDATED = f"""
func.func @f(%a: memref<5xf64>, %b: memref<1000x64xf64>, %c: {CUBE}) {{
  %two = arith.constant 2.0 : f64
  affine.for %n = 0 to 64 {{
    affine.for %m = 0 to 5 {{
      affine.for %k = 0 to 1000 {{
        %x = affine.load %c[%n, %m, %k] : {CUBE}
        %y = arith.mulf %x, %two : f64
        affine.store %y, %c[%n, %m, %k] : {CUBE}
      }}
    }}
  }}
  affine.for %m = 0 to 5 {{
    affine.for %n = 0 to 64 {{
      affine.for %k = 0 to 1000 {{
        %u = affine.load %a[%m] : memref<5xf64>
        %v = affine.load %b[%k, %n] : memref<1000x64xf64>
        %x = affine.load %c[%n, %m, %k] : {CUBE}
        %p = arith.mulf %v, %u : f64
        %y = arith.addf %x, %p : f64
        affine.store %y, %c[%n, %m, %k] : {CUBE}
      }}
    }}
  }}
  return
}}"""


@pytest.mark.slow
def test_tiles_of_a_buffer_that_is_seen_as_a_line_are_told_apart():
    rng = np.random.default_rng(0)
    a, b, c = rng.random(5), rng.random((1000, 64)), rng.random((64, 5, 1000))
    want = 2 * c + a[:, None] * b.T[:, None, :]
    gcg.compile(SCALED_THEN_UPDATED, target="cpu", threads=2, exact=True).f(a, b, c)
    np.testing.assert_array_equal(c, want)


def test_an_array_collapsed_behind_its_first_access_is_known_cell_by_cell():
    module = gcg.parse("""func.func @f(%A: memref<6x4x8xf32>, %v: f32) {
      affine.parallel (%r) = (0) to (6) {
        %a = affine.load %A[%r, 1, 2] : memref<6x4x8xf32>
        %B = memref.collapse_shape %A [[0], [1, 2]]
          : memref<6x4x8xf32> into memref<6x32xf32>
        affine.for %p = 0 to 32 {
          affine.store %a, %B[%r, %p] : memref<6x32xf32>
        }
      }
      return
    }""")
    VerifyKernels().apply(module)


def test_a_view_collapsed_twice_is_known_cell_by_cell():
    module = gcg.parse("""func.func @f(%A: memref<1x6x4x8xf32>) {
      %B = memref.collapse_shape %A [[0, 1], [2], [3]]
        : memref<1x6x4x8xf32> into memref<6x4x8xf32>
      %C = memref.collapse_shape %B [[0], [1, 2]]
        : memref<6x4x8xf32> into memref<6x32xf32>
      affine.parallel (%q) = (0) to (4) {
        affine.for %r = 0 to 6 {
          affine.for %p = 0 to 8 {
            %b = affine.load %B[%r, %q, %p] : memref<6x4x8xf32>
            affine.store %b, %C[%r, %p + %q * 8] : memref<6x32xf32>
          }
        }
      }
      return
    }""")
    VerifyKernels().apply(module)
    with pytest.raises(errors.RaceFound, match="between two threads"):
        VerifyKernels().apply(gcg.parse(str(module).replace("* 8", "* 7")))


def test_views_whose_groups_cross_are_known_cell_by_cell():
    module = gcg.parse("""func.func @f(%A: memref<2x3x4x8xf32>, %v: f32) {
      %B = memref.collapse_shape %A [[0, 1], [2], [3]]
        : memref<2x3x4x8xf32> into memref<6x4x8xf32>
      affine.parallel (%c) = (0) to (3) {
        %C = memref.collapse_shape %A [[0], [1], [2, 3]]
          : memref<2x3x4x8xf32> into memref<2x3x32xf32>
        affine.for %p = 0 to 32 {
          affine.store %v, %C[0, %c, %p] : memref<2x3x32xf32>
        }
        affine.for %y = 0 to 4 {
          %b = affine.load %B[%c, %y, 7] : memref<6x4x8xf32>
          affine.store %b, %A[1, %c, %y, 0] : memref<2x3x4x8xf32>
        }
      }
      return
    }""")
    VerifyKernels().apply(module)
    with pytest.raises(errors.RaceFound, match="between two threads"):
        VerifyKernels().apply(gcg.parse(str(module).replace("%B[%c,", "%B[%c + 1,")))


def test_unknown_columns_of_a_buffer_seen_as_a_line_stay_in_their_row():
    module = gcg.parse("""func.func @f(%A: memref<3x17xf32>, %at: memref<3xindex>,
                                        %v: f32) {
      %B = memref.collapse_shape %A [[0, 1]] : memref<3x17xf32> into memref<51xf32>
      affine.for %p = 0 to 51 {
        affine.store %v, %B[%p] : memref<51xf32>
      }
      affine.parallel (%r) = (0) to (3) {
        %c = affine.load %at[%r] : memref<3xindex>
        %a = affine.load %A[%r, 0] : memref<3x17xf32>
        memref.store %a, %A[%r, %c] : memref<3x17xf32>
      }
      return
    }""")
    VerifyKernels().apply(module)
    with pytest.raises(errors.RaceFound, match="between two threads"):
        VerifyKernels().apply(gcg.parse(str(module).replace("%A[%r, 0]", "%A[1, 0]")))
