"""Sequential loops around parallel ones as one kernel with barriers between steps."""

from __future__ import annotations

import numpy as np

import gpucodegen as gcg

SUMMED = """func.func @f(%x: memref<8xf32>, %s: memref<f32>) {
  affine.for %i = 0 to 3 {
    affine.for %d = 0 to 8 {
      %v = affine.load %x[%d] : memref<8xf32>
      %w = arith.addf %v, %v : f32
      affine.store %w, %x[%d] : memref<8xf32>
    }
    affine.for %d = 0 to 8 {
      %v = affine.load %x[%d] : memref<8xf32>
      %p = affine.load %s[] : memref<f32>
      %q = arith.addf %p, %v : f32
      affine.store %q, %s[] : memref<f32>
    }
  }
  return
}"""


def test_one_thread_adds_what_others_wrote() -> None:
    """Both loops have one start and step, but only one is distributed."""
    program = gcg.compile(SUMMED, target="sim")
    x, s = np.arange(8, dtype="f4"), np.zeros((), "f4")
    program.f(x, s)
    np.testing.assert_array_equal(x, 8 * np.arange(8))
    assert s == 28 * (2 + 4 + 8)
    assert program.source("f").count("syncthreads") > 1
