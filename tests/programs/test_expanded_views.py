"""Views that split or join dimensions: indices are checked in their own dimension."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors

HEADS = """
func.func @main(%x: tensor<2x32x128xf32>) -> tensor<2x4x32x32xf32> {
  %0 = stablehlo.slice %x [0:2, 0:32, 0:64]
    : (tensor<2x32x128xf32>) -> tensor<2x32x64xf32>
  %1 = stablehlo.slice %x [0:2, 0:32, 64:128]
    : (tensor<2x32x128xf32>) -> tensor<2x32x64xf32>
  %2 = stablehlo.reshape %0 : (tensor<2x32x64xf32>) -> tensor<2x32x4x16xf32>
  %3 = stablehlo.transpose %2, dims = [0, 2, 1, 3]
    : (tensor<2x32x4x16xf32>) -> tensor<2x4x32x16xf32>
  %4 = stablehlo.reshape %1 : (tensor<2x32x64xf32>) -> tensor<2x32x4x16xf32>
  %5 = stablehlo.transpose %4, dims = [0, 2, 3, 1]
    : (tensor<2x32x4x16xf32>) -> tensor<2x4x16x32xf32>
  %6 = stablehlo.dot_general %3, %5, batching_dims = [0, 1] x [0, 1],
    contracting_dims = [3] x [2]
    : (tensor<2x4x32x16xf32>, tensor<2x4x16x32xf32>) -> tensor<2x4x32x32xf32>
  return %6 : tensor<2x4x32x32xf32>
}
"""


@pytest.mark.slow
@pytest.mark.cases("target", ["cpu", "sim"])
def test_products_over_heads_need_no_checks(target: str):
    x = np.random.default_rng(1).standard_normal((2, 32, 128), dtype=np.float32)
    main = gcg.compile(HEADS, target=target).main
    q, k = (part.reshape(2, 32, 4, 16) for part in np.split(x.astype("f8"), 2, -1))
    expected = np.einsum("bqhd,bkhd->bhqk", q, k)
    np.testing.assert_allclose(main(x), expected, rtol=1e-4, atol=1e-4)
    kernels = main.executable().kernels
    assert kernels
    assert not any("status" in kernel.source for kernel in kernels)


ROWS = """
func.func @f(%A: memref<8xi32>, %B: memref<4xi32>, %n: index) {
  %e = memref.expand_shape %A [[0, 1]] output_shape [4, 2]
    : memref<8xi32> into memref<4x2xi32>
  affine.for %i = 0 to 3 {
    %x = affine.load %e[%i, INDEX] : memref<4x2xi32>
    affine.store %x, %B[%i] : memref<4xi32>
  }
  return
}
"""


@pytest.mark.cases("index", ["3", "%n"])
@pytest.mark.cases("target", ["interp", "cpu"])
def test_an_index_beyond_its_dimension_is_an_error(index: str, target: str):
    """Element 3 of row 0 is in the buffer, but is none of the row."""
    program = gcg.compile(ROWS.replace("INDEX", index), target=target)
    given, result = np.arange(8, dtype=np.int32), np.zeros(4, np.int32)
    with pytest.raises((errors.AccessOutOfBounds, errors.IndexOutOfBounds)):
        program.f(given, result, 3)


def test_an_index_that_an_argument_gives_is_checked_in_the_kernel():
    program = gcg.compile(ROWS.replace("INDEX", "%n"), target="cpu")
    given, result = np.arange(8, dtype=np.int32), np.zeros(4, np.int32)
    program.f(given, result, 1)
    np.testing.assert_array_equal(result, [1, 3, 5, 0])


JOINED = """
func.func @f(%A: memref<4x2xi32>, %B: memref<8xi32>, %C: memref<4xi32>, %n: index) {
  %c = memref.collapse_shape %A [[0, 1]] : memref<4x2xi32> into memref<8xi32>
  affine.for %i = 0 to 8 {
    %x = affine.load %c[%i] : memref<8xi32>
    affine.store %x, %B[%i] : memref<8xi32>
  }
  affine.for %i = 0 to 3 {
    %x = affine.load %A[%i, INDEX] : memref<4x2xi32>
    affine.store %x, %C[%i] : memref<4xi32>
  }
  return
}
"""


@pytest.mark.slow
@pytest.mark.cases("index", ["3", "%n"])
@pytest.mark.cases("target", ["interp", "cpu", "sim"])
def test_a_buffer_that_is_collapsed_elsewhere_keeps_its_dimensions(
    index: str, target: str
):
    given = np.arange(8, dtype=np.int32).reshape(4, 2)
    whole, column = np.zeros(8, np.int32), np.zeros(4, np.int32)
    outside = (errors.OutOfBounds, errors.AccessOutOfBounds, errors.IndexOutOfBounds)
    with pytest.raises(outside):
        gcg.compile(JOINED.replace("INDEX", index), target=target).f(
            given, whole, column, 3
        )
    gcg.compile(JOINED.replace("INDEX", "1"), target=target).f(given, whole, column, 0)
    np.testing.assert_array_equal(whole, np.arange(8))
    np.testing.assert_array_equal(column, [1, 3, 5, 0])


IN_PLACE = """
func.func @f(%A: memref<6x8xf32>) {
  %two = arith.constant 2 : index
  %column = memref.subview %A[%two, 0] [4, 1] [1, 1]
    : memref<6x8xf32> to memref<4xf32, strided<[8], offset: ?>>
  %e = memref.expand_shape %column [[0, 1]] output_shape [2, 2]
    : memref<4xf32, strided<[8], offset: ?>>
    into memref<2x2xf32, strided<[16, 8], offset: ?>>
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 2 {
      %x = affine.load %e[%i, %j] : memref<2x2xf32, strided<[16, 8], offset: ?>>
      %y = arith.addf %x, %x : f32
      affine.store %y, %e[%i, %j] : memref<2x2xf32, strided<[16, 8], offset: ?>>
    }
  }
  return
}
"""


@pytest.mark.cases("target", ["interp", "cpu", "sim"])
def test_the_guard_of_a_grid_bounds_the_indices_of_a_view(target: str):
    """Threads beyond the extents access nothing, so no two threads share an element."""
    matrix = np.arange(48, dtype=np.float32).reshape(6, 8)
    expected = matrix.copy()
    expected[2:, 0] *= 2
    gcg.compile(IN_PLACE, target=target).f(matrix)
    np.testing.assert_array_equal(matrix, expected)
