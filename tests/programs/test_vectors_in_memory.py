"""Vectors of any shape, with masks, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from tests.targets import ALL

ARRANGED = """
func.func @f(%v: vector<2x3x4xf32>, %e: vector<5xf32>, %i: index) -> (
    vector<4x2x3xf32>, vector<4x6xf32>, vector<3x4xf32>, vector<2x3x4xf32>,
    vector<10xf32>, vector<2xf32>, vector<7xf32>, vector<3xf32>, vector<2x5xf32>) {
  %t = vector.transpose %v, [2, 0, 1] : vector<2x3x4xf32> to vector<4x2x3xf32>
  %c = vector.shape_cast %v : vector<2x3x4xf32> to vector<4x6xf32>
  %x = vector.extract %v[%i] : vector<3x4xf32> from vector<2x3x4xf32>
  %n = arith.negf %x : vector<3x4xf32>
  %s = vector.insert %n, %v [0] : vector<3x4xf32> into vector<2x3x4xf32>
  %l = vector.interleave %e, %e : vector<5xf32> -> vector<10xf32>
  %z = arith.constant dense<[1.0, 2.0]> : vector<2xf32>
  %r = vector.multi_reduction <add>, %v, %z [1, 2]
      : vector<2x3x4xf32> to vector<2xf32>
  %h = vector.shuffle %e, %e [0, 9, 2, 3, 8, 8, 1] : vector<5xf32>, vector<5xf32>
  %p = vector.extract_strided_slice %e {offsets = [1], sizes = [3], strides = [1]}
      : vector<5xf32> to vector<3xf32>
  %b = vector.broadcast %e : vector<5xf32> to vector<2x5xf32>
  return %t, %c, %n, %s, %l, %r, %h, %p, %b : vector<4x2x3xf32>, vector<4x6xf32>,
    vector<3x4xf32>, vector<2x3x4xf32>, vector<10xf32>, vector<2xf32>, vector<7xf32>,
    vector<3xf32>, vector<2x5xf32>
}"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.parametrize("target", ALL)
def test_elements_in_other_places(target: str):
    f = gcg.compile(ARRANGED, target=target).f
    rng = np.random.default_rng(0)
    v = rng.integers(-9, 9, (2, 3, 4)).astype(np.float32)
    e = rng.integers(-9, 9, 5).astype(np.float32)
    for i in (0, 1):
        inserted = v.copy()
        inserted[0] = -v[i]
        expected = (
            v.transpose(2, 0, 1),
            v.reshape(4, 6),
            -v[i],
            inserted,
            np.repeat(e, 2),
            v.sum((1, 2)) + np.array([1, 2]),
            np.concatenate([e, e])[[0, 9, 2, 3, 8, 8, 1]],
            e[1:4],
            np.broadcast_to(e, (2, 5)),
        )
        for got, wanted in zip(f(v, e, i), expected, strict=True):
            assert got.tolist() == wanted.tolist()


MASKED = """
func.func @f(%A: memref<6x7xf32>, %B: memref<6x7xf32>, %m: index, %n: index)
    -> (vector<4x5xf32>, vector<5xf32>, f32, vector<5x4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %pad = arith.constant -1.0 : f32
  %mask = vector.create_mask %m, %n : vector<4x5xi1>
  %all = vector.constant_mask [2, 5] : vector<4x5xi1>
  %v = vector.transfer_read %A[%c4, %c0], %pad, %mask {in_bounds = [false, true]}
      : memref<6x7xf32>, vector<4x5xf32>
  vector.transfer_write %v, %B[%c0, %c0], %all {in_bounds = [true, true]}
      : vector<4x5xf32>, memref<6x7xf32>
  %w = vector.mask %mask {
    vector.transfer_read %A[%c0, %c0], %pad {in_bounds = [true, true]}
      : memref<6x7xf32>, vector<4x5xf32> } : vector<4x5xi1> -> vector<4x5xf32>
  %row = vector.mask %mask { vector.multi_reduction <maximumf>, %w, %z [0]
      : vector<4x5xf32> to vector<5xf32> } : vector<4x5xi1> -> vector<5xf32>
  %few = vector.create_mask %n : vector<5xi1>
  %sum = vector.mask %few { vector.reduction <add>, %row
      : vector<5xf32> into f32 } : vector<5xi1> -> f32
  %turned = vector.transfer_read %A[%c0, %c0], %pad
      {in_bounds = [true, true], permutation_map = affine_map<(i, j) -> (j, i)>}
      : memref<6x7xf32>, vector<5x4xf32>
  return %v, %row, %sum, %turned
      : vector<4x5xf32>, vector<5xf32>, f32, vector<5x4xf32>
}""".replace(
    "  %mask =", "  %z = arith.constant dense<-9.0> : vector<5xf32>\n  %mask =", 1
)


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL)
def test_masks_of_transfers_and_reductions(target: str):
    f = gcg.compile(MASKED, target=target).f
    a = np.arange(42, dtype=np.float32).reshape(6, 7)
    for m, n in ((1, 3), (4, 5), (0, 2)):
        b = np.zeros_like(a)
        chosen = (np.arange(4)[:, None] < m) & (np.arange(5) < n)
        read = np.full((4, 5), -1, np.float32)
        read[:2] = np.where(chosen[:2], a[4:6, :5], -1)
        top = np.where(chosen, a[:4, :5], -9).max(0)
        v, row, total, turned = f(a, b, m, n)
        assert v.tolist() == read.tolist()
        assert row.tolist() == top.tolist()
        assert total == top[:n].sum()
        assert turned.tolist() == a[:4, :5].T.tolist()
        expected = np.zeros_like(a)
        expected[:2, :5] = read[:2]
        assert b.tolist() == expected.tolist()


INDEXED = """
func.func @f(%A: memref<8xf32>, %B: memref<8xf32>, %at: vector<5xi32>,
    %on: vector<5xi1>, %e: vector<5xf32>)
    -> (vector<5xf32>, vector<5xf32>, vector<5xf32>, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = vector.gather %A[%c1][%at], %on, %e
      : memref<8xf32>, vector<5xi32>, vector<5xi1>, vector<5xf32> into vector<5xf32>
  vector.scatter %B[%c0][%at], %on, %e
      : memref<8xf32>, vector<5xi32>, vector<5xi1>, vector<5xf32>
  %x = vector.expandload %A[%c1], %on, %e
      : memref<8xf32>, vector<5xi1>, vector<5xf32> into vector<5xf32>
  vector.compressstore %A[%c0], %on, %e
      : memref<8xf32>, vector<5xi1>, vector<5xf32>
  %i = arith.constant dense<1.0> : vector<f32>
  %one = vector.extract %i[] : f32 from vector<f32>
  %s:2 = vector.scan <mul>, %x2, %i1 {inclusive = false, reduction_dim = 0 : i64}
      : vector<5x1xf32>, vector<1xf32>
  %y = vector.shape_cast %s#0 : vector<5x1xf32> to vector<5xf32>
  return %g, %x, %y, %one : vector<5xf32>, vector<5xf32>, vector<5xf32>, f32
}""".replace(
    "  %s:2",
    """  %x2 = vector.shape_cast %e : vector<5xf32> to vector<5x1xf32>
  %i1 = vector.broadcast %one : f32 to vector<1xf32>
  %s:2""",
)


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL)
def test_gathered_scattered_and_compressed(target: str):
    f = gcg.compile(INDEXED, target=target).f
    a, b = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    at = np.array([3, 0, 6, 2, 0], np.int32)
    on = np.array([True, False, True, True, True])
    e = np.array([2, 3, 4, 5, 6], np.float32)
    before = a.copy()
    g, x, y, one = f(a, b, at, on, e)
    assert g.tolist() == np.where(on, before[1 + at], e).tolist()
    assert x.tolist() == [1, 3, 2, 3, 4]
    assert y.tolist() == [1, 2, 6, 24, 120]
    assert one == 1
    assert a.tolist() == [2, 4, 5, 6, 4, 5, 6, 7]
    scattered = np.zeros(8)
    scattered[at[on]] = e[on]
    assert b.tolist() == scattered.tolist()


BLOCKS = """
func.func @power(%v: vector<3xf32>, %n: i32) -> vector<3xf32> {
  %one = arith.constant dense<1.0> : vector<3xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.br ^head(%one, %v, %n : vector<3xf32>, vector<3xf32>, i32)
^head(%x: vector<3xf32>, %y: vector<3xf32>, %left: i32):
  %more = arith.cmpi sgt, %left, %c0 : i32
  %less = arith.subi %left, %c1 : i32
  %z = arith.mulf %x, %y : vector<3xf32>
  cf.cond_br %more, ^head(%y, %z, %less : vector<3xf32>, vector<3xf32>, i32), ^end
^end:
  return %x : vector<3xf32>
}
func.func @f(%v: vector<3xf32>, %n: i32) -> vector<3xf32> {
  %r = call @power(%v, %n) : (vector<3xf32>, i32) -> vector<3xf32>
  %s = arith.addf %r, %v : vector<3xf32>
  return %s : vector<3xf32>
}"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL)
def test_branches_and_calls_carry_vectors(target: str):
    f = gcg.compile(BLOCKS, target=target).f
    v = np.array([1, 2, 3], np.float32)
    for n in (0, 1, 4):
        x, y = np.ones(3, np.float32), v
        for _ in range(n):
            x, y = y, x * y
        assert f(v, n).tolist() == (x + v).tolist()


PASSED = """
func.func @f(%A: memref<6xf32>, %n: index) -> vector<6xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant -1.0 : f32
  %other = arith.constant dense<[9.0, 8.0, 7.0, 6.0, 5.0, 4.0]> : vector<6xf32>
  %mask = vector.create_mask %n : vector<6xi1>
  %v = vector.mask %mask, %other {
    vector.transfer_read %A[%c0], %pad {in_bounds = [true]}
      : memref<6xf32>, vector<6xf32> } : vector<6xi1> -> vector<6xf32>
  return %v : vector<6xf32>
}"""


@pytest.mark.parametrize("target", ALL)
def test_masked_lanes_that_another_vector_gives(target: str):
    f = gcg.compile(PASSED, target=target).f
    a, other = np.arange(6, dtype=np.float32), np.arange(9, 3, -1)
    for n in (0, 4, 6):
        want = np.where(np.arange(6) < n, a, other)
        assert f(a, n).tolist() == want.tolist()
