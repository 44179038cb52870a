"""The smallest programs of differences that made programs once showed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg

SCAN = """func.func @f(%A: memref<2x4xi32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %v = vector.transfer_read %A[%c0, %c0], %z : memref<2x4xi32>, vector<2x4xi32>
  %s = arith.constant dense<[10, 20, 30, 40]> : vector<4xi32>
  %r, %t = vector.scan <add>, %v, %s {inclusive = true, reduction_dim = 0 : i64}
      : vector<2x4xi32>, vector<4xi32>
  vector.transfer_write %r, %A[%c0, %c0] : vector<2x4xi32>, memref<2x4xi32>
  return
}"""
TURNED_BACK = """func.func @f(%A: memref<2x4xi32>) {
  %v = memref.transpose %A (i, j) -> (j, i)
      : memref<2x4xi32> to memref<4x2xi32, strided<[1, 4]>>
  %w = memref.transpose %v (i, j) -> (j, i)
      : memref<4x2xi32, strided<[1, 4]>> to memref<2x4xi32>
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 4 {
      %x = affine.load %w[%i, %j] : memref<2x4xi32>
      %y = arith.addi %x, %x : i32
      affine.store %y, %w[%i, %j] : memref<2x4xi32>
    }
  }
  return
}"""
BETWEEN_KERNELS = """func.func @f(%A: memref<2x4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0 : i32
  %v = vector.transfer_read %A[%c0, %c0], %z
      {permutation_map = affine_map<(r, c) -> (c, r)>}
      : memref<2x4xi32>, vector<4x2xi32>
  %w = vector.transfer_read %A[%c0, %c1], %z
      {permutation_map = affine_map<(r, c) -> (r)>} : memref<2x4xi32>, vector<2xi32>
  %s = arith.constant dense<1> : vector<4xi32>
  %p = vector.contract {
    indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (k)>,
                     affine_map<(i, k) -> (i)>],
    iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>}
    %v, %w, %s : vector<4x2xi32>, vector<2xi32> into vector<4xi32>
  affine.for %i = 0 to 1 {
    vector.transfer_write %p, %A[%i, %c0] : vector<4xi32>, memref<2x4xi32>
    %x = vector.extract %v[2] : vector<2xi32> from vector<4x2xi32>
    vector.transfer_write %x, %A[%c0, %i]
        {permutation_map = affine_map<(r, c) -> (r)>} : vector<2xi32>, memref<2x4xi32>
  }
  return
}"""
SIZED_BY_A_LOOP = """func.func @f(%A: memref<2x4xi32>) {
  %c = arith.constant 3 : i32
  affine.for %i = 0 to 4 {
    %b = memref.alloc(%i) : memref<?xi32>
    affine.for %j = 0 to affine_map<(d) -> (d)>(%i) {
      affine.store %c, %b[%j] : memref<?xi32>
    }
    affine.for %j = 0 to affine_map<(d) -> (d)>(%i) {
      %x = affine.load %b[%j] : memref<?xi32>
      %y = affine.load %A[0, %i] : memref<2x4xi32>
      %z = arith.addi %x, %y : i32
      affine.store %z, %A[0, %i] : memref<2x4xi32>
    }
    memref.dealloc %b : memref<?xi32>
  }
  return
}"""
EXPANDED = """func.func @f(%A: memref<?x?xi32>, %n: index) {
  %l = memref.collapse_shape %A [[0, 1]] : memref<?x?xi32> into memref<?xi32>
  %e = memref.expand_shape %l [[0, 1]] output_shape [%n, 2]
      : memref<?xi32> into memref<?x2xi32>
  affine.for %i = 0 to %n {
    %x = affine.load %e[%i, 0] : memref<?x2xi32>
    affine.store %x, %e[%i, 1] : memref<?x2xi32>
  }
  return
}"""
CLAMPED = """func.func @f(%A: memref<2x4xi32>, %i: index) {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %a = arith.maxsi %i, %zero : index
  %b = arith.minsi %a, %two : index
  affine.for %j = 0 to 2 {
    %k = arith.addi %j, %b : index
    %x = memref.load %A[%zero, %k] : memref<2x4xi32>
    affine.store %x, %A[1, %j] : memref<2x4xi32>
  }
  return
}"""
HALVES = """func.func @f(%A: memref<2x4xi32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %v = vector.transfer_read %A[%c0, %c0], %z
      {permutation_map = affine_map<(r, c) -> (r)>} : memref<2x4xi32>, vector<2xi32>
  %x = arith.sitofp %v : vector<2xi32> to vector<2xf16>
  %p = vector.outerproduct %x, %x : vector<2xf16>, vector<2xf16>
  %y = arith.fptosi %p : vector<2x2xf16> to vector<2x2xi32>
  vector.transfer_write %y, %A[%c0, %c0] : vector<2x2xi32>, memref<2x4xi32>
  return
}"""
EVERYWHERE = ("cpu", "sim")
CASES = [
    pytest.param(SCAN, (), EVERYWHERE, id="inclusive-scan"),
    pytest.param(TURNED_BACK, (), EVERYWHERE, id="views-turned-back"),
    pytest.param(BETWEEN_KERNELS, (), EVERYWHERE, id="vectors-between-kernels"),
    pytest.param(SIZED_BY_A_LOOP, (), ("cpu",), id="sized-by-a-loop"),
    pytest.param(EXPANDED, (4,), EVERYWHERE, id="expanded-by-an-argument"),
    pytest.param(HALVES, (), EVERYWHERE, id="outer-product-of-halves"),
    pytest.param(CLAMPED, (-7,), EVERYWHERE, id="clamped-below"),
    pytest.param(CLAMPED, (9,), EVERYWHERE, id="clamped-above"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "more", "targets"), CASES)
def test_a_reduced_program(text: str, more: tuple[Any, ...], targets: tuple[str, ...]):
    for target in targets:
        array = np.arange(8, dtype="i4").reshape(2, 4) - 3
        gcg.check(gcg.compile(text, target=target), array, *more, target=target)


def test_an_inclusive_scan_begins_with_the_first_elements():
    array = np.arange(8, dtype="i4").reshape(2, 4)
    gcg.compile(SCAN, target="interp").f(array)
    np.testing.assert_array_equal(array, [[0, 1, 2, 3], [4, 6, 8, 10]])
