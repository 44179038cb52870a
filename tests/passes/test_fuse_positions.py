"""The place of a maximum compares positions, which no array holds."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

TEXT = """
func.func @f(%a: tensor<5x37xf32>) -> (tensor<5xf32>, tensor<5xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<5x37xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%a init: %least), (%i init: %none) across dimensions = [1]
      : (tensor<5x37xf32>, tensor<5x37xi32>, tensor<f32>, tensor<i32>)
      -> (tensor<5xf32>, tensor<5xi32>)
    reducer(%x: tensor<f32>, %y: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {
      %g = stablehlo.compare GT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>)
        -> tensor<i1>
      %e = stablehlo.compare EQ, %x, %y, FLOAT : (tensor<f32>, tensor<f32>)
        -> tensor<i1>
      %l = stablehlo.compare LT, %p, %q, SIGNED : (tensor<i32>, tensor<i32>)
        -> tensor<i1>
      %t = stablehlo.and %e, %l : tensor<i1>
      %k = stablehlo.or %g, %t : tensor<i1>
      %v = stablehlo.select %g, %x, %y : tensor<i1>, tensor<f32>
      %n = stablehlo.select %k, %p, %q : tensor<i1>, tensor<i32>
      stablehlo.return %v, %n : tensor<f32>, tensor<i32>
    }
  return %r#0, %r#1 : tensor<5xf32>, tensor<5xi32>
}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["interp", "cpu", "sim"])
def test_no_array_of_positions(target: str) -> None:
    a = np.random.default_rng(0).integers(-9, 9, (5, 37)).astype("f4")
    program = gcg.compile(TEXT, target=target)
    best, place = program.f(a)
    np.testing.assert_array_equal(best, a.max(1))
    np.testing.assert_array_equal(place, a.argmax(1))
    if target != "interp":
        assert "5x37xi32" not in dict(program.stages("f"))["bufferize"]
