"""Softmax and normalisation over rows, through the public face."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

TARGETS = ["cpu", "sim"]
SHAPES = [(3, 70), (33, 5), (2, 256)]


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    wide = x.astype(np.float64)
    powers = np.exp(wide - wide.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax_in_memory(target: str, dimension: int, shape: tuple[int, int]):
    program = gcg.compile(
        f"""func.func @f(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {{
          linalg.softmax dimension({dimension}) ins(%x : memref<?x?xf32>)
              outs(%y : memref<?x?xf32>)
          return
        }}""",
        target=target,
    )
    x = np.random.default_rng(1).standard_normal(shape).astype("f4") * 5
    x[0, 1] = -np.inf
    y = np.full_like(x, np.nan)
    program.f(x, y)
    np.testing.assert_allclose(y, softmax(x, dimension), rtol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_softmax_of_tensors(target: str):
    program = gcg.compile(
        """func.func @f(%x: tensor<4x3x40xf64>) -> tensor<4x3x40xf64> {
          %e = tensor.empty() : tensor<4x3x40xf64>
          %y = linalg.softmax dimension(2) ins(%x : tensor<4x3x40xf64>)
              outs(%e : tensor<4x3x40xf64>) -> tensor<4x3x40xf64>
          return %y : tensor<4x3x40xf64>
        }""",
        target=target,
    )
    x = np.random.default_rng(1).standard_normal((4, 3, 40))
    np.testing.assert_allclose(program.f(x), softmax(x, 2), rtol=1e-14)


LAYERNORM = """#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func @f(%x: memref<9x75xf32>, %g: memref<75xf32>, %y: memref<9x75xf32>) {
  %m = memref.alloc() : memref<9xf32>
  %s = memref.alloc() : memref<9xf32>
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 75.0 : f32
  linalg.fill ins(%zero : f32) outs(%m : memref<9xf32>)
  linalg.fill ins(%zero : f32) outs(%s : memref<9xf32>)
  linalg.reduce ins(%x : memref<9x75xf32>) outs(%m : memref<9xf32>) dimensions = [1]
    (%a: f32, %t: f32) {
      %r = arith.addf %t, %a : f32
      linalg.yield %r : f32
    }
  linalg.generic {indexing_maps = [#full, #row, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : memref<9x75xf32>, memref<9xf32>) outs(%s : memref<9xf32>) {
    ^bb0(%a: f32, %t: f32, %o: f32):
      %mean = arith.divf %t, %n : f32
      %d = arith.subf %a, %mean : f32
      %q = arith.mulf %d, %d : f32
      %r = arith.addf %o, %q : f32
      linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#full, #row, #row, #column, #full],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %m, %s, %g : memref<9x75xf32>, memref<9xf32>, memref<9xf32>,
          memref<75xf32>) outs(%y : memref<9x75xf32>) {
    ^bb0(%a: f32, %t: f32, %q: f32, %w: f32, %o: f32):
      %mean = arith.divf %t, %n : f32
      %variance = arith.divf %q, %n : f32
      %i = math.rsqrt %variance : f32
      %d = arith.subf %a, %mean : f32
      %e = arith.mulf %d, %i : f32
      %r = arith.mulf %e, %w : f32
      linalg.yield %r : f32
  }
  memref.dealloc %m : memref<9xf32>
  memref.dealloc %s : memref<9xf32>
  return
}"""


@pytest.mark.parametrize("target", TARGETS)
def test_layer_normalisation(target: str):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((9, 75)).astype("f4") + 3
    g = rng.standard_normal(75).astype("f4")
    y = np.zeros_like(x)
    gcg.compile(LAYERNORM, target=target).f(x, g, y)
    wide = x.astype("f8")
    want = (wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True) * g
    np.testing.assert_allclose(y, want, rtol=2e-5, atol=1e-6)


def test_the_passes_over_a_row_are_one_loop():
    program = gcg.compile(LAYERNORM, target="cpu", threads=1)
    x = np.ones((9, 75), "f4")
    program.f(x, x[0].copy(), x.copy())
    kernels = dict(program.stages("f"))["vectorize"]
    assert kernels.count("affine.for %d0") == 1
    assert kernels.count("vector.reduction <add>") == 2


def test_exact_programs_keep_the_order():
    program = gcg.compile(LAYERNORM, target="cpu", exact=True)
    x = np.ones((9, 75), "f4")
    program.f(x, x[0].copy(), x.copy())
    assert "vector.reduction" not in dict(program.stages("f"))["vectorize"]
