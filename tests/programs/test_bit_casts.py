"""Casts of bits between vectors of other lengths, and buffers seen as vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg

TARGETS = ["interp", "cpu", "sim"]
WIDER = """func.func @f(%A: memref<2x8xi8>, %B: memref<2x2xi32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i8
  %v = vector.transfer_read %A[%c0, %c0], %z : memref<2x8xi8>, vector<2x8xi8>
  %w = vector.bitcast %v : vector<2x8xi8> to vector<2x2xi32>
  vector.transfer_write %w, %B[%c0, %c0] : vector<2x2xi32>, memref<2x2xi32>
  return
}"""
NARROWER = """func.func @f(%A: memref<2x2xf64>, %B: memref<2x4xf32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f64
  %v = vector.transfer_read %A[%c0, %c0], %z : memref<2x2xf64>, vector<2x2xf64>
  %w = vector.bitcast %v : vector<2x2xf64> to vector<2x4xf32>
  vector.transfer_write %w, %B[%c0, %c0] : vector<2x4xf32>, memref<2x4xf32>
  return
}"""
MASK = """func.func @f(%A: memref<16xf32>, %B: memref<2xi8>) {
  %c0 = arith.constant 0 : index
  %t = arith.constant dense<3.0> : vector<16xf32>
  %v = vector.load %A[%c0] : memref<16xf32>, vector<16xf32>
  %m = arith.cmpf ogt, %v, %t : vector<16xf32>
  %w = vector.bitcast %m : vector<16xi1> to vector<2xi8>
  vector.store %w, %B[%c0] : memref<2xi8>, vector<2xi8>
  return
}"""
UNMASK = """func.func @f(%A: memref<2xi8>, %B: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %v = vector.load %A[%c0] : memref<2xi8>, vector<2xi8>
  %m = vector.bitcast %v : vector<2xi8> to vector<16xi1>
  %w = arith.extui %m : vector<16xi1> to vector<16xi32>
  vector.store %w, %B[%c0] : memref<16xi32>, vector<16xi32>
  return
}"""
WHOLE = """func.func @f(%A: memref<5x4xf32>, %B: memref<5x4xf32>) {
  %V = vector.type_cast %A : memref<5x4xf32> to memref<vector<5x4xf32>>
  %W = vector.type_cast %B : memref<5x4xf32> to memref<vector<5x4xf32>>
  %v = memref.load %V[] : memref<vector<5x4xf32>>
  %w = arith.addf %v, %v : vector<5x4xf32>
  memref.store %w, %W[] : memref<vector<5x4xf32>>
  return
}"""
ROWS = """func.func @f(%A: memref<5x4xf32>, %B: memref<5x4xf32>) {
  %V = vector.type_cast %A : memref<5x4xf32> to memref<5xvector<4xf32>>
  %t = memref.alloc() : memref<5xvector<4xf32>>
  %T = vector.type_cast %t : memref<5xvector<4xf32>> to memref<5x4xf32>
  affine.for %i = 0 to 5 {
    %v = affine.load %V[%i] : memref<5xvector<4xf32>>
    %w = arith.addf %v, %v : vector<4xf32>
    affine.store %w, %t[%i] : memref<5xvector<4xf32>>
  }
  memref.copy %T, %B : memref<5x4xf32> to memref<5x4xf32>
  memref.dealloc %t : memref<5xvector<4xf32>>
  return
}"""
SLICED = """func.func @f(%A: memref<8xf32>, %B: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %A, %c0 : memref<8xf32>
  %r = linalg.range %c1 : %n : %c2 : !linalg.range
  %V = linalg.slice %A[%r] : memref<8xf32>, !linalg.range,
    memref<?xf32, affine_map<(d0)[s0, s1] -> (d0 * s1 + s0)>>
  affine.for %i = 0 to 4 {
    %v = affine.load %V[%i]
      : memref<?xf32, affine_map<(d0)[s0, s1] -> (d0 * s1 + s0)>>
    affine.store %v, %B[%i] : memref<4xf32>
  }
  return
}"""
BYTES = np.arange(16, dtype="i1").reshape(2, 8) * 7
DOUBLES = np.array([[1.5, -2.25], [1e300, 0.1]])
FLOATS = np.arange(20, dtype="f4").reshape(5, 4)
SIGNS = np.array([0x5A, -0x77], "i1")
CASES: dict[str, tuple[str, np.ndarray[Any, Any], np.ndarray[Any, Any]]] = {
    "wider": (WIDER, BYTES, BYTES.view("i4")),
    "narrower": (NARROWER, DOUBLES, DOUBLES.view("f4")),
    "mask": (
        MASK,
        np.arange(16, dtype="f4"),
        np.packbits(np.arange(16) > 3, bitorder="little").view("i1"),
    ),
    "unmask": (
        UNMASK,
        SIGNS,
        np.unpackbits(SIGNS.view("u1"), bitorder="little").astype("i4"),
    ),
    "whole": (WHOLE, FLOATS, 2 * FLOATS),
    "sliced": (SLICED, FLOATS.ravel()[:8], FLOATS.ravel()[1:8:2]),
    "rows": (ROWS, FLOATS, 2 * FLOATS),
}


@pytest.mark.sampled(3)
@pytest.mark.cases("target", TARGETS)
@pytest.mark.parametrize("name", list(CASES))
def test_bits(name: str, target: str) -> None:
    text, given, want = CASES[name]
    found = np.zeros_like(want)
    gcg.compile(text, target=target).f(given.copy(), found)
    assert found.tobytes() == want.tobytes()
