"""Arguments that may overlap: what is proven of them, and what they compute."""

from __future__ import annotations

import numpy as np
import pytest
from lowering import apply, names

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.dialects.gcg import alias_groups

GROUP = '{gcg.alias_group = distinct[0]<"shared">}'
OTHER = '{gcg.alias_group = distinct[1]<"shared">}'
TARGETS = pytest.mark.parametrize("target", ["cpu", "sim"])

SHIFT = f"""
func.func @f(%A: memref<?xf32> {GROUP}, %B: memref<?xf32> {GROUP},
             %C: memref<?xf32> {OTHER}) {{
  %zero = arith.constant 0 : index
  %n = memref.dim %A, %zero : memref<?xf32>
  affine.for %i = 0 to %n {{
    %x = affine.load %A[%i] : memref<?xf32>
    %one = arith.constant 1.0 : f32
    %y = arith.addf %x, %one : f32
    affine.store %y, %B[%i] : memref<?xf32>
  }}
  affine.for %i = 0 to %n {{
    %x = affine.load %A[%i] : memref<?xf32>
    %y = affine.load %B[%i] : memref<?xf32>
    %z = arith.subf %x, %y : f32
    affine.store %z, %C[%i] : memref<?xf32>
  }}
  return
}}"""


@TARGETS
@pytest.mark.parametrize("shift", [-3, -1, 0, 1, 500])
@pytest.mark.sampled(5)
def test_overlapping_arguments_run_in_the_order_of_the_program(target: str, shift: int):
    n = 600
    memory = np.arange(3 * n, dtype="f4") % 13
    expected = memory.copy()
    for i in range(n):
        expected[n + shift + i] = expected[n + i] + 1
    given, other = memory[n : 2 * n], memory[n + shift : 2 * n + shift]
    c = np.zeros(n, "f4")
    gcg.compile(SHIFT, target=target).f(given, other, c)
    assert (memory == expected).all()
    assert (c == given - other).all()


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
def test_loops_of_one_group_are_ordered_and_others_are_not():
    kinds = [v.kind.value for v in gcg.analyze(gcg.parse(SHIFT))["f"].loops]
    assert kinds == ["sequential", "parallel"]
    apart = SHIFT.replace(GROUP, "", 1)
    kinds = [v.kind.value for v in gcg.analyze(gcg.parse(apart))["f"].loops]
    assert kinds == ["parallel", "parallel"]


@TARGETS
def test_overlap_between_groups_is_refused(target: str):
    function = gcg.compile(SHIFT, target=target).f
    memory = np.zeros(90, "f4")
    with pytest.raises(errors.OverlappingArguments, match="A and C overlap"):
        function(memory[:30], memory[60:], memory[20:50])
    with pytest.raises(errors.OverlappingArguments):
        gcg.compile(SHIFT.replace(GROUP, ""), target=target).f(
            memory[:30], memory[10:40], memory[60:]
        )


def test_accesses_of_a_group_are_still_checked_for_bounds():
    text = f"""
    func.func @f(%A: memref<8xf32> {GROUP}, %B: memref<8xf32> {GROUP}) {{
      affine.for %i = 0 to 8 {{
        %x = affine.load %A[%i + 1] : memref<8xf32>
        affine.store %x, %B[%i] : memref<8xf32>
      }}
      return
    }}"""
    with pytest.raises(errors.OutOfBounds):
        gcg.compile(text, target="cpu").f(np.zeros(8, "f4"), np.zeros(8, "f4"))


@TARGETS
def test_a_product_into_its_own_factor(target: str):
    n = 12
    text = f"""
    func.func @f(%A: memref<{n}x{n}xf64> {GROUP}, %B: memref<{n}x{n}xf64>,
                 %C: memref<{n}x{n}xf64> {GROUP}) {{
      affine.for %i = 0 to {n} {{
        affine.for %j = 0 to {n} {{
          affine.for %k = 0 to {n} {{
            %a = affine.load %A[%i, %k] : memref<{n}x{n}xf64>
            %b = affine.load %B[%k, %j] : memref<{n}x{n}xf64>
            %c = affine.load %C[%i, %j] : memref<{n}x{n}xf64>
            %p = arith.mulf %a, %b : f64
            %s = arith.addf %c, %p : f64
            affine.store %s, %C[%i, %j] : memref<{n}x{n}xf64>
          }}
        }}
      }}
      return
    }}"""
    memory = np.arange((n + 1) * n, dtype="f8") % 3
    b = (np.arange(n * n, dtype="f8") % 2).reshape(n, n)
    expected = memory.copy()
    rows, result = expected[:-n].reshape(n, n), expected[n:].reshape(n, n)
    for i, j, k in np.ndindex(n, n, n):
        result[i, j] += rows[i, k] * b[k, j]
    program = gcg.compile(text, target=target)
    program.f(memory[:-n].reshape(n, n), b, memory[n:].reshape(n, n))
    assert (memory == expected).all()


RECURSIVE = """
func.func @step(%A: memref<64xf32>, %B: memref<64xf32>, %k: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %done = arith.cmpi eq, %k, %zero : index
  cf.cond_br %done, ^end, ^more
^more:
  affine.for %i = 0 to 63 {
    %x = affine.load %A[%i] : memref<64xf32>
    affine.store %x, %B[%i + 1] : memref<64xf32>
  }
  %m = arith.subi %k, %one : index
  call @step(%A, %B, %m) : (memref<64xf32>, memref<64xf32>, index) -> ()
  return
^end:
  return
}
func.func @once(%A: memref<64xf32>, %k: index) {
  call @step(%A, %A, %k) : (memref<64xf32>, memref<64xf32>, index) -> ()
  return
}
func.func @apart(%A: memref<64xf32>, %B: memref<64xf32>, %k: index) {
  call @step(%A, %B, %k) : (memref<64xf32>, memref<64xf32>, index) -> ()
  return
}"""


@TARGETS
def test_a_buffer_given_twice_is_one_buffer_in_the_callee(target: str):
    given = np.arange(5, 69, dtype="f4")
    gcg.compile(RECURSIVE, target=target).once(given, 1)
    assert (given == 5).all()


def test_groups_follow_calls():
    functions = apply("propagate-aliases", RECURSIVE).functions
    one, other, number = alias_groups(functions["step"])
    assert one is not None
    assert one == other
    assert number is None
    assert not any(alias_groups(functions["once"]))
    assert not any(alias_groups(functions["apart"]))


def test_views_of_one_buffer_are_found():
    text = """
    func.func @g(%A: memref<4xf32>, %B: memref<4xf32, strided<[1], offset: 2>>,
                 %C: memref<4xf32>) {
      call @g(%A, %B, %C) : (memref<4xf32>, memref<4xf32, strided<[1], offset: 2>>,
                             memref<4xf32>) -> ()
      return
    }
    func.func @f(%A: memref<8xf32>) {
      %0 = memref.subview %A[0][4][1] : memref<8xf32> to memref<4xf32>
      %1 = memref.subview %A[2][4][1]
        : memref<8xf32> to memref<4xf32, strided<[1], offset: 2>>
      %2 = memref.alloc() : memref<4xf32>
      call @g(%0, %1, %2) : (memref<4xf32>, memref<4xf32, strided<[1], offset: 2>>,
                             memref<4xf32>) -> ()
      return
    }"""
    found = apply("propagate-aliases", text)
    one, other, third = alias_groups(found.functions["g"])
    assert one is not None
    assert one == other
    assert third is None


def test_what_reorders_them_is_refused():
    text = f"""
    func.func @f(%A: memref<8x8xf32> {GROUP}, %B: memref<8x8xf32> {GROUP}) {{
      affine.for %i = 0 to 8 {{
        affine.for %j = 0 to 8 {{
          %x = affine.load %A[%i, %j] : memref<8x8xf32>
          affine.store %x, %B[%i, %j] : memref<8x8xf32>
        }}
      }}
      return
    }}"""
    tiled = apply("tile{sizes=[4,4]}", text.replace(GROUP, ""))
    assert names(tiled).count("affine.for") == 4
    for passes in ("tile{sizes=[4,4]}", "interchange{order=[j,i]}"):
        with pytest.raises(errors.IllegalTransformation):
            apply(passes, text)


def test_kernels_keep_the_groups():
    program = gcg.compile(SHIFT, target="sim")
    program.f(*(np.zeros(8, "f4") for _ in range(3)))
    (_, last) = program.stages("f")[-1]
    launched = [op for op in gcg.parse(last).walk() if op.name == "gpu.func"]
    assert [sum(g is not None for g in alias_groups(op)) for op in launched] == [2, 3]
    assert "affine.parallel" not in names(gcg.parse(last))
