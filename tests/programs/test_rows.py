"""Softmax and normalisation over rows, through the public face."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from tests.targets import ALL

TARGETS = ALL
SHAPES = [(3, 70), (33, 5), (2, 256)]


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    wide = x.astype(np.float64)
    powers = np.exp(wide - wide.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.sampled(2)
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


@pytest.mark.slow
def test_the_passes_over_a_row_are_one_loop():
    program = gcg.compile(LAYERNORM, target="cpu", threads=1)
    x = np.ones((9, 75), "f4")
    program.f(x, x[0].copy(), x.copy())
    kernels = dict(program.stages("f"))["vectorize"]
    assert kernels.count("affine.for %d0") == 1
    assert kernels.count("vector.reduction <add>") == 2


@pytest.mark.slow
def test_exact_programs_keep_the_order():
    program = gcg.compile(LAYERNORM, target="cpu", exact=True)
    x = np.ones((9, 75), "f4")
    program.f(x, x[0].copy(), x.copy())
    assert "vector.reduction" not in dict(program.stages("f"))["vectorize"]


RUNNING = """func.func @f(%x: memref<?x?xf32, strided<[?, ?], offset: ?>>,
    %sums: memref<?x?xf32>, %at: memref<?xi32>, %most: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %n = memref.dim %x, %c1 : memref<?x?xf32, strided<[?, ?], offset: ?>>
  %zero = arith.constant -0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %none = arith.constant -1 : i32
  affine.for %i = 0 to %m {
    %v = affine.for %j = 0 to %n iter_args(%t = %zero) -> (f32) {
      %a = affine.load %x[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>>
      %r = arith.addf %t, %a : f32
      affine.store %r, %sums[%i, %j] : memref<?x?xf32>
      affine.yield %r : f32
    }
    %e, %k = affine.for %j = 0 to %n iter_args(%t = %least, %p = %none)
        -> (f32, i32) {
      %a = affine.load %x[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>>
      %more = arith.cmpf ogt, %a, %t : f32
      %r = arith.select %more, %a, %t : f32
      %column = arith.index_cast %j : index to i32
      %q = arith.select %more, %column, %p : i32
      affine.yield %r, %q : f32, i32
    }
    %largest = arith.maximumf %e, %v : f32
    affine.store %k, %at[%i] : memref<?xi32>
    affine.store %largest, %most[%i] : memref<?xf32>
  }
  return
}"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.parametrize(("threads", "specialize"), [(2, True), (1, False)])
def test_prefix_sums_and_the_place_of_the_largest(threads: int, specialize: bool):
    program = gcg.compile(RUNNING, target="cpu", threads=threads, specialize=specialize)
    whole = np.random.default_rng(3).standard_normal((100, 140)).astype("f4")
    whole[3, 40], whole[5, :50] = np.nan, -0.0
    narrow = [] if specialize else [whole[:1, :3], whole[:, :17], whole.T]
    for x in (whole[:50, :70], whole[::2, 1::2], *narrow):
        sums, most = np.full(x.shape, 7, "f4"), np.full(len(x), 7, "f4")
        at = np.full(len(x), 7, "i4")
        program.f(x, sums, at, most)
        want = np.cumsum(x, axis=1, dtype="f4")
        np.testing.assert_array_equal(np.signbit(sums), np.signbit(want))
        np.testing.assert_array_equal(sums, want)
        known = np.where(np.isnan(x), -np.inf, x)
        np.testing.assert_array_equal(at, known.argmax(1))
        np.testing.assert_array_equal(most, np.maximum(known.max(1), want[:, -1]))


@pytest.mark.slow
def test_a_softmax_as_loops_in_order():
    program = gcg.compile(
        """func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %m = memref.dim %x, %c0 : memref<?x?xf64>
          %n = memref.dim %x, %c1 : memref<?x?xf64>
          %zero = arith.constant 0.0 : f64
          %least = arith.constant 0xFFF0000000000000 : f64
          affine.for %i = 0 to %m {
            %most = affine.for %j = 0 to %n iter_args(%t = %least) -> (f64) {
              %v = affine.load %x[%i, %j] : memref<?x?xf64>
              %r = arith.maximumf %t, %v : f64
              affine.yield %r : f64
            }
            %sum = affine.for %j = 0 to %n iter_args(%t = %zero) -> (f64) {
              %v = affine.load %x[%i, %j] : memref<?x?xf64>
              %d = arith.subf %v, %most : f64
              %e = math.exp %d : f64
              affine.store %e, %y[%i, %j] : memref<?x?xf64>
              %r = arith.addf %t, %e : f64
              affine.yield %r : f64
            }
            affine.for %j = 0 to %n {
              %e = affine.load %y[%i, %j] : memref<?x?xf64>
              %q = arith.divf %e, %sum : f64
              affine.store %q, %y[%i, %j] : memref<?x?xf64>
            }
          }
          return
        }""",
        target="cpu",
    )
    for shape in ((33, 200), (20, 5), (2, 300)):
        x = np.random.default_rng(1).standard_normal(shape) * 5
        y = np.full_like(x, np.nan)
        program.f(x, y)
        np.testing.assert_allclose(y, softmax(x, 1), rtol=1e-14)
