"""Loops of StableHLO: counters become scalars, and a GPU runs the bodies in grids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.analysis.work import KernelLaunches, host_program

TARGETS = ["cpu", "interp", "sim"]
HEAT = """func.func @main(%u: tensor<34x34xf32>, %n: tensor<i32>) -> tensor<34x34xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %j = %zero, %x = %u)
      : tensor<i32>, tensor<i32>, tensor<34x34xf32>
    cond {
      %goes = stablehlo.compare LT, %i, %n, SIGNED
        : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %goes : tensor<i1>
    } do {
      %l = stablehlo.slice %x [0:32, 1:33] : (tensor<34x34xf32>) -> tensor<32x32xf32>
      %r = stablehlo.slice %x [2:34, 1:33] : (tensor<34x34xf32>) -> tensor<32x32xf32>
      %s = stablehlo.add %l, %r : tensor<32x32xf32>
      %h = stablehlo.constant dense<0.5> : tensor<f32>
      %w = stablehlo.broadcast_in_dim %h, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
      %m = stablehlo.multiply %s, %w : tensor<32x32xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %a = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<i32>) -> tensor<1xi32>
      %at = stablehlo.concatenate %a, %a, dim = 0
        : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %y = "stablehlo.scatter"(%x, %at, %m) <{scatter_dimension_numbers =
          #stablehlo.scatter<update_window_dims = [0, 1],
          scatter_dims_to_operand_dims = [0, 1]>}> ({
        ^bb0(%old: tensor<f32>, %new: tensor<f32>):
          stablehlo.return %new : tensor<f32>
        }) : (tensor<34x34xf32>, tensor<2xi32>, tensor<32x32xf32>) -> tensor<34x34xf32>
      %ni = stablehlo.add %i, %one : tensor<i32>
      %nj = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %ni, %nj, %y : tensor<i32>, tensor<i32>, tensor<34x34xf32>
    }
  return %r#2 : tensor<34x34xf32>
}"""
"""Steps of a stencil; JAX's loops carry such a second counter."""
HALVES = """func.func @main(%x: tensor<4096xf32>)
    -> (tensor<4096xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %big = stablehlo.constant dense<1.0e9> : tensor<f32>
  %r:3 = stablehlo.while(%v = %x, %e = %big, %k = %zero)
      : tensor<4096xf32>, tensor<f32>, tensor<i32>
    cond {
      %eps = stablehlo.constant dense<0.1> : tensor<f32>
      %more = stablehlo.compare GT, %e, %eps, FLOAT
        : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %h = stablehlo.constant dense<0.5> : tensor<f32>
      %w = stablehlo.broadcast_in_dim %h, dims = [] : (tensor<f32>) -> tensor<4096xf32>
      %y = stablehlo.multiply %v, %w : tensor<4096xf32>
      %low = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.reduce(%y init: %low) applies stablehlo.maximum
        across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.add %k, %one : tensor<i32>
      stablehlo.return %y, %m, %n : tensor<4096xf32>, tensor<f32>, tensor<i32>
    }
  return %r#0, %r#2 : tensor<4096xf32>, tensor<i32>
}"""
"""A loop that data ends."""
PAIR = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<2xf32>
    cond {
      %n = stablehlo.constant dense<1000> : tensor<i32>
      %goes = stablehlo.compare LT, %i, %n, SIGNED
        : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %goes : tensor<i1>
    } do {
      %y = stablehlo.reverse %v, dims = [0] : tensor<2xf32>
      %s = stablehlo.multiply %y, %v : tensor<2xf32>
      %t = stablehlo.sine %s : tensor<2xf32>
      %z = stablehlo.add %t, %y : tensor<2xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %n, %z : tensor<i32>, tensor<2xf32>
    }
  return %r#1 : tensor<2xf32>
}"""
"""Two numbers: launches would take longer than the work."""
X = np.random.default_rng(5).random((34, 34), "f4")


def launches(text: str) -> tuple[KernelLaunches, ...]:
    module = gcg.parse(gcg.compile(text, target="cuda").stages("main")[-1][1])
    return host_program(module, "main")


def heat(x: np.ndarray[Any, Any], steps: int) -> np.ndarray[Any, Any]:
    x = x.copy()
    for _ in range(steps):
        x[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1]) * np.float32(0.5)
    return x


@pytest.mark.parametrize("target", TARGETS)
def test_steps_of_a_stencil(target: str) -> None:
    main = gcg.compile(HEAT, target=target).main
    for steps in (0, 3):
        np.testing.assert_array_equal(main(X, np.int32(steps)), heat(X, steps))


def test_a_grid_runs_each_step() -> None:
    found = launches(HEAT)
    assert found
    assert all(launch.loops for launch in found)
    assert not any(launch.is_alone for launch in found)


@pytest.mark.parametrize("target", TARGETS)
def test_a_loop_that_data_ends(target: str) -> None:
    x = np.linspace(0, 13, 4096, dtype="f4")
    y, count = gcg.compile(HALVES, target=target).main(x)
    assert int(count) == 8
    np.testing.assert_array_equal(y, x / 256)


def test_the_host_runs_a_loop_that_data_ends() -> None:
    found = launches(HALVES)
    assert {name for launch in found for name, _ in launch.loops} == {"scf.while"}
    assert not any(launch.is_alone for launch in found)


def test_little_work_stays_in_one_thread() -> None:
    (found,) = launches(PAIR)
    assert found.is_alone
    assert not found.loops
    explained = str(gcg.explain(PAIR, targets=["cuda"]))
    assert "one thread runs about" in explained
