"""Normalizations on a GPU, in the text of compilers: what is read, and the results."""

from __future__ import annotations

from typing import Any

import numpy as np

import gpucodegen as gcg

ARCH = "sm_90a"


def accesses(program: Any, name: str) -> int:
    """Accesses of one kind in the text of all kernels."""
    text = dict(program.stages("main"))["lower-collectives"]
    return text.count(f"{name} ")


def kernels(program: Any) -> int:
    return len(program.main.executable().kernels)


ROOT_MEAN_SQUARES = """
func.func @main(%x: tensor<140x96xf32>) -> tensor<140x96xf32> {
  %s = stablehlo.multiply %x, %x : tensor<140x96xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [1]
    : (tensor<140x96xf32>, tensor<f32>) -> tensor<140xf32>
  %r = stablehlo.rsqrt %t : tensor<140xf32>
  %b = stablehlo.broadcast_in_dim %r, dims = [0]
    : (tensor<140xf32>) -> tensor<140x96xf32>
  %y = stablehlo.multiply %x, %b : tensor<140x96xf32>
  return %y : tensor<140x96xf32>
}"""


def test_a_row_that_fits_is_read_once() -> None:
    x = np.random.default_rng(0).normal(size=(140, 96)).astype(np.float32)
    program = gcg.compile(ROOT_MEAN_SQUARES, target="sim", arch=ARCH)
    wide = x.astype(float)
    want = wide / np.sqrt((wide**2).sum(1, keepdims=True))
    np.testing.assert_allclose(program.main(x), want, rtol=1e-5)
    assert kernels(program) == 1


SOFTMAX = """
func.func @main(%x: tensor<140x96xf32>) -> tensor<140x96xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum
    across dimensions = [1] : (tensor<140x96xf32>, tensor<f32>) -> tensor<140xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0]
    : (tensor<140xf32>) -> tensor<140x96xf32>
  %d = stablehlo.subtract %x, %mb : tensor<140x96xf32>
  %e = stablehlo.exponential %d : tensor<140x96xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add
    across dimensions = [1] : (tensor<140x96xf32>, tensor<f32>) -> tensor<140xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0]
    : (tensor<140xf32>) -> tensor<140x96xf32>
  %y = stablehlo.divide %e, %sb : tensor<140x96xf32>
  return %y : tensor<140x96xf32>
}"""


def test_exponentials_that_stay_in_registers_are_not_stored() -> None:
    x = np.random.default_rng(0).normal(size=(140, 96)).astype(np.float32)
    program = gcg.compile(SOFTMAX, target="sim", arch=ARCH)
    e = np.exp(x.astype(float) - x.max(1, keepdims=True))
    want = e / e.sum(1, keepdims=True)
    np.testing.assert_allclose(program.main(x), want, rtol=1e-5)
    assert kernels(program) == accesses(program, "vector.store") == 1
