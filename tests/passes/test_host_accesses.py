"""Loops that stay on the host of a GPU and access its memory element by element."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.compiling.lowering import Stages, map_module
from gpucodegen.dialects.builtin import Module
from gpucodegen.options import Options
from gpucodegen.passes.outlining.host_accesses import element_accesses

PRINTED = """
func.func private @printF64(f64)
func.func @f(%A: memref<8xf64>, %B: memref<8xf64>) {
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<8xf64>
    affine.store %a, %B[%i] : memref<8xf64>
    func.call @printF64(%a) : (f64) -> ()
  }
  return
}
"""
SOLVER = """
func.func @f(%A: memref<8xf64>, %flag: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1.0 : f64
  scf.while : () -> () {
    affine.for %i = 0 to 8 {
      %a = affine.load %A[%i] : memref<8xf64>
      %next = arith.addf %a, %one : f64
      affine.store %next, %A[%i] : memref<8xf64>
    }
    %old = memref.load %flag[%c0] : memref<1xi32>
    %minus = arith.constant -1 : i32
    %count = arith.addi %old, %minus : i32
    memref.store %count, %flag[%c0] : memref<1xi32>
    %goes_on = arith.cmpi sgt, %count, %zero : i32
    scf.condition(%goes_on)
  } do {
    scf.yield
  }
  return
}
"""


def mapped(text: str, target: str) -> Module:
    module, stages = gcg.parse(text), Stages()
    count = len(module.functions["f"].regions[0].blocks[0].arguments)
    key = target, (None,) * count, ()
    return map_module(module, "f", key, Options(target=target), stages)


@pytest.mark.parametrize("target", ["cuda", "sim"])
def test_a_loop_around_a_call_is_told(target: str) -> None:
    with pytest.warns(
        errors.ElementTransfers, match="'printF64' in it runs on the host"
    ) as told:
        module = mapped(PRINTED, target)
    assert len(told) == 1
    assert "4:3: warning: the loop stays on the host and loads and stores" in str(
        told[0].message
    )
    (found,) = element_accesses(module.functions["f"])
    assert (found.loads, found.stores, found.arrays) == (1, 1, ("A", "B"))


def test_a_number_beside_a_launch_is_not() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module = mapped(SOLVER, "sim")
    assert "gpu.launch_func" in str(module)
    assert not list(element_accesses(module.functions["f"]))


def test_the_cpu_has_no_transfers() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mapped(PRINTED, "cpu")


def test_an_explanation_lists_the_loop() -> None:
    explained = str(gcg.explain(PRINTED, targets=["sim"]))
    assert "left on the host" in explained
    assert "the loop over i of line 4 loads and stores single elements" in explained


def test_the_loop_runs(capfd: pytest.CaptureFixture[str]) -> None:
    a, b = np.arange(8.0), np.zeros(8)
    with pytest.warns(errors.ElementTransfers):
        gcg.compile(PRINTED, target="sim")["f"](a, b)
    np.testing.assert_array_equal(a, b)
    assert capfd.readouterr().out == "01234567"
