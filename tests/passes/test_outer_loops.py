"""Loops that pass values on along rows: a row in each lane, every bit as in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from recurrence_programs import Recurrences, recurrences, same_bits
from vector_runs import CACHES, WIDTHS, kernel, run, vectorized

import gpucodegen as gcg

RNG = np.random.default_rng(23)


def check(program: Recurrences, module: gcg.Module, target: str) -> None:
    values = program.values(RNG)
    want = {name: array.copy() for name, array in values.items()}
    program.run(want)
    run(module, target, *values.values(), program.rows, program.columns)
    for name, array in values.items():
        assert same_bits(array, want[name]), name


@pytest.mark.slow
@settings(max_examples=12, deadline=None, phases=[Phase.generate])
@given(recurrences(), WIDTHS, CACHES)
def test_on_the_emulated_device(program: Recurrences, bits: int, cache: int):
    text = kernel(program.arguments, program.kernel, "sim")
    check(program, vectorized(text, bits, cache), "sim")


@pytest.mark.sampled(4)
@settings(max_examples=4, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(recurrences(), WIDTHS, CACHES)
def test_on_the_processor(program: Recurrences, bits: int, cache: int):
    text = kernel(program.arguments, program.kernel, "cpu")
    check(program, vectorized(text, bits, cache), "cpu")


VECTOR_BY_MATRIX = """
  affine.for %i = 0 to {rows} {{
    %y0 = affine.load %y[%i] : memref<{rows}xf64>
    %s = affine.for %k = 0 to {depth} iter_args(%t = %y0) -> (f64) {{
      %a = affine.load %A[%k, %i] : memref<{depth}x{rows}xf64>
      %b = affine.load %x[%k] : memref<{depth}xf64>
      %m = arith.mulf %a, %b : f64
      %n = arith.addf %t, %m : f64
      affine.yield %n : f64
    }}
    affine.store %s, %y[%i] : memref<{rows}xf64>
  }}
"""


@pytest.mark.parametrize(("rows", "side"), [(16, 4), (24, 3), (37, 3), (128, 4)])
def test_chains_side_by_side_add_in_order(rows: int, side: int):
    """Registers of sums hide each other's latency."""
    depth = 19
    shapes = {"x": f"{depth}", "A": f"{depth}x{rows}", "y": f"{rows}"}
    arguments = ", ".join(f"%{name}: memref<{n}xf64>" for name, n in shapes.items())
    body = VECTOR_BY_MATRIX.format(depth=depth, rows=rows)
    module = vectorized(kernel(arguments, body, "cpu"))
    assert f"vector<{4 * side}xf64>" in str(module)
    x, a, y = (
        # products are exact, sums are not
        RNG.integers(-99, 99, shape) * 2.0 ** RNG.integers(0, 40, shape)
        for shape in (depth, (depth, rows), rows)
    )
    expected = y.copy()
    for k in range(depth):
        expected += x[k] * a[k]
    run(module, "cpu", x, a, y)
    np.testing.assert_array_equal(y, expected)
