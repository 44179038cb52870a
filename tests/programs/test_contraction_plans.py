"""Every way to block and pack a contraction on the CPU gives the same sums."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.tiling.cpu_plan import CpuModel, CpuPlan, Packing, Problem
from gpucodegen.tiling.cpu_plan import plan_contraction as plan

SHAPES = {
    "panels shared by blocks": (403, 130, 600),
    "panels of one block": (70, 200, 520),
    "left rows at clashing strides": (400, 300, 1024),
    "right read in place, streamed": (3, 1100, 40),
    "one row": (1, 1100, 37),
    "one row, few columns": (1, 9, 5),
    "less than a tile": (5, 7, 3),
}


def integers(*shape: int) -> np.ndarray:
    """Small enough that sums of products are exact in f32."""
    return np.random.default_rng(0).integers(-4, 5, shape).astype("f4")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_products_are_exact(shape: tuple[int, int, int], threads: int):
    m, n, k = shape
    a, b = integers(m, k), integers(k, n)
    text = f"""func.func @f(%A: memref<{m}x{k}xf32>, %B: memref<{k}x{n}xf32>,
                            %C: memref<{m}x{n}xf32>) {{
      linalg.matmul ins(%A, %B : memref<{m}x{k}xf32>, memref<{k}x{n}xf32>)
                    outs(%C : memref<{m}x{n}xf32>)
      return
    }}"""
    c = np.ones((m, n), "f4")
    gcg.compile(text, target="cpu", threads=threads).f(a, b, c)
    assert np.array_equal(c, 1 + a @ b)


@pytest.mark.parametrize("rows", [30, 250])
def test_batches(rows: int):
    a, b = integers(3, rows, 60), integers(3, 60, 50)
    text = f"""func.func @f(%A: tensor<3x{rows}x60xf32>, %B: tensor<3x60x50xf32>,
        %C: tensor<3x{rows}x50xf32>) -> tensor<3x{rows}x50xf32> {{
      %0 = linalg.batch_matmul
        ins(%A, %B : tensor<3x{rows}x60xf32>, tensor<3x60x50xf32>)
        outs(%C : tensor<3x{rows}x50xf32>) -> tensor<3x{rows}x50xf32>
      return %0 : tensor<3x{rows}x50xf32>
    }}"""
    c = np.ones((3, rows, 50), "f4")
    assert np.array_equal(gcg.compile(text, target="cpu").f(a, b, c), 1 + a @ b)


def planned(m: int, n: int, k: int, **more: int) -> CpuPlan:
    return plan(Problem(m, n, (k,), 1, 32, True, False, k, **more), CpuModel(2))


def test_plans_differ_as_named():
    assert planned(403, 130, 600).packing is Packing.SHARED
    assert planned(70, 200, 520).packing is Packing.PRIVATE
    assert planned(400, 300, 1024).left_stride > 512
    assert planned(403, 130, 600).left_stride == 0
    streamed = planned(3, 1100, 40)
    assert (streamed.packing, streamed.k_chunk) == (Packing.NONE, 8)


def test_vectors_outside_of_loops():
    text = """func.func @f(%A: memref<8xf32>, %B: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      %two = arith.constant dense<2.0> : vector<8xf32>
      %v = vector.load %A[%c0] : memref<8xf32>, vector<8xf32>
      %w = arith.mulf %v, %two : vector<8xf32>
      vector.store %w, %B[%c0] : memref<8xf32>, vector<8xf32>
      return
    }"""
    a, b = integers(8), np.zeros(8, "f4")
    gcg.compile(text, target="cpu").f(a, b)
    assert np.array_equal(b, 2 * a)
