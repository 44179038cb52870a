"""Rows on vectors whose bounds are loop variables: some end before they begin."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

STEPS, ROWS, COLUMNS = 9, 24, 40
ROW = f"memref<{ROWS}x{COLUMNS}xi32>"
RESULT = f"memref<{ROWS}xi32>"
PROGRAM = f"""
func.func @f(%x: {ROW}, %r: {RESULT}) {{
  affine.for %o = 0 to {STEPS} {{
    affine.for %i = 0 to {ROWS} {{
      %before = affine.load %r[%i] : {RESULT}
      %t = affine.for %j = LOWER to UPPER iter_args(%c = %before) -> (i32) {{
        %a = affine.load %x[%i, %j] : {ROW}
        STEP
        affine.yield %n : i32
      }}
      affine.store %t, %r[%i] : {RESULT}
    }}
  }}
  return
}}
"""
BOUNDS = {
    "shrinking": ("affine_map<(d0) -> (d0 * 5)>(%o)", "23", lambda o: (5 * o, 23)),
    "growing": ("7", "affine_map<(d0) -> (d0 * 4)>(%o)", lambda o: (7, 4 * o)),
}
SUM = "%n = arith.addi %c, %a : i32"
CHAIN = "%m = arith.muli %c, %c : i32  %n = arith.subi %m, %a : i32"


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("step", [SUM, CHAIN])
@pytest.mark.sampled(6)
def test_an_empty_row_keeps_what_was_carried(step: str, bounds: str):
    lower, upper, columns = BOUNDS[bounds]
    text = PROGRAM.replace("LOWER", lower).replace("UPPER", upper)
    program = gcg.compile(text.replace("STEP", step), target="cpu", threads=1)
    x = np.random.default_rng(0).integers(-9, 9, (ROWS, COLUMNS), dtype=np.int32)
    result, want = np.ones(ROWS, np.int32), np.ones(ROWS, np.int32)
    program.f(x, result)
    assert "vload" in program.source("f")
    for o in range(STEPS):
        for j in range(*columns(o)):
            want = want + x[:, j] if step == SUM else want * want - x[:, j]
    np.testing.assert_array_equal(result, want)
