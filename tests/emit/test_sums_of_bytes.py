"""Sums of widened bytes times a constant, which LLVM may make dot products."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

TEXT = """
func.func @f(%a: memref<ROWSxNxTYPE>, %c: memref<ROWSxi32>) {
  %factor = arith.constant FACTOR : i32
  affine.for %i = 0 to ROWS {
    affine.for %j = 0 to N {
      %x = affine.load %a[%i, %j] : memref<ROWSxNxTYPE>
      %y = arith.WIDEN %x : TYPE to i32
      %z = arith.muli %y, %factor : i32
      %s = affine.load %c[%i] : memref<ROWSxi32>
      %t = arith.addi %s, %z : i32
      affine.store %t, %c[%i] : memref<ROWSxi32>
    }
  }
  return
}"""


@pytest.mark.parametrize("widen", ["extsi", "extui"])
def test_no_byte_is_left_out(widen: str) -> None:
    for n in (4, 8, 16, 24):
        for factor in (7, -3, 200):
            text = TEXT.replace("WIDEN", widen).replace("ROWS", "6")
            text = text.replace("N", str(n))
            text = text.replace("FACTOR", str(factor)).replace("TYPE", "i8")
            a = np.random.default_rng(n).integers(-128, 128, (6, n)).astype("i1")
            c = np.full(6, 7, "i4")
            wide = a if widen == "extsi" else a.view("u1")
            expected = c + factor * wide.astype("i4").sum(1)
            gcg.compile(text, target="cpu", threads=1).f(a, c)
            assert np.array_equal(c, expected), (n, factor)
