"""Arithmetic on tensors runs element by element."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

TEXT = """
func @f(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = addf %a, %b : tensor<?x4xf32>
  %1 = mulf %0, %a : tensor<?x4xf32>
  %2 = math.sqrt %1 : tensor<?x4xf32>
  return %2 : tensor<?x4xf32>
}
func @g(%a: tensor<5xi32>, %b: tensor<5xi32>, %c: i1) -> (tensor<5xi1>, tensor<5xi32>) {
  %0 = cmpi "slt", %a, %b : tensor<5xi32>
  %1 = select %0, %a, %b : tensor<5xi1>, tensor<5xi32>
  %2 = arith.select %c, %1, %a : tensor<5xi32>
  return %0, %2 : tensor<5xi1>, tensor<5xi32>
}
"""


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_floats_and_dynamic_extents(target: str):
    a = np.linspace(1, 2, 12, dtype=np.float32).reshape(3, 4)
    b = a[::-1].copy()
    found = gcg.compile(TEXT, target=target).f(a, b)
    np.testing.assert_allclose(found, np.sqrt((a + b) * a), rtol=1e-6)


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_comparison_and_selection(target: str):
    a, b = np.array([1, 5, 3, -2, 0], "i4"), np.array([2, 4, 3, -1, -1], "i4")
    less, least = gcg.compile(TEXT, target=target).g(a, b, True)
    assert less.tolist() == (a < b).tolist()
    assert least.tolist() == np.minimum(a, b).tolist()
