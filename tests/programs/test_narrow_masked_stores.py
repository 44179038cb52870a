"""Masked stores of truncated integers touch the elements of their mask only.

LLVM 22 stored the one lane that a constant mask left at the width it had before.
"""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

TEXT = """
func.func @f(%a: memref<2xCOUNTxiWIDE>, %b: memref<2xCOUNTxiNARROW>) {
  affine.for %t = 0 to COUNT step STEP {
    affine.for %i = 0 to 2 {
      affine.for %j = affine_map<(d0) -> (d0)>(%t)
          to min affine_map<(d0) -> (d0 + STEP, COUNT)>(%t) {
        %x = affine.load %a[%i, %j] : memref<2xCOUNTxiWIDE>
        %y = affine.load %b[%i, %j] : memref<2xCOUNTxiNARROW>
        %z = arith.extsi %y : iNARROW to iWIDE
        %m = arith.maxsi %x, %z : iWIDE
        %r = arith.trunci %m : iWIDE to iNARROW
        affine.store %r, %b[%i, %j] : memref<2xCOUNTxiNARROW>
      }
    }
  }
  return
}
"""
WIDTHS = [(64, 32), (64, 16), (64, 8), (32, 16), (32, 8), (16, 8)]


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize(("wide", "narrow"), WIDTHS)
def test_neighbours_stay(wide: int, narrow: int) -> None:
    for count, step in ((5, 2), (7, 3), (5, 4)):
        words = {"WIDE": wide, "NARROW": narrow, "STEP": step, "COUNT": count}
        text = TEXT
        for word, number in words.items():
            text = text.replace(word, str(number))
        a = np.arange(2 * count, dtype=f"i{wide // 8}").reshape(2, count) * 9 - 40
        memory = np.full(2 * count + 16, 3, f"i{narrow // 8}")
        b = memory[8:-8].reshape(2, count)
        gcg.compile(text, target="cpu", threads=1).f(a, b)
        assert np.array_equal(b, np.maximum(a, 3).astype(b.dtype))
        assert set(memory[:8].tolist() + memory[-8:].tolist()) == {3}
