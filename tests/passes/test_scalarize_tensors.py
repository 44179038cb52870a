"""Tensors of rank 0 that decide about control flow become scalars, others stay."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import TensorType
from gpucodegen.passes.prepare.tensors.scalarize import ScalarizeTensors

LOOP = """func.func @main(%n: tensor<i32>, %a: tensor<f32>, %x: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<f32>, tensor<i32>) {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %start = arith.constant dense<0.0> : tensor<f32>
  %b = arith.mulf %a, %a : tensor<f32>
  %r:4 = scf.while (%i = %zero, %v = %x, %s = %start, %t = %b)
      : (tensor<i32>, tensor<8xf32>, tensor<f32>, tensor<f32>)
      -> (tensor<i32>, tensor<8xf32>, tensor<f32>, tensor<f32>) {
    %c = arith.cmpi slt, %i, %n : tensor<i32>
    %goes_on = tensor.extract %c[] : tensor<i1>
    scf.condition(%goes_on) %i, %v, %s, %t
      : tensor<i32>, tensor<8xf32>, tensor<f32>, tensor<f32>
  } do {
  ^bb0(%i: tensor<i32>, %v: tensor<8xf32>, %s: tensor<f32>, %t: tensor<f32>):
    %w = linalg.map { arith.addf } ins(%v, %v : tensor<8xf32>, tensor<8xf32>)
      outs(%v : tensor<8xf32>)
    %q = linalg.reduce { arith.addf } ins(%w : tensor<8xf32>) outs(%s : tensor<f32>)
      dimensions = [0]
    %u = arith.addf %t, %a : tensor<f32>
    %k = arith.addi %i, %one : tensor<i32>
    scf.yield %k, %w, %q, %u : tensor<i32>, tensor<8xf32>, tensor<f32>, tensor<f32>
  }
  %d = arith.addf %r#2, %r#3 : tensor<f32>
  return %r#1, %d, %r#0 : tensor<8xf32>, tensor<f32>, tensor<i32>
}"""
JOINED = """func.func @main(%n: tensor<i32>, %x: tensor<4xf32>) -> f32 {
  %two = arith.constant dense<2> : tensor<1xi32>
  %e = tensor.empty() : tensor<1xi32>
  %w = linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%n : tensor<i32>) outs(%e : tensor<1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
  } -> tensor<1xi32>
  %both = tensor.concat dim(0) %two, %w : (tensor<1xi32>, tensor<1xi32>)
    -> tensor<2xi32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = tensor.extract %both[%c0] : tensor<2xi32>
  %q = tensor.extract %both[%c1] : tensor<2xi32>
  %s = arith.addi %p, %q : i32
  %at = arith.index_cast %s : i32 to index
  %y = tensor.extract %x[%at] : tensor<4xf32>
  return %y : f32
}"""


def scalarized(text: str) -> Operation:
    return ScalarizeTensors().apply(gcg.parse(text)).functions["main"]


def test_only_what_decides_is_a_scalar() -> None:
    main = scalarized(LOOP)
    (loop,) = (op for op in main.walk() if op.name == "scf.while")
    carried = [isinstance(v.type, TensorType) for v in loop.results]
    assert carried == [False, True, True, True]
    loaded = [op.operands[0].name for op in main.walk() if op.name == "tensor.extract"]
    assert loaded == ["n"]


def test_positions_that_were_joined() -> None:
    extracted = [op for op in scalarized(JOINED).walk() if op.name == "tensor.extract"]
    assert [len(op.operands) for op in extracted] == [1, 2]


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_results(target: str) -> None:
    x = np.arange(8, dtype="f4")
    half = np.float32(0.5)
    y, d, k = gcg.compile(LOOP, target=target).main(np.int32(3), half, x)
    np.testing.assert_array_equal(y, 8 * x)
    assert (float(d), int(k)) == (28 * 14 + 0.25 + 1.5, 3)
    found = gcg.compile(JOINED, target=target).main(np.int32(1), x[:4])
    assert float(found) == 3.0
