"""Neighbouring prefetches are one statement; what is not a neighbour stands alone."""

from __future__ import annotations

import numpy as np

import gpucodegen as gcg

TEXT = """func.func @f(%A: memref<8x64xf32>, %B: memref<8x64xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 2 {
      affine.prefetch %A[%i, %j * 32], read, locality<3>, data : memref<8x64xf32>
      affine.prefetch %A[%i, %j * 32 + 16], read, locality<3>, data : memref<8x64xf32>
      affine.prefetch %A[%i, %j * 32 - 5], read, locality<3>, data : memref<8x64xf32>
      affine.prefetch %A[%i, %j + 16], read, locality<3>, data : memref<8x64xf32>
      affine.prefetch %A[%i, %j + 17], write, locality<3>, data : memref<8x64xf32>
      affine.prefetch %B[%i, %j + 18], write, locality<3>, data : memref<8x64xf32>
      affine.prefetch %B[%i, %j + 19], write, locality<3>, data : memref<8x64xf32>
    }
    affine.prefetch %B[%i, 20], write, locality<3>, data : memref<8x64xf32>
    affine.prefetch %B[%i + 1, 20], write, locality<3>, data : memref<8x64xf32>
    %a = affine.load %A[%i, 0] : memref<8x64xf32>
    affine.store %a, %B[%i, 1] : memref<8x64xf32>
    affine.prefetch %B[%i + 2, 20], write, locality<3>, data : memref<8x64xf32>
  }
  return
}"""


def test_neighbours_are_one_statement() -> None:
    """Same buffer, same use, a constant apart, one behind the other in one block."""
    program = gcg.compile(TEXT, target="cpu", threads=1)
    given, taken = np.ones((8, 64), "f4"), np.zeros((8, 64), "f4")
    program.f(given, taken)
    assert np.array_equal(taken[:, 1], given[:, 0])
    lines = program.source("f").splitlines()
    found = [line.split("#")[0].split() for line in lines if " prefetch" in line]
    calls = [" ".join(words) for words in found if words[1:2] != ["="]]
    assert [line.split("(")[0] for line in calls] == [
        "prefetch_read3",
        "prefetch_read3",
        "prefetch_write3",
        "prefetch_write3",
        "prefetch_write3",
        "prefetch_write3",
    ]
    ends = [line[line.rindex("(") :] for line in calls]
    assert ends == ["(0, 16, -5))", "(0,))", "(0,))", "(0, 1))", "(0, 64))", "(0,))"]
