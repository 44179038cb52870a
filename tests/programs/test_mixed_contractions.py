"""Contractions of narrow factors: widened while they are packed, exact sums."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from tests.targets import ALL

M, N, K = 37, 53, 130
KINDS = {
    "signed": ("i8", "i32", "extsi", "i1"),
    "unsigned": ("i8", "i32", "extui", "u1"),
    "half": ("f16", "f32", "extf", "f2"),
    "single": ("f32", "f64", "extf", "f4"),
}
"""Type of the factors, of the sum, the conversion, and the factors' type in NumPy."""


def product(narrow: str, wide: str, widen: str) -> str:
    multiply, add = ("muli", "addi") if wide[0] == "i" else ("mulf", "addf")
    return f"""func.func @f(%A: memref<{M}x{K}x{narrow}>, %B: memref<{K}x{N}x{narrow}>,
        %C: memref<{M}x{N}x{wide}>) {{
      affine.for %i = 0 to {M} {{ affine.for %j = 0 to {N} {{
        affine.for %k = 0 to {K} {{
          %a = affine.load %A[%i, %k] : memref<{M}x{K}x{narrow}>
          %b = affine.load %B[%k, %j] : memref<{K}x{N}x{narrow}>
          %c = affine.load %C[%i, %j] : memref<{M}x{N}x{wide}>
          %x = arith.{widen} %a : {narrow} to {wide}
          %y = arith.{widen} %b : {narrow} to {wide}
          %p = arith.{multiply} %x, %y : {wide}
          %s = arith.{add} %c, %p : {wide}
          affine.store %s, %C[%i, %j] : memref<{M}x{N}x{wide}>
        }} }} }}
      return
    }}"""


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sampled(10)
def test_widened_factors(kind: str, target: str):
    narrow, wide, widen, dtype = KINDS[kind]
    rng = np.random.default_rng(1)
    low, high = (-9, 10) if wide[0] == "f" else (0, 256)
    a, b = (rng.integers(low, high, shape).astype(dtype) for shape in ((M, K), (K, N)))
    c = np.ones((M, N), f"{wide[0]}{int(wide[1:]) // 8}")
    compiled = gcg.compile(product(narrow, wide, widen), target=target)
    compiled.f(a, b, c)
    assert np.array_equal(c, 1 + a.astype("f8") @ b.astype("f8"))
    if target == "cpu":
        assert "vector.outerproduct" in dict(compiled.stages("f"))["map-cpu"]


@pytest.mark.slow
def test_quantized_matmul_subtracts_zero_points_while_packing():
    left, right, sums = f"{M}x{K}xi8", f"{K}x{N}xi8", f"{M}x{N}xi32"
    text = f"""func.func @f(%A: memref<{left}>, %B: memref<{right}>, %x: i32, %y: i32,
        %C: memref<{sums}>) {{
      linalg.quantized_matmul
        ins(%A, %B, %x, %y : memref<{left}>, memref<{right}>, i32, i32)
        outs(%C : memref<{sums}>)
      return
    }}"""
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-128, 128, s).astype("i1") for s in ((M, K), (K, N)))
    c = np.ones((M, N), "i4")
    compiled = gcg.compile(text, target="cpu")
    compiled.f(a, b, 3, -5, c)
    assert np.array_equal(c, 1 + (a.astype(int) - 3) @ (b.astype(int) + 5))
    assert "vector.outerproduct" in dict(compiled.stages("f"))["map-cpu"]
