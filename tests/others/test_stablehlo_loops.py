"""Loops of StableHLO: counters become scalars, and a GPU runs the bodies in grids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.analysis.work import KernelLaunches, host_program

TARGETS = ["cpu", pytest.param("interp", marks=pytest.mark.slow), "sim"]
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
DECAY = """func.func @main(%x: tensor<4096xf32>, %a: tensor<f32>) -> tensor<4096xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %v = %x, %w = %a)
      : tensor<i32>, tensor<4096xf32>, tensor<f32>
    cond {
      %n = stablehlo.constant dense<9> : tensor<i32>
      %least = stablehlo.constant dense<0.01> : tensor<f32>
      %less = stablehlo.compare LT, %i, %n, SIGNED
        : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %more = stablehlo.compare GT, %w, %least, FLOAT
        : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %both = stablehlo.and %less, %more : tensor<i1>
      stablehlo.return %both : tensor<i1>
    } do {
      %b = stablehlo.broadcast_in_dim %w, dims = [] : (tensor<f32>) -> tensor<4096xf32>
      %y = stablehlo.multiply %v, %b : tensor<4096xf32>
      %low = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.reduce(%y init: %low) applies stablehlo.add
        across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
      %k = stablehlo.constant dense<4096.0> : tensor<f32>
      %q = stablehlo.divide %m, %k : tensor<f32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %n, %y, %q : tensor<i32>, tensor<4096xf32>, tensor<f32>
    }
  return %r#1 : tensor<4096xf32>
}"""
"""A number of each iteration decides about the next one."""
SUMS = """func.func @main(%k: tensor<512x1xi32>, %x: tensor<512xf32>) -> tensor<8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<8xf32>
  %r = "stablehlo.scatter"(%z, %k, %x) <{scatter_dimension_numbers =
      #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      %s = stablehlo.add %old, %new : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8xf32>, tensor<512x1xi32>, tensor<512xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}"""
"""Sums by key."""
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
    assert max(launch.threads or 0 for launch in found) > 1000
    assert all((launch.operations or 0) < 9 for launch in found if launch.is_alone)


@pytest.mark.slow
def test_little_work_stays_in_one_thread() -> None:
    (found,) = launches(PAIR)
    assert found.is_alone
    assert not found.loops
    explained = str(gcg.explain(PAIR, targets=["cuda"]))
    assert "one thread runs about" in explained


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", TARGETS)
def test_a_number_that_decides(target: str) -> None:
    x = np.full(4096, 0.5, "f4")
    found = gcg.compile(DECAY, target=target).main(x, np.float32(0.5))
    # Means 1/4, 1/16 and 1/256: each is the next factor.
    np.testing.assert_array_equal(found, np.full(4096, 1 / 256, "f4"))


def test_one_element_is_read_in_an_iteration() -> None:
    program = gcg.compile(DECAY, target="cuda")
    program.stages("main")
    host = program.source("main").partition("\ndef main_k0")[0]
    loop = host.partition("while True")[2].partition("return")[0]
    assert loop.count("rt.load(") == 1
    assert "rt.store(" not in loop


def test_sums_by_key_are_parallel() -> None:
    assert not any(launch.is_alone for launch in launches(SUMS))
    keys = np.arange(512, dtype="i4")[:, None] % 9
    found = gcg.compile(SUMS, target="sim").main(keys, np.ones(512, "f4"))
    np.testing.assert_array_equal(found, np.bincount(keys[:, 0])[:8])


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_parts_of_a_concatenation_are_computed_in_place(target: str):
    """A roll is two slices and their concatenation: one loop nest for each slice."""
    text = """func.func @main(%x: tensor<8x9xf32>) -> tensor<8x9xf32> {
      %a = stablehlo.slice %x [3:8, 0:9] : (tensor<8x9xf32>) -> tensor<5x9xf32>
      %b = stablehlo.slice %x [0:3, 0:9] : (tensor<8x9xf32>) -> tensor<3x9xf32>
      %n = stablehlo.negate %b : tensor<3x9xf32>
      %y = stablehlo.concatenate %a, %n, dim = 0
        : (tensor<5x9xf32>, tensor<3x9xf32>) -> tensor<8x9xf32>
      return %y : tensor<8x9xf32>
    }"""
    x = np.arange(72, dtype="f4").reshape(8, 9)
    program = gcg.compile(text, target=target)
    np.testing.assert_array_equal(program.main(x), np.concatenate([x[3:], -x[:3]]))
    allocations = program.source("main").count("rt.alloc(")
    assert allocations == 1, "only the result is stored"


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_a_roll_is_read_where_it_is_needed(target: str):
    text = """func.func @main(%x: tensor<8x9xf32>) -> tensor<8x9xf32> {
      %a = stablehlo.slice %x [0:8, 7:9] : (tensor<8x9xf32>) -> tensor<8x2xf32>
      %b = stablehlo.slice %x [0:8, 0:7] : (tensor<8x9xf32>) -> tensor<8x7xf32>
      %r = stablehlo.concatenate %a, %b, dim = 1
        : (tensor<8x2xf32>, tensor<8x7xf32>) -> tensor<8x9xf32>
      %s = stablehlo.multiply %r, %r : tensor<8x9xf32>
      %y = stablehlo.subtract %s, %r : tensor<8x9xf32>
      return %y : tensor<8x9xf32>
    }"""
    x = np.arange(72, dtype="f4").reshape(8, 9)
    program = gcg.compile(text, target=target)
    r = np.roll(x, 2, 1)
    np.testing.assert_array_equal(program.main(x), r * r - r)
    assert program.source("main").count("rt.launch(") == 1


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_a_single_update_outside_is_skipped_without_a_branch(target: str):
    """As ``x.at[i].add(y)`` prints it; each row of the window is checked alone."""
    text = """func.func @main(
        %x: tensor<4x3xf32>, %i: tensor<1xi32>, %y: tensor<2x3xf32>
      ) -> tensor<4x3xf32> {
      %r = "stablehlo.scatter"(%x, %i, %y) <{scatter_dimension_numbers =
          #stablehlo.scatter<update_window_dims = [0, 1],
          scatter_dims_to_operand_dims = [0]>}> ({
        ^bb0(%old: tensor<f32>, %new: tensor<f32>):
          %s = stablehlo.add %old, %new : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<4x3xf32>, tensor<1xi32>, tensor<2x3xf32>) -> tensor<4x3xf32>
      return %r : tensor<4x3xf32>
    }"""
    x, y = np.arange(12, dtype="f4").reshape(4, 3), np.ones((2, 3), "f4")
    y[1] = 5
    program = gcg.compile(text, target=target)
    for start in (0, 2, 3, 4, -1, -7):
        want = x.copy()
        for n in (0, 1):
            if 0 <= start + n < 4:
                want[start + n] += y[n]
        got = program.main(x, np.array([start], "i4"), y)
        np.testing.assert_array_equal(got, want)
