"""Functions of memrefs without a rank run once per rank they are called with."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline

SET = """
func.func private @set(%A: memref<*xf32>, %x: f32) {
  %r = memref.rank %A : memref<*xf32>
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %is1 = arith.cmpi eq, %r, %one : index
  cf.cond_br %is1, ^line, ^more
^line:
  %0 = memref.cast %A : memref<*xf32> to memref<4xf32>
  affine.for %i = 0 to 4 {
    affine.store %x, %0[%i] : memref<4xf32>
  }
  return
^more:
  %is2 = arith.cmpi slt, %two, %r : index
  cf.cond_br %is2, ^box(%x : f32), ^table
^table:
  %1 = memref.cast %A : memref<*xf32> to memref<4x?xf32>
  affine.for %i = 0 to 4 {
    affine.store %x, %1[%i, 1] : memref<4x?xf32>
  }
  return
^box(%y: f32):
  %z = arith.addf %y, %x : f32
  %2 = memref.cast %A : memref<*xf32> to memref<?x?x?xf32>
  affine.store %z, %2[0, 1, 0] : memref<?x?x?xf32>
  return
}
func.func private @twice(%A: memref<*xf32>, %x: f32) {
  call @set(%A, %x) : (memref<*xf32>, f32) -> ()
  call @set(%A, %x) : (memref<*xf32>, f32) -> ()
  return
}
func.func @f(%x: f32, %A: memref<4xf32>, %B: memref<4x3xf32>, %C: memref<1x2x2xf32>) {
  %0 = memref.cast %A : memref<4xf32> to memref<*xf32>
  %1 = memref.cast %B : memref<4x3xf32> to memref<*xf32>
  %2 = memref.cast %C : memref<1x2x2xf32> to memref<*xf32>
  call @set(%0, %x) : (memref<*xf32>, f32) -> ()
  call @twice(%1, %x) : (memref<*xf32>, f32) -> ()
  call @set(%2, %x) : (memref<*xf32>, f32) -> ()
  return
}"""


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_each_call_takes_the_branch_of_its_rank(target: str):
    a, b, c = (np.zeros(s, "f4") for s in ((4,), (4, 3), (1, 2, 2)))
    gcg.compile(SET, target=target).f(3.0, a, b, c)
    assert (a == 3).all()
    assert (b[:, 1] == 3).all()
    assert b.sum() == 12
    assert c[0, 1, 0] == 6
    assert c.sum() == 6


def test_what_is_left_are_nests_without_branches():
    program = gcg.compile(SET, target="cpu")
    program.f(3.0, *(np.zeros(s, "f4") for s in ((4,), (4, 3), (1, 2, 2))))
    stages = dict(program.stages("f"))
    assert "cf." not in stages["keep-reachable"]
    assert stages["keep-reachable"].count("func.func") == 1
    assert "memref<*xf32>" not in stages["canonicalize"]


def test_copies_are_made_once_per_type():
    module = run_pipeline(gcg.parse(SET), parse_pipeline("specialize-ranks"))
    copies = [name for name in module.functions if "_ranked" in name]
    assert sorted(name.partition("_")[0] for name in copies) == ["set"] * 3 + ["twice"]


def test_a_function_that_calls_itself_gets_one_copy():
    text = """
    func.func @count(%A: memref<*xf32>, %n: index) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %done = arith.cmpi eq, %n, %zero : index
      cf.cond_br %done, ^end, ^again
    ^again:
      %m = arith.subi %n, %one : index
      %0 = memref.cast %A : memref<*xf32> to memref<4xf32>
      %x = memref.load %0[%m] : memref<4xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %0[%m] : memref<4xf32>
      call @count(%A, %m) : (memref<*xf32>, index) -> ()
      return
    ^end:
      return
    }
    func.func @f(%A: memref<4xf32>) {
      %0 = memref.cast %A : memref<4xf32> to memref<*xf32>
      %n = arith.constant 3 : index
      call @count(%0, %n) : (memref<*xf32>, index) -> ()
      return
    }"""
    module = run_pipeline(gcg.parse(text), parse_pipeline("specialize-ranks"))
    assert list(module.functions) == ["count", "f", "count_ranked0"]
    for target in ("cpu", "sim"):
        given = np.arange(1, 5, dtype="f4")
        gcg.compile(text, target=target).f(given)
        assert given.tolist() == [2, 4, 6, 4]
