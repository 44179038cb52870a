"""``scf.parallel``: loops and reductions that become grids, vectors and products."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

PRODUCT = """
func.func @f(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %A, %c0 : memref<?x?xf32>
  %k = memref.dim %A, %c1 : memref<?x?xf32>
  %n = memref.dim %B, %c1 : memref<?x?xf32>
  scf.parallel (%i, %j) = (%c0, %c0) to (%m, %n) step (%c1, %c1) {
    scf.for %l = %c0 to %k step %c1 {
      %a = memref.load %A[%i, %l] : memref<?x?xf32>
      %b = memref.load %B[%l, %j] : memref<?x?xf32>
      %c = memref.load %C[%i, %j] : memref<?x?xf32>
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      memref.store %s, %C[%i, %j] : memref<?x?xf32>
    }
    scf.reduce
  }
  return
}"""
REDUCTIONS = """
func.func @f(%A: memref<?x?xf32>) -> (f32, f32, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e30 : f32
  %none = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = memref.dim %A, %c0 : memref<?x?xf32>
  %n = memref.dim %A, %c1 : memref<?x?xf32>
  %r:3 = scf.parallel (%i, %j) = (%c0, %c1) to (%m, %n) step (%c1, %c1)
      init (%zero, %low, %none) -> (f32, f32, i32) {
    %a = memref.load %A[%i, %j] : memref<?x?xf32>
    scf.reduce(%a, %a, %one : f32, f32, i32) {
    ^bb0(%p: f32, %q: f32):
      %t = arith.addf %p, %q : f32
      scf.reduce.return %t : f32
    }, {
    ^bb0(%p: f32, %q: f32):
      %t = arith.maximumf %p, %q : f32
      scf.reduce.return %t : f32
    }, {
    ^bb0(%p: i32, %q: i32):
      %t = arith.addi %p, %q : i32
      scf.reduce.return %t : i32
    }
  }
  return %r#0, %r#1, %r#2 : f32, f32, i32
}"""
WHILE = """
func.func @f(%a: memref<64xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %most = arith.constant 9 : i32
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    scf.while : () -> () {
      %v = memref.load %a[%i] : memref<64xi32>
      %p = arith.cmpi slt, %v, %most : i32
      scf.condition(%p)
    } do {
      %v = memref.load %a[%i] : memref<64xi32>
      %w = arith.addi %v, %v : i32
      memref.store %w, %a[%i] : memref<64xi32>
      scf.yield
    }
    scf.reduce
  }
  return
}"""


@pytest.mark.slow
@pytest.mark.cases("target", ["interp", "cpu", "sim"])
def test_a_product_is_one_kernel(target: str):
    rng = np.random.default_rng(0)
    a, b, c = (rng.random(s, np.float32) for s in ((33, 17), (17, 29), (33, 29)))
    expected = c + a.astype("f8") @ b
    f = gcg.compile(PRODUCT, target=target).f
    f(a, b, c)
    np.testing.assert_allclose(c, expected, rtol=1e-5)
    if target == "sim":
        (kernel,) = f.executable(target).kernels
        assert "async_copy" in kernel.source  # tiles in shared memory


@pytest.mark.cases("target", ["interp", "cpu", "sim"])
@pytest.mark.cases("shape", [(33, 57), (1, 1), (4, 0)])
@pytest.mark.sampled(3)
def test_reductions_come_in_any_order(target: str, shape: tuple[int, int]):
    a = np.random.default_rng(0).random(shape, np.float32)
    part = a[:, 1:].astype("f8")
    f = gcg.compile(REDUCTIONS, target=target).f
    total, most, count = f(a)
    np.testing.assert_allclose(total, part.sum(), rtol=1e-5)
    assert most == part.max(initial=np.float32(-1e30))
    assert count == part.size
    if target == "sim":
        assert len(f.executable(target).kernels) == 1


@pytest.mark.cases("target", ["interp", "cpu", "sim"])
@pytest.mark.sampled(3)
def test_other_loops_may_stand_inside(target: str):
    a = np.arange(1, 65, dtype=np.int32)
    expected = a.copy()
    while (expected < 9).any():
        expected = np.where(expected < 9, 2 * expected, expected)
    f = gcg.compile(WHILE, target=target).f
    f(a)
    np.testing.assert_array_equal(a, expected)
    if target == "sim":
        (launch,) = f.executable(target).kernels
        assert launch.name == "f_k0"
