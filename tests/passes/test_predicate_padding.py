"""Padded copies become predicated loads, where nothing stands against it."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.gpu.predicate_padding import PredicatePadding

TEXT = """
func.func @f(%a: memref<3x8xf32>, %out: memref<3x8xf32>) {
  %least = arith.constant -7.0 : f32
  %p = memref.alloc() : memref<3x11xf32>
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to WHOLE {
      affine.store %least, %p[%i, %j] : memref<3x11xf32>
    }
  }
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 8 {
      %x = affine.load %a[%i, %j] : memref<3x8xf32>
      affine.store %x, %p[%i, %j + 2] : memref<3x11xf32>
    }
  }
  BETWEEN
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 8 {
      %x = affine.load %p[%i, %j] : memref<3x11xf32>
      %y = affine.load %p[%i, %j + 3] : memref<3x11xf32>
      %s = arith.addf %x, %y : f32
      affine.store %s, %out[%i, %j] : memref<3x8xf32>
    }
  }
  memref.dealloc %p : memref<3x11xf32>
  return
}
"""
PLAIN = {"WHOLE": "11", "BETWEEN": ""}
CHANGED = """affine.for %i = 0 to 3 {
    affine.for %j = 0 to 8 {
      affine.store %least, %a[%i, %j] : memref<3x8xf32>
    }
  }"""
ONE_MORE = """affine.for %i = 0 to 3 {
    affine.store %least, %p[%i, 4] : memref<3x11xf32>
  }"""


def text(**changes: str) -> str:
    made = TEXT
    for word, value in (PLAIN | changes).items():
        made = made.replace(word, value)
    return made


def expected(a: np.ndarray) -> np.ndarray:
    padded = np.full((3, 11), -7, "f4")
    padded[:, 2:10] = a
    return padded[:, :8] + padded[:, 3:]


@pytest.mark.parametrize("target", ["interp", "cpu", "sim"])
def test_the_elements_and_the_padding(target: str) -> None:
    a, out = np.arange(24, dtype="f4").reshape(3, 8), np.zeros((3, 8), "f4")
    gcg.compile(text(), target=target).f(a, out)
    np.testing.assert_array_equal(out, expected(a))


def test_no_padded_array_is_left() -> None:
    made = PredicatePadding().apply(gcg.parse(text()))
    found = [op.name for op in made.walk()]
    assert "memref.alloc" not in found
    assert found.count("affine.if") == 2


@pytest.mark.parametrize(
    "changes",
    [{"WHOLE": "10"}, {"BETWEEN": CHANGED}, {"BETWEEN": ONE_MORE}],
    ids=["a part is not filled", "the source changes", "another store"],
)
def test_other_copies_stay(changes: dict[str, str]) -> None:
    module = gcg.parse(text(**changes))
    assert str(PredicatePadding().apply(module)) == str(module)


PRODUCT = """
func.func @f(%a: memref<60x60xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  %number = arith.constant 2.0 : f32
  %p = memref.alloc() : memref<64x64xf32>
  linalg.fill ins(%number : f32) outs(%p : memref<64x64xf32>)
  affine.for %i = 0 to 60 {
    affine.for %j = 0 to 60 {
      %x = affine.load %a[%i, %j] : memref<60x60xf32>
      affine.store %x, %p[%i + 1, %j + 3] : memref<64x64xf32>
    }
  }
  linalg.matmul ins(%p, %b : memref<64x64xf32>, memref<64x64xf32>)
      outs(%c : memref<64x64xf32>)
  memref.dealloc %p : memref<64x64xf32>
  return
}
"""


def test_a_padded_factor_is_written_once() -> None:
    rng = np.random.default_rng(1)
    a, b, c = (rng.integers(-4, 5, (n, n)).astype("f4") for n in (60, 64, 64))
    right = c + np.pad(a, ((1, 3), (3, 1)), constant_values=2) @ b
    program = gcg.compile(PRODUCT, target="sim", arch="sm_80")
    program.f(a, b, c)
    np.testing.assert_array_equal(c, right)
    kernels = program["f"].executable().kernels
    assert len(kernels) == 2


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_pools_are_one_launch(dimensions: int) -> None:
    extents = "x".join(["6", "24", *["5"] * dimensions])
    window = ", ".join(["1", "1", *["3"] * dimensions])
    sides = ", ".join(["[0, 0]"] * 2 + ["[1, 1]"] * dimensions)
    source = f"""
func.func @f(%a: tensor<{extents}xf32>) -> tensor<{extents}xf32> {{
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%a, %c) <{{window_dimensions = array<i64: {window}>,
      padding = dense<[{sides}]> : tensor<{dimensions + 2}x2xi64>}}> ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }}) : (tensor<{extents}xf32>, tensor<f32>) -> tensor<{extents}xf32>
  return %r : tensor<{extents}xf32>
}}"""
    program = gcg.compile(source, target="sim", arch="sm_80")
    a = (
        np.random.default_rng(0)
        .standard_normal((6, 24, *[5] * dimensions))
        .astype("f4")
    )
    around = [(0, 0)] * 2 + [(1, 1)] * dimensions
    padded = np.pad(a, around, constant_values=-np.inf)
    views = np.lib.stride_tricks.sliding_window_view(
        padded, [3] * dimensions, tuple(range(2, dimensions + 2))
    )
    best = views.max(tuple(range(-dimensions, 0)))
    np.testing.assert_array_equal(program.f(a), best)
    assert program.source("f").count("rt.launch(") == 1
