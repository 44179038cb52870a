"""Tiles of symbolic sizes, and full tiles apart from partial ones, on engines."""

from __future__ import annotations

import numpy as np
import pytest
from lowering import apply

import gpucodegen as gcg
from gpucodegen import errors

PRODUCT = """func.func @f(%A: memref<?x?xf64>, %B: memref<?x?xf64>, %C: memref<?x?xf64>,
    %m: index, %n: index, %k: index, %t: index) {
  affine.for %i = 0 to %m {
    affine.for %j = 1 to %n step 2 {
      affine.for %l = 0 to %k {
        %a = affine.load %A[%i, %l] : memref<?x?xf64>
        %b = affine.load %B[%l, %j] : memref<?x?xf64>
        %c = affine.load %C[%i, %j] : memref<?x?xf64>
        %p = arith.mulf %a, %b : f64
        %s = arith.addf %c, %p : f64
        affine.store %s, %C[%i, %j] : memref<?x?xf64>
      }
    }
  }
  return
}"""


def expected(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    c = np.zeros((a.shape[0], b.shape[1]))
    for j in range(1, b.shape[1], 2):
        c[:, j] = a @ b[:, j]
    return c


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.parametrize(
    ("sizes", "target"),
    [("[t,t,2]", "cpu"), ("[t,0,t]", "cpu"), ("[3,4,2]", "cpu"), ("[3,4,2]", "sim")],
)
def test_engines_agree_with_numpy(sizes: str, target: str):
    module = apply(f"tile{{sizes={sizes},separate=true}}", PRODUCT)
    call = gcg.compile(module, target=target).f
    rng = np.random.default_rng(1)
    for m, n, k, t in ((7, 9, 5, 2), (6, 8, 4, -3), (3, 2, 4, 100)):
        a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
        c = np.zeros((m, n))
        call(a, b, c, m, n, k, t)
        np.testing.assert_allclose(c, expected(a, b), rtol=1e-13)


STATIC = """func.func @f(%A: memref<64x60xf32>, %v: f32) {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 60 {
      affine.store %v, %A[%i, %j] : memref<64x60xf32>
    }
  }
  return
}"""


def test_tiles_that_divide_a_loop_need_no_bound():
    text = str(apply("tile{sizes=[16,20],separate=true}", STATIC))
    assert "min" not in text
    assert "affine.if" not in text


def test_full_tiles_are_asked_for_where_they_may_be_partial_only():
    text = str(apply("tile{sizes=[16,32],separate=true}", STATIC))
    assert "affine.if affine_set<(d0) : (-d0 + 28 >= 0)>(%j_tile)" in text
    assert text.count("affine.for %i =") == 2


def test_inlined_sizes_become_constants():
    text = f"""
{PRODUCT}
func.func @g(%A: memref<?x?xf64>, %B: memref<?x?xf64>, %C: memref<?x?xf64>,
    %m: index, %n: index, %k: index) {{
  %t = arith.constant 8 : index
  func.call @f(%A, %B, %C, %m, %n, %k, %t)
      : (memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>, index, index, index, index)
      -> ()
  return
}}"""
    tiled = apply("tile{sizes=[t,t]},inline,canonicalize,keep-reachable", text)
    inlined = str(tiled).partition("@g")[2]
    assert "ceildiv 8" in inlined
    assert "affine.max" not in inlined


@pytest.mark.parametrize(
    ("sizes", "problem"),
    [("[w]", "'w' is neither a number nor an index argument of @f"), ("[2,2,2,2]", "")],
)
def test_unusable_sizes_are_explained(sizes: str, problem: str):
    with pytest.raises(errors.CompileError) as caught:
        apply(f"tile{{sizes={sizes}}}", PRODUCT)
    assert (problem or "only 3 of 4 loops are perfectly nested") in str(caught.value)


def test_a_chosen_inner_nest_is_tiled():
    text = str(apply("tile{loop=j,sizes=[4,4]}", PRODUCT))
    assert "%i_tile" not in text
    assert "affine.for %j_tile = 1 to %n step 8" in text


def test_bands_with_operations_between_their_loops():
    """Pure operations between the loops are sunk; a store ends the band."""
    text = """func.func @f(%x: memref<17xf32>, %y: memref<17x4xf32>,
                              %z: memref<17xf32>) {
      affine.for %i = 0 to 15 step 3 {
        %next = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
        affine.for %j = 0 to 4 {
          %u = affine.load %x[%next] : memref<17xf32>
          affine.store %u, %y[%i, %j] : memref<17x4xf32>
        }
      }
      affine.for %i = 0 to 17 {
        %u = affine.load %x[%i] : memref<17xf32>
        affine.store %u, %z[%i] : memref<17xf32>
        affine.for %j = 0 to 4 {
          affine.store %u, %y[%i, %j] : memref<17x4xf32>
        }
      }
      return
    }"""
    module = apply("tile-bands{sizes=[2,2]}", text)
    loops = [op for op in module.walk() if op.name == "affine.for"]
    assert len(loops) > 4
    x = np.arange(17, dtype=np.float32)
    y, z = np.zeros((17, 4), np.float32), np.zeros(17, np.float32)
    gcg.compile(module, target="cpu").f(x, y, z)
    np.testing.assert_array_equal(y, np.repeat(x[:, None], 4, axis=1))
    np.testing.assert_array_equal(z, x)
