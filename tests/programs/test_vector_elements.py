"""Buffers whose elements are vectors, as arguments, results and local memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.targets import ALL

Array = np.ndarray[Any, Any]
TARGETS = pytest.mark.parametrize("target", ALL)

PROGRAM = """
func.func @axpy(%x: memref<?xvector<8xf32>>, %y: memref<?xvector<8xf32>>, %a: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xvector<8xf32>>
  %s = vector.broadcast %a : f32 to vector<8xf32>
  affine.for %i = 0 to %n {
    %0 = affine.load %x[%i] : memref<?xvector<8xf32>>
    %1 = affine.load %y[%i] : memref<?xvector<8xf32>>
    %2 = arith.mulf %s, %0 : vector<8xf32>
    %3 = arith.addf %1, %2 : vector<8xf32>
    affine.store %3, %y[%i] : memref<?xvector<8xf32>>
  }
  return
}
func.func @total(%x: memref<6x4xvector<2x3xi32>>, %out: memref<1xvector<2x3xi32>>) {
  %zero = arith.constant dense<0> : vector<2x3xi32>
  affine.for %k = 0 to 1 {
    %t = affine.for %i = 0 to 6 iter_args(%u = %zero) -> vector<2x3xi32> {
      %r = affine.for %j = 0 to 4 iter_args(%v = %u) -> vector<2x3xi32> {
        %0 = affine.load %x[%i, %j] : memref<6x4xvector<2x3xi32>>
        %1 = arith.addi %v, %0 : vector<2x3xi32>
        affine.yield %1 : vector<2x3xi32>
      }
      affine.yield %r : vector<2x3xi32>
    }
    affine.store %t, %out[%k] : memref<1xvector<2x3xi32>>
  }
  return
}
func.func @tensors(%x: tensor<5xvector<4xf64>>) -> tensor<5xvector<4xf64>> {
  %e = tensor.empty() : tensor<5xvector<4xf64>>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
    ins(%x : tensor<5xvector<4xf64>>) outs(%e : tensor<5xvector<4xf64>>) {
  ^bb0(%a: vector<4xf64>, %b: vector<4xf64>):
    %1 = arith.addf %a, %a : vector<4xf64>
    linalg.yield %1 : vector<4xf64>
  } -> tensor<5xvector<4xf64>>
  return %0 : tensor<5xvector<4xf64>>
}
func.func @views(%x: memref<6x4xvector<2xf32>>, %y: memref<4x2xvector<2xf32>>) {
  %v = memref.subview %x[1, 0] [2, 4] [2, 1] : memref<6x4xvector<2xf32>>
    to memref<2x4xvector<2xf32>, strided<[8, 1], offset: 4>>
  %t = memref.transpose %v (i, j) -> (j, i)
    : memref<2x4xvector<2xf32>, strided<[8, 1], offset: 4>>
    to memref<4x2xvector<2xf32>, strided<[1, 8], offset: 4>>
  %m = memref.alloc() : memref<4x2xvector<2xf32>>
  memref.copy %t, %m : memref<4x2xvector<2xf32>, strided<[1, 8], offset: 4>>
    to memref<4x2xvector<2xf32>>
  %c = memref.collapse_shape %m [[0, 1]] : memref<4x2xvector<2xf32>>
    into memref<8xvector<2xf32>>
  %d = memref.collapse_shape %y [[0, 1]] : memref<4x2xvector<2xf32>>
    into memref<8xvector<2xf32>>
  affine.for %i = 0 to 8 {
    %0 = affine.load %c[%i] : memref<8xvector<2xf32>>
    affine.store %0, %d[-%i + 7] : memref<8xvector<2xf32>>
  }
  memref.dealloc %m : memref<4x2xvector<2xf32>>
  return
}
func.func @strided(%x: memref<?xvector<2xf32>, strided<[?]>>,
                   %y: memref<?xvector<2xf32>>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xvector<2xf32>>
  affine.for %i = 0 to %n {
    %0 = affine.load %x[%i] : memref<?xvector<2xf32>, strided<[?]>>
    affine.store %0, %y[%i] : memref<?xvector<2xf32>>
  }
  return
}
func.func @searched(%x: memref<8xvector<4xf32>>, %at: memref<8xindex>,
                    %y: memref<8xvector<4xf32>>) -> memref<8xvector<4xf32>> {
  affine.for %i = 0 to 8 {
    %k = affine.load %at[%i] : memref<8xindex>
    %0 = memref.load %x[%k] : memref<8xvector<4xf32>>
    affine.store %0, %y[%i] : memref<8xvector<4xf32>>
  }
  return %y : memref<8xvector<4xf32>>
}
func.func @straight(%x: memref<9xvector<4xf32>>, %y: memref<9xvector<4xf32>>,
                    %a: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %s = vector.broadcast %a : f32 to vector<4xf32>
  %0 = memref.load %x[%c0] : memref<9xvector<4xf32>>
  %1 = arith.mulf %0, %s : vector<4xf32>
  %2 = memref.load %x[%c3] : memref<9xvector<4xf32>>
  %3 = arith.addf %1, %2 : vector<4xf32>
  memref.store %3, %y[%c0] : memref<9xvector<4xf32>>
  %4 = vector.reduction <add>, %3 : vector<4xf32> into f32
  %5 = arith.addf %4, %one : f32
  affine.for %i = 1 to 9 {
    %6 = affine.load %x[%i] : memref<9xvector<4xf32>>
    %7 = arith.addf %6, %s : vector<4xf32>
    affine.store %7, %y[%i] : memref<9xvector<4xf32>>
  }
  return %5 : f32
}
func.func @rank(%x: memref<6x4xvector<2x3xi32>>) -> index {
  %r = memref.rank %x : memref<6x4xvector<2x3xi32>>
  return %r : index
}
"""


def numbers(*shape: int, dtype: str = "f4") -> Array:
    return (np.arange(np.prod(shape)) * 7 % 23 - 9).astype(dtype).reshape(shape)


def run(target: str) -> gcg.Program:
    return gcg.compile(PROGRAM, target=target)


@TARGETS
def test_loads_and_stores_are_of_whole_vectors(target: str):
    x, y = numbers(9, 8), numbers(9, 8)[::-1].copy()
    wanted = y + 2.5 * x
    run(target).axpy(x, y, 2.5)
    assert y.tolist() == wanted.tolist()


@pytest.mark.slow
@TARGETS
def test_vectors_of_rows(target: str):
    x, out = numbers(6, 4, 2, 3, dtype="i4"), np.zeros((1, 2, 3), "i4")
    run(target).total(x, out)
    assert out[0].tolist() == x.sum((0, 1)).tolist()
    assert run(target).rank(x) == 2


@TARGETS
def test_tensors_of_vectors(target: str):
    x = numbers(5, 4, dtype="f8")
    assert run(target).tensors(x).tolist() == (2 * x).tolist()


@TARGETS
def test_views_keep_vectors_whole(target: str):
    x, y = numbers(6, 4, 2), np.zeros((4, 2, 2), "f4")
    run(target).views(x, y)
    moved = x[1:5:2].transpose(1, 0, 2).reshape(8, 2)
    assert y.reshape(8, 2).tolist() == moved[::-1].tolist()


@TARGETS
def test_strides_count_vectors(target: str):
    x, y = numbers(9, 2), np.zeros((3, 2), "f4")
    run(target).strided(x[::3], y)
    assert y.tolist() == x[::3].tolist()
    with pytest.raises(errors.WrongStride) as caught:
        run(target).strided(numbers(3, 3)[:, :2], y)
    assert "argument x must have strides that are multiples of 2" in str(caught.value)


@TARGETS
def test_vectors_outside_of_loops(target: str):
    x, y = numbers(9, 4), np.zeros((9, 4), "f4")
    assert run(target).straight(x, y, 2.0) == (2 * x[0] + x[3]).sum() + 1
    assert y[0].tolist() == (2 * x[0] + x[3]).tolist()
    assert y[1:].tolist() == (x[1:] + 2).tolist()


@TARGETS
def test_places_read_from_memory_and_results(target: str):
    x, y = numbers(8, 4), np.zeros((8, 4), "f4")
    at = np.array([3, 1, 4, 1, 5, 2, 6, 7])
    assert run(target).searched(x, at, y) is y
    assert y.tolist() == x[at].tolist()


WRONG = {
    "extent": (np.zeros((4, 7), "f4"), errors.WrongExtent, "extent 8 in dimension 1"),
    "rank": (np.zeros(32, "f4"), errors.WrongArgumentRank, "must have rank 2, got 1"),
    "element": (np.zeros((4, 8)), errors.WrongDtype, "hold float32, got float64"),
    "gaps": (np.zeros((4, 9), "f4")[:, :8], errors.WrongStride, "strides (8, 1)"),
}


@pytest.mark.cases("case", WRONG)
def test_arrays_that_do_not_fit_are_refused_by_name(case: str):
    value, error, message = WRONG[case]
    with pytest.raises(error) as caught:
        run("cpu").axpy(value, np.zeros((4, 8), "f4"), 1.0)
    assert "argument x" in str(caught.value)
    assert message in str(caught.value)


TRANSFER = """
func.func @f(%src: memref<16xvector<4xf32>>, %dst: memref<16xvector<4xf32>>) {
  %z = arith.constant 0 : index
  %two = arith.constant 2 : index
  %n = arith.constant 6 : index
  %stride = arith.constant 5 : index
  %each = arith.constant 2 : index
  %tag = memref.alloc() : memref<1xi32>
  memref.dma_start %src[%two], %dst[%z], %n, %tag[%z], %stride, %each
    : memref<16xvector<4xf32>>, memref<16xvector<4xf32>>, memref<1xi32>
  memref.dma_wait %tag[%z], %n : memref<1xi32>
  return
}
"""


@TARGETS
def test_transfers_count_vectors(target: str):
    x, y = numbers(16, 4), np.zeros((16, 4), "f4")
    gcg.compile(TRANSFER, target=target).f(x, y)
    assert y[:6].tolist() == x[[2, 3, 7, 8, 12, 13]].tolist()
    assert not y[6:].any()


@pytest.mark.slow
def test_every_stage_parses_back():
    program = run("cpu")
    x = numbers(6, 4, 2)
    program.views(x, np.zeros((4, 2, 2), "f4"))
    for name, text in program.stages("views"):
        assert str(gcg.parse(text)) == text, name


def test_other_operations_are_refused_by_name():
    text = """
    func.func @f(%x: memref<4xvector<8xf32>>) -> index {
      %0 = memref.extract_aligned_pointer_as_index %x : memref<4xvector<8xf32>> -> index
      return %0 : index
    }"""
    with pytest.raises(errors.UnsupportedOperation) as caught:
        gcg.compile(text, target="cpu").f(np.zeros((4, 8), "f4"))
    assert "Load and store whole vectors" in str(caught.value)
