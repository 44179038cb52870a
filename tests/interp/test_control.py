"""Branches, loops and calls in the interpreter, against Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors


def call(text: str, *arguments: Any, **options: Any) -> Any:
    return gcg.compile(text, target="interp", **options).f(*arguments)


def test_blocks_and_switches():
    text = """
    func.func @f(%n: i32) -> i32 {
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      cf.br ^head(%n, %zero : i32, i32)
    ^head(%i: i32, %sum: i32):
      cf.switch %i : i32, [default: ^more, 0: ^end(%sum : i32), -1: ^bad]
    ^more:
      %s = arith.addi %sum, %i : i32
      %j = arith.subi %i, %one : i32
      cf.br ^head(%j, %s : i32, i32)
    ^bad:
      cf.br ^end(%n : i32)
    ^end(%r: i32):
      return %r : i32
    }"""
    assert (call(text, 5), call(text, 0), call(text, -1)) == (15, 0, -1)


def test_while_and_regions():
    text = """
    func.func @f(%n: i64) -> (i64, index) {
      %one = arith.constant 1 : i64
      %two = arith.constant 2 : i64
      %three = arith.constant 3 : i64
      %zero = arith.constant 0 : i64
      %r:2 = scf.while (%x = %n, %c = %zero) : (i64, i64) -> (i64, i64) {
        %go = arith.cmpi ne, %x, %one : i64
        scf.condition(%go) %x, %c : i64, i64
      } do {
      ^bb0(%x: i64, %c: i64):
        %odd = arith.andi %x, %one : i64
        %is = arith.trunci %odd : i64 to i1
        %y = scf.if %is -> i64 {
          %a = arith.muli %x, %three : i64
          %b = arith.addi %a, %one : i64
          scf.yield %b : i64
        } else {
          %b = arith.shrsi %x, %one : i64
          scf.yield %b : i64
        }
        %d = arith.addi %c, %one : i64
        scf.yield %y, %d : i64, i64
      }
      %i = arith.index_cast %r#1 : i64 to index
      %s = scf.index_switch %i -> index
      case 111 {
        %k = scf.execute_region -> index {
          cf.br ^a
        ^a:
          scf.yield %i : index
        }
        scf.yield %k : index
      }
      default {
        %k = arith.constant 7 : index
        scf.yield %k : index
      }
      return %r#1, %s : i64, index
    }"""
    assert call(text, 27) == (111, 111)
    assert call(text, 8) == (3, 7)


def test_parallel_loops_reduce():
    text = """
    func.func @f(%a: memref<?xf32>, %n: index) -> (f32, f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %z = arith.constant 10.0 : f32
      %s = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%z) -> f32 {
        %v = memref.load %a[%i] : memref<?xf32>
        scf.reduce(%v : f32) {
        ^bb0(%x: f32, %y: f32):
          %t = arith.addf %x, %y : f32
          scf.reduce.return %t : f32
        }
      }
      %m = affine.parallel (%i) = (0) to (symbol(%n)) reduce ("maximumf") -> f32 {
        %v = affine.load %a[%i] : memref<?xf32>
        affine.yield %v : f32
      }
      return %s, %m : f32, f32
    }"""
    a = np.array([3, -1, 5], "f4")
    assert call(text, a, 3) == (17.0, 5.0)
    assert call(text, a, 0) == (10.0, -np.inf)


RECURSIVE = """
func.func @f(%n: i64) -> i64 {
  %one = arith.constant 1 : i64
  %end = arith.cmpi sle, %n, %one : i64
  %r = scf.if %end -> i64 {
    scf.yield %one : i64
  } else {
    %m = arith.subi %n, %one : i64
    %k = func.call @f(%m) : (i64) -> i64
    %p = arith.muli %n, %k : i64
    scf.yield %p : i64
  }
  return %r : i64
}"""


def test_recursion_has_a_limit():
    assert call(RECURSIVE, 10) == 3628800
    call(RECURSIVE, 199)
    with pytest.raises(errors.CallsTooDeep, match="200"):
        call(RECURSIVE, 300)


def test_functions_are_values():
    text = """
    func.func private @up(%x: i32) -> i32 {
      %y = arith.addi %x, %x : i32
      return %y : i32
    }
    func.func private @down(%x: i32) -> i32 {
      %z = arith.constant 0 : i32
      %y = arith.subi %z, %x : i32
      return %y : i32
    }
    func.func @f(%c: i1, %x: i32) -> i32 {
      %u = func.constant @up : (i32) -> i32
      %d = func.constant @down : (i32) -> i32
      %g = arith.select %c, %u, %d : (i32) -> i32
      %r = func.call_indirect %g(%x) : (i32) -> i32
      return %r : i32
    }"""
    assert (call(text, True, 4), call(text, False, 4)) == (8, -4)


def test_python_runs_what_has_no_body():
    text = """
    func.func private @twice(memref<3xf32>, f32) -> f32
    func.func @f(%m: memref<3xf32>, %x: f32) -> f32 {
      %r = func.call @twice(%m, %x) : (memref<3xf32>, f32) -> f32
      "my.note"(%r) {word = "w"} : (f32) -> ()
      return %r : f32
    }"""
    told: list[object] = []

    def twice(m: np.ndarray, x: float) -> float:
        m *= 2
        return 2 * x

    handlers = {"twice": twice, "my.note": lambda x, word: told.append((x, word))}
    m = np.ones(3, "f4")
    assert call(text, m, 1.5, handlers=handlers) == 3.0
    assert (m.tolist(), told) == ([2, 2, 2], [(3.0, "w")])
    with pytest.raises(errors.ExternalFunction):
        call(text, m, 1.5, handlers={"my.note": print})
    count = 'func.func @f() -> i64 { %r = "my.n"() : () -> i64 return %r : i64 }'
    for number in (np.int64(-3), np.array(-3), np.uint64(2**64 - 3)):
        assert call(count, handlers={"my.n": lambda number=number: number}) == -3


def test_affine_indices():
    text = """
    func.func @f(%i: index, %n: index) -> (index, index, index, index) {
      %a = affine.min affine_map<(d0)[s0] -> (d0 floordiv 2, s0)>(%i)[%n]
      %b:2 = affine.delinearize_index %i into (5, 3) : index, index
      %l = affine.linearize_index [%b#0, %b#1] by (5, 3) : index
      return %a, %b#0, %b#1, %l : index, index, index, index
    }"""
    assert call(text, 11, 4) == (4, 3, 2, 11)
    assert call(text, -3, 4)[0] == -2


def test_the_interpreter_has_no_generated_code():
    program = gcg.compile(RECURSIVE, target="interp")
    with pytest.raises(errors.NothingCompiled, match="another target"):
        program.source("f")
    with pytest.raises(errors.NoStreams):
        program.f(3, stream=1)
