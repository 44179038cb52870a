"""Kernels over reversed operands, and over slices whose starts are clamped."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

PRODUCT = """
func.func @f(%a: tensor<6x5xf32>, %b: tensor<5x4xf32>) -> tensor<6x4xf32> {
  %r = stablehlo.reverse %a, dims = [0, 1] : tensor<6x5xf32>
  %p = stablehlo.dot_general %r, %b, contracting_dims = [1] x [0]
    : (tensor<6x5xf32>, tensor<5x4xf32>) -> tensor<6x4xf32>
  return %p : tensor<6x4xf32>
}
"""
SLICE = """
func.func @f(%a: tensor<3x8xf32>, %i: tensor<i32>, %j: tensor<i32>)
    -> tensor<ROWSx5x5xf32> {
  %r = stablehlo.reverse %a, dims = [0] : tensor<3x8xf32>
  %s = stablehlo.dynamic_slice %r, %i, %j, sizes = [ROWS, 5]
    : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<ROWSx5xf32>
  %w = stablehlo.broadcast_in_dim %s, dims = [0, 2]
    : (tensor<ROWSx5xf32>) -> tensor<ROWSx5x5xf32>
  return %w : tensor<ROWSx5x5xf32>
}
"""


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_a_reversed_factor(target: str) -> None:
    a = np.arange(30, dtype="f4").reshape(6, 5)
    b = np.arange(20, dtype="f4").reshape(5, 4)
    found = gcg.compile(PRODUCT, target=target).f(a, b)
    np.testing.assert_array_equal(found, a[::-1, ::-1] @ b)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("rows", [2, 3])
def test_a_slice_of_what_a_kernel_made(target: str, rows: int) -> None:
    a = np.arange(24, dtype="f4").reshape(3, 8)
    program = gcg.compile(SLICE.replace("ROWS", str(rows)), target=target)
    for i, j in ((-1, 8), (1, 2), (7, -3)):
        found = program.f(a, np.array(i, "i4"), np.array(j, "i4"))
        row, column = min(max(i, 0), 3 - rows), min(max(j, 0), 3)
        part = a[::-1][row : row + rows, column : column + 5]
        expected = np.broadcast_to(part[:, None], (rows, 5, 5))
        np.testing.assert_array_equal(found, expected)
