"""Functions as values, and constants of tensors in every form, when they run."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from tests.targets import ALL

TARGETS = pytest.mark.parametrize("target", ALL)

CALLS = """
func.func @pick(%a: i32, %c: i1) -> i32 {
  %g = func.constant @twice : (i32) -> i32
  %h = func.constant @same : (i32) -> i32
  %k = arith.select %c, %g, %h : (i32) -> i32
  %b = func.call_indirect %k(%a) : (i32) -> i32
  return %b : i32
}
func.func private @twice(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  return %b : i32
}
func.func private @same(%a: i32) -> i32 {
  return %a : i32
}
func.func @through(%m: memref<8xf32>) {
  %g = func.constant @fill : (memref<8xf32>) -> ()
  func.call_indirect %g(%m) : (memref<8xf32>) -> ()
  return
}
func.func private @fill(%m: memref<8xf32>) {
  %f = arith.constant 3.0 : f32
  affine.for %i = 0 to 8 {
    affine.store %f, %m[%i] : memref<8xf32>
  }
  return
}
"""


@TARGETS
def test_function_values(target: str):
    program = gcg.compile(CALLS, target=target)
    assert (program.pick(4, True), program.pick(4, False)) == (8, 4)
    m = np.zeros(8, np.float32)
    program.through(m)
    assert m.tolist() == [3.0] * 8


CONSTANTS = {
    "dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>": [[1, 2], [3, 4]],
    "dense<7> : tensor<3xi32>": [7, 7, 7],
    "dense<[true, false]> : tensor<2xi1>": [True, False],
    "dense<[1.5, -2.5]> : tensor<2xf64>": [1.5, -2.5],
    "sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<2x3xi32>": [[1, 0, 0], [0, 0, 5]],
    "dense_resource<blob> : tensor<3xi64>": [1, 2, 3],
}
BLOB = "0x08000000010000000000000002000000000000000300000000000000"


@TARGETS
@pytest.mark.cases("constant", CONSTANTS)
def test_constants(constant: str, target: str):
    ty = constant.rpartition(" : ")[2]
    text = f"""
    func.func @f() -> {ty} {{
      %0 = arith.constant {constant}
      return %0 : {ty}
    }}
    {{-# dialect_resources: {{ builtin: {{ blob: "{BLOB}" }} }} #-}}"""
    assert gcg.compile(text, target=target).f().tolist() == CONSTANTS[constant]
