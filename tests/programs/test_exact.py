"""``exact=True``: every product and every sum is rounded, in the order of the text."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.intrinsics.framework.features import has_fused_operations
from tests.targets import ALL

MATMUL = """func.func @f(%A: memref<17x33xf32>, %B: memref<33x20xf32>,
                       %C: memref<17x20xf32>) {
  affine.for %i = 0 to 17 {
    affine.for %j = 0 to 20 {
      affine.for %k = 0 to 33 {
        %a = affine.load %A[%i, %k] : memref<17x33xf32>
        %b = affine.load %B[%k, %j] : memref<33x20xf32>
        %c = affine.load %C[%i, %j] : memref<17x20xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<17x20xf32>
      }
    }
  }
  return
}"""


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.sampled(6)
def test_products_are_rounded(target: str, exact: bool):
    rng = np.random.default_rng(0)
    a, b = rng.random((17, 33), dtype="f4"), rng.random((33, 20), dtype="f4")
    expected = np.zeros((17, 20), "f4")
    for k in range(33):
        expected += np.outer(a[:, k], b[k])
    c = np.zeros((17, 20), "f4")
    gcg.compile(MATMUL, target=target, exact=exact).f(a, b, c)
    np.testing.assert_allclose(c, expected, rtol=1e-5)
    if exact:
        assert np.array_equal(c, expected)


@pytest.mark.parametrize(("lanes", "order"), [(3, [False, True]), (5, [True, False])])
def test_functions_do_not_depend_on_what_was_compiled_before(
    lanes: int, order: list[bool]
):
    """Numbers of lanes that no other test has: nothing knows these functions yet."""
    n = lanes * 1000
    text = f"""func.func @f(%x: memref<{n}xf64>) {{
      affine.for %i = 0 to {n} step {lanes} {{
        %v = affine.vector_load %x[%i] : memref<{n}xf64>, vector<{lanes}xf64>
        %e = math.exp %v : vector<{lanes}xf64>
        affine.vector_store %e, %x[%i] : memref<{n}xf64>, vector<{lanes}xf64>
      }}
      return
    }}"""
    x = np.linspace(-3, 3, n)
    expected = [math.exp(value) for value in x]
    for exact in order:
        gcg.compile(text, target="cpu", exact=exact).f(y := x.copy())
        is_library = not has_fused_operations() or exact
        assert (y.tolist() == expected) is is_library
        np.testing.assert_allclose(y, expected, rtol=1e-15)
