"""Tensors that bodies, branches and loops read elements and extents of."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

REVERSED = """
#id = affine_map<(i) -> (i)>
func.func @f(%a: tensor<?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %sum = linalg.add ins(%a, %a : tensor<?xf32>, tensor<?xf32>)
                    outs(%o : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic
      {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : tensor<?xf32>) outs(%sum : tensor<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    %n = tensor.dim %sum, %zero : tensor<?xf32>
    %last = arith.subi %n, %one : index
    %i = linalg.index 0 : index
    %back = arith.subi %last, %i : index
    %v = tensor.extract %sum[%back] : tensor<?xf32>
    %s = arith.addf %x, %v : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""
BRANCH = """
func.func @f(%p: i1, %a: tensor<8xf32>) -> f32 {
  %three = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.if %p -> (f32) {
    %c = tensor.cast %a : tensor<8xf32> to tensor<?xf32>
    %v = tensor.extract %c[%three] : tensor<?xf32>
    scf.yield %v : f32
  } else {
    scf.yield %zero : f32
  }
  return %r : f32
}
"""
LOOP = """
func.func @f(%a: tensor<8xf32>, %m: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 8 {
      %v = tensor.extract %a[%j] : tensor<8xf32>
      %old = affine.load %m[%i] : memref<8xf32>
      %new = arith.addf %old, %v : f32
      affine.store %new, %m[%i] : memref<8xf32>
    }
  }
  return
}
"""
UPDATE = """
func.func @f(%p: i1, %a: tensor<8xf32>) -> tensor<8xf32> {
  %r = scf.if %p -> (tensor<8xf32>) {
    scf.yield %a : tensor<8xf32>
  } else {
    scf.yield %a : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}
"""
TARGETS = pytest.mark.parametrize("target", ["cpu", "sim"])


@TARGETS
def test_a_body_reads_the_tensor_that_it_updates(target: str):
    a = np.arange(7, dtype=np.float32)
    result = gcg.compile(REVERSED, target=target).f(a, np.zeros(7, np.float32))
    np.testing.assert_array_equal(result, a + (2 * a)[::-1])


@TARGETS
def test_a_branch_reads(target: str):
    program = gcg.compile(BRANCH, target=target)
    a = np.arange(8, dtype=np.float32)
    assert (program.f(True, a), program.f(False, a)) == (3, 0)


@TARGETS
def test_a_loop_reads(target: str):
    a, m = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    gcg.compile(LOOP, target=target).f(a, m)
    np.testing.assert_array_equal(m, np.full(8, 1 + a.sum()))


def test_a_branch_yields_an_argument():
    a = np.arange(8, dtype=np.float32)
    result = gcg.compile(UPDATE, target="cpu").f(True, a)
    np.testing.assert_array_equal(result, a)
    assert result is not a
