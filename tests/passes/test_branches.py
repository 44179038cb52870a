"""Functions of several blocks: values through branches, and kernels on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from lowering import apply, function, names

import gpucodegen as gcg

THROUGH_BRANCHES = """
func.func private @twice(%x: index) -> index {
  %y = arith.addi %x, %x : index
  return %y : index
}
func.func @f(%n: index, %c: i1) -> index {
  %r = affine.for %i = 0 to 1 iter_args(%a = %n) -> index {
    %b = arith.addi %a, %n : index
    affine.yield %b : index
  }
  cf.cond_br %c, ^called(%r : index), ^zero
^called(%x: index):
  %z = func.call @twice(%x) : (index) -> index
  cf.br ^end(%z : index)
^zero:
  %w = arith.subi %n, %n : index
  cf.br ^end(%w : index)
^end(%q: index):
  return %q : index
}
"""


@pytest.mark.parametrize("pass_", ["canonicalize", "inline", "inline,canonicalize"])
def test_branches_pass_the_values_that_replaced_others(pass_: str):
    found = apply(pass_, THROUGH_BRANCHES)
    assert ("affine.for" in names(found)) == ("canonicalize" not in pass_)
    assert ("func.call" in names(found)) == ("inline" not in pass_)
    assert function(found)(3, True) == 12
    assert function(found)(3, False) == 0


NEST_IN_A_BLOCK = """
func.func @f(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>,
             %c: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %A, %c0 : memref<?x?xf32>
  %k = memref.dim %A, %c1 : memref<?x?xf32>
  %n = memref.dim %B, %c1 : memref<?x?xf32>
  %zero = arith.constant 0.0 : f32
  cf.cond_br %c, ^multiply, ^end(%zero : f32)
^multiply:
  affine.for %i = 0 to %m {
    affine.for %j = 0 to %n {
      affine.for %l = 0 to %k {
        %a = affine.load %A[%i, %l] : memref<?x?xf32>
        %b = affine.load %B[%l, %j] : memref<?x?xf32>
        %old = affine.load %C[%i, %j] : memref<?x?xf32>
        %p = arith.mulf %a, %b : f32
        %new = arith.addf %old, %p : f32
        affine.store %new, %C[%i, %j] : memref<?x?xf32>
      }
    }
  }
  %row = affine.for %j = 0 to %n iter_args(%s = %zero) -> f32 {
    %v = affine.load %C[0, %j] : memref<?x?xf32>
    %t = arith.addf %s, %v : f32
    affine.yield %t : f32
  }
  cf.br ^end(%row : f32)
^end(%r: f32):
  return %r : f32
}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_nests_in_blocks_become_kernels(target: str):
    program = gcg.compile(NEST_IN_A_BLOCK, target=target)
    a = np.arange(6, dtype="f4").reshape(2, 3)
    b = np.arange(12, dtype="f4").reshape(3, 4)
    c = np.zeros((2, 4), "f4")
    assert program.f(a, b, c, False) == 0
    assert program.f(a, b, c, True) == (a @ b)[0].sum()
    np.testing.assert_array_equal(c, a @ b)
    assert "rt.launch" in program.source("f")


LOOP_OF_BRANCHES = """
func.func @f(%A: memref<?xf32>, %n: index) -> (f32, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  cf.br ^head(%c0, %zero : index, f32)
^head(%i: index, %s: f32):
  %inside = arith.cmpi slt, %i, %n : index
  cf.cond_br %inside, ^body, ^end
^body:
  %v = memref.load %A[%i] : memref<?xf32>
  %negative = arith.cmpf olt, %v, %zero : f32
  %next = arith.addi %i, %c1 : index
  cf.cond_br %negative, ^early, ^add
^add:
  %t = arith.addf %s, %v : f32
  memref.store %t, %A[%i] : memref<?xf32>
  cf.br ^head(%next, %t : index, f32)
^early:
  return %zero, %i : f32, index
^end:
  return %s, %i : f32, index
}
"""


def test_a_loop_made_of_branches_is_one_kernel():
    program = gcg.compile(LOOP_OF_BRANCHES, target="cpu")
    values = np.arange(1, 6, dtype="f4")
    assert program.f(values, 5) == (15, 5)
    np.testing.assert_array_equal(values, [1, 3, 6, 10, 15])
    values[2] = -1
    assert program.f(values, 5) == (0, 2)
    assert program.source("f").count("rt.launch") == 1


def test_what_only_the_host_can_do_stays_on_the_host():
    text = LOOP_OF_BRANCHES.replace(
        "  %zero =",
        "  %own = memref.alloc(%n) : memref<?xf32>\n"
        "  memref.copy %A, %own : memref<?xf32> to memref<?xf32>\n"
        "  memref.dealloc %own : memref<?xf32>\n  %zero =",
    )
    program = gcg.compile(text, target="cpu")
    assert program.f(np.ones(4, "f4"), 4) == (4, 4)
    assert "rt.launch" not in program.source("f")
