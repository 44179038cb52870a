"""Tensors that loops carry and branches choose, beside NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline

F = "f4"
Answer = Callable[..., object]
CONSTANTS = "\n".join(
    f"  %c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 4, 8, 10, 16)
)
TILED = """func.func @f(%A: tensor<8x16xf32>, %B: tensor<16x8xf32>, %C: tensor<8x8xf32>)
    -> tensor<8x8xf32> {
CONSTANTS
  %r = scf.for %i = %c0 to %c8 step %c4 iter_args(%x = %C) -> (tensor<8x8xf32>) {
    %s = scf.for %j = %c0 to %c8 step %c2 iter_args(%y = %x) -> (tensor<8x8xf32>) {
      %t = scf.for %k = %c0 to %c16 step %c8 iter_args(%z = %y) -> (tensor<8x8xf32>) {
        %a = tensor.extract_slice %A[%i, %k] [4, 8] [1, 1]
            : tensor<8x16xf32> to tensor<4x8xf32>
        %b = tensor.extract_slice %B[%k, %j] [8, 2] [1, 1]
            : tensor<16x8xf32> to tensor<8x2xf32>
        %c = tensor.extract_slice %z[%i, %j] [4, 2] [1, 1]
            : tensor<8x8xf32> to tensor<4x2xf32>
        %d = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x2xf32>)
            outs(%c : tensor<4x2xf32>) -> tensor<4x2xf32>
        %e = tensor.insert_slice %d into %z[%i, %j] [4, 2] [1, 1]
            : tensor<4x2xf32> into tensor<8x8xf32>
        scf.yield %e : tensor<8x8xf32>
      }
      scf.yield %t : tensor<8x8xf32>
    }
    scf.yield %s : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}"""
UNEVEN = """#size = affine_map<(i)[n] -> (3, n - i)>
func.func @f(%A: tensor<?x?xf32>) -> tensor<?x?xf32> {
CONSTANTS
  %n = tensor.dim %A, %c0 : tensor<?x?xf32>
  %m = tensor.dim %A, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %r = scf.for %i = %c0 to %n step %c3 iter_args(%x = %e) -> (tensor<?x?xf32>) {
    %s = affine.min #size(%i)[%n]
    %a = tensor.extract_slice %A[%i, 0] [%s, %m] [1, 1]
        : tensor<?x?xf32> to tensor<?x?xf32>
    %c = tensor.extract_slice %x[%i, 0] [%s, %m] [1, 1]
        : tensor<?x?xf32> to tensor<?x?xf32>
    %d = linalg.add ins(%a, %a : tensor<?x?xf32>, tensor<?x?xf32>)
        outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
    %y = tensor.insert_slice %d into %x[%i, 0] [%s, %m] [1, 1]
        : tensor<?x?xf32> into tensor<?x?xf32>
    scf.yield %y : tensor<?x?xf32>
  }
  return %r : tensor<?x?xf32>
}"""
FORALL = """func.func @f(%A: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %r = scf.forall (%i, %j) = (0, 0) to (8, 8) step (4, 2)
      shared_outs(%o = %e) -> (tensor<8x8xf32>) {
    %a = tensor.extract_slice %A[%i, %j] [4, 2] [1, 1]
        : tensor<8x8xf32> to tensor<4x2xf32>
    %c = tensor.extract_slice %o[%i, %j] [4, 2] [1, 1]
        : tensor<8x8xf32> to tensor<4x2xf32>
    %d = linalg.mul ins(%a, %a : tensor<4x2xf32>, tensor<4x2xf32>)
        outs(%c : tensor<4x2xf32>) -> tensor<4x2xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %d into %o[%i, %j] [4, 2] [1, 1]
          : tensor<4x2xf32> into tensor<8x8xf32>
    }
  }
  return %r : tensor<8x8xf32>
}"""
REVERSED = """func.func @f(%A: tensor<8xf32>) -> tensor<8xf32> {
CONSTANTS
  %k = arith.addf %A, %A : tensor<8xf32>
  %r = scf.forall (%i) in (8) shared_outs(%o = %k) -> (tensor<8xf32>) {
    %last = arith.constant 7 : index
    %j = arith.subi %last, %i : index
    %a = tensor.extract_slice %o[%j] [1] [1] : tensor<8xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %a into %o[%i] [1] [1]
          : tensor<1xf32> into tensor<8xf32>
    }
  }
  return %r : tensor<8xf32>
}"""
JACOBI = """#left = affine_map<(i) -> (i)>
#right = affine_map<(i) -> (i + 2)>
func.func @f(%A: tensor<16xf32>) -> tensor<16xf32> {
CONSTANTS
  %e = tensor.empty() : tensor<16xf32>
  %r:2 = scf.for %t = %c0 to %c10 step %c1 iter_args(%x = %A, %y = %e)
      -> (tensor<16xf32>, tensor<16xf32>) {
    %a = tensor.extract_slice %x[0] [14] [1] : tensor<16xf32> to tensor<14xf32>
    %b = tensor.extract_slice %x[2] [14] [1] : tensor<16xf32> to tensor<14xf32>
    %copy = linalg.copy ins(%x : tensor<16xf32>) outs(%y : tensor<16xf32>)
        -> tensor<16xf32>
    %c = tensor.extract_slice %copy[1] [14] [1] : tensor<16xf32> to tensor<14xf32>
    %d = linalg.add ins(%a, %b : tensor<14xf32>, tensor<14xf32>)
        outs(%c : tensor<14xf32>) -> tensor<14xf32>
    %n = tensor.insert_slice %d into %copy[1] [14] [1]
        : tensor<14xf32> into tensor<16xf32>
    scf.yield %n, %x : tensor<16xf32>, tensor<16xf32>
  }
  return %r#0 : tensor<16xf32>
}"""
SWAPPED = """func.func @f(%A: tensor<4xf32>, %B: tensor<4xf32>, %n: index)
    -> (tensor<4xf32>, tensor<4xf32>) {
CONSTANTS
  %r:2 = scf.for %t = %c0 to %n step %c1 iter_args(%x = %A, %y = %B)
      -> (tensor<4xf32>, tensor<4xf32>) {
    %s = arith.addf %x, %y : tensor<4xf32>
    scf.yield %y, %s : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}"""
CHOSEN = """func.func @f(%A: tensor<4xf32>, %p: i1) -> (tensor<4xf32>, tensor<4xf32>) {
CONSTANTS
  %two = arith.constant dense<2.0> : tensor<4xf32>
  %z = arith.constant 9.0 : f32
  %k = arith.mulf %A, %two : tensor<4xf32>
  %r:2 = scf.if %p -> (tensor<4xf32>, tensor<4xf32>) {
    %i = tensor.insert %z into %k[%c1] : tensor<4xf32>
    scf.yield %i, %two : tensor<4xf32>, tensor<4xf32>
  } else {
    %s = arith.addf %k, %A : tensor<4xf32>
    scf.yield %k, %s : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}"""
DOUBLED = """func.func @f(%A: tensor<4xf32>, %limit: f32) -> (tensor<4xf32>, index) {
CONSTANTS
  %r:2 = scf.while (%x = %A, %n = %c0) : (tensor<4xf32>, index)
      -> (tensor<4xf32>, index) {
    %v = tensor.extract %x[%c1] : tensor<4xf32>
    %go = arith.cmpf olt, %v, %limit : f32
    scf.condition(%go) %x, %n : tensor<4xf32>, index
  } do {
  ^bb0(%y: tensor<4xf32>, %m: index):
    %s = arith.addf %y, %y : tensor<4xf32>
    %k = arith.addi %m, %c1 : index
    scf.yield %s, %k : tensor<4xf32>, index
  }
  return %r#0, %r#1 : tensor<4xf32>, index
}"""
CALLED = """func.func private @scale(%x: tensor<4xf32>, %p: i1) -> tensor<4xf32> {
  cf.cond_br %p, ^bb1(%x : tensor<4xf32>), ^bb2
^bb2:
  %y = arith.addf %x, %x : tensor<4xf32>
  cf.br ^bb1(%y : tensor<4xf32>)
^bb1(%z: tensor<4xf32>):
  %w = arith.addf %z, %x : tensor<4xf32>
  return %w : tensor<4xf32>
}
func.func @f(%A: tensor<8xf32>, %p: i1) -> tensor<8xf32> {
CONSTANTS
  %r = scf.for %i = %c0 to %c8 step %c4 iter_args(%x = %A) -> (tensor<8xf32>) {
    %a = tensor.extract_slice %x[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
    %b = func.call @scale(%a, %p) : (tensor<4xf32>, i1) -> tensor<4xf32>
    %y = tensor.insert_slice %b into %x[%i] [4] [1] : tensor<4xf32> into tensor<8xf32>
    scf.yield %y : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}"""
PRODUCTS = """func.func @f(%A: tensor<8x8xf32>, %B: tensor<8x8xf32>)
    -> tensor<8x8xf32> {
CONSTANTS
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %r = scf.for %i = %c0 to %c8 step %c4 iter_args(%x = %e) -> (tensor<8x8xf32>) {
    %a = tensor.extract_slice %A[%i, 0] [4, 8] [1, 1]
        : tensor<8x8xf32> to tensor<4x8xf32>
    %n = tensor.empty() : tensor<4x8xf32>
    %f = linalg.fill ins(%z : f32) outs(%n : tensor<4x8xf32>) -> tensor<4x8xf32>
    %c = linalg.matmul ins(%a, %B : tensor<4x8xf32>, tensor<8x8xf32>)
        outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
    %d = arith.addf %c, %c : tensor<4x8xf32>
    %m = arith.maximumf %d, %a : tensor<4x8xf32>
    %y = tensor.insert_slice %m into %x[%i, 0] [4, 8] [1, 1]
        : tensor<4x8xf32> into tensor<8x8xf32>
    scf.yield %y : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}"""
HALVES = """
func.func @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  %r = scf.forall (%i) = (0) to (8) step (4) shared_outs(%o = %a) -> (tensor<8xf32>) {
    %c4 = arith.constant 4 : index
    %j = arith.subi %c4, %i : index
    %s = tensor.extract_slice %o[%j] [4] [1] : tensor<8xf32> to tensor<4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i] [4] [1]
        : tensor<4xf32> into tensor<8xf32>
    }
  }
  return %r : tensor<8xf32>
}"""
FILLED = """func.func @f(%A: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %r = affine.for %i = 0 to 8 iter_args(%x = %e) -> (tensor<8xf32>) {
    %v = tensor.extract %A[%i] : tensor<8xf32>
    %w = arith.mulf %v, %v : f32
    %y = tensor.insert %w into %x[%i] : tensor<8xf32>
    affine.yield %y : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}"""


def square(n: int, m: int) -> np.ndarray:
    return np.arange(n * m, dtype=F).reshape(n, m)


def line(n: int) -> np.ndarray:
    return np.arange(n, dtype=F)


def relaxed(a: np.ndarray) -> np.ndarray:
    for _ in range(10):
        a = np.concatenate([a[:1], a[:-2] + a[2:], a[-1:]])
    return a


def swapped(a: np.ndarray, b: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    for _ in range(n):
        a, b = b, a + b
    return a, b


def chosen(a: np.ndarray, p: bool) -> tuple[np.ndarray, np.ndarray]:
    k = 2 * a
    if p:
        return np.array([k[0], 9, *k[2:]], F), np.full(4, 2, F)
    return k, k + a


def doubled(a: np.ndarray, limit: float) -> tuple[np.ndarray, int]:
    count = 0
    while a[1] < limit:
        a, count = a + a, count + 1
    return a, count


CASES = [
    pytest.param(
        TILED,
        [square(8, 16), square(16, 8), square(8, 8)],
        lambda a, b, c: a @ b + c,
        1,
        id="tiled-product",
    ),
    pytest.param(UNEVEN, [square(8, 5)], lambda a: a + a, 0, id="uneven-tiles"),
    pytest.param(FORALL, [square(8, 8)], lambda a: a * a, 0, id="forall"),
    pytest.param(REVERSED, [line(8)], lambda a: 2 * a[::-1], 2, id="forall-reads-all"),
    pytest.param(JACOBI, [line(16)], relaxed, 2, id="two-buffers"),
    pytest.param(SWAPPED, [line(4), line(4) + 1, 3], swapped, 5, id="swapped"),
    pytest.param(CHOSEN, [line(4), True], chosen, 2, id="then"),
    pytest.param(CHOSEN, [line(4), False], chosen, 2, id="else"),
    pytest.param(DOUBLED, [line(4), 30.0], doubled, 1, id="while"),
    pytest.param(CALLED, [line(8), True], lambda a, _: 2 * a, None, id="call-then"),
    pytest.param(CALLED, [line(8), False], lambda a, _: 3 * a, None, id="call-else"),
    pytest.param(
        PRODUCTS,
        [square(8, 8) - 30, square(8, 8) - 20],
        lambda a, b: np.maximum(2 * (a @ b), a),
        0,
        id="products-in-parts",
    ),
    pytest.param(FILLED, [line(8)], lambda a: a * a, 0, id="affine-loop"),
    pytest.param(HALVES, [line(8)], lambda a: np.roll(a, 4), 2, id="halves"),
]


def run(text: str, arguments: list[object], target: str) -> object:
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    result = gcg.compile(text, target=target).f(*given)
    for before, after in zip(arguments, given, strict=True):
        np.testing.assert_array_equal(before, after)
    return result


@pytest.mark.parametrize("target", ["interp", "cpu", "sim"])
@pytest.mark.parametrize(("text", "arguments", "answer", "copies"), CASES)
@pytest.mark.sampled(15)
def test_a_program(
    text: str, arguments: list[object], answer: Answer, copies: int | None, target: str
) -> None:
    del copies
    text = text.replace("CONSTANTS", CONSTANTS)
    results, wanted = run(text, arguments, target), answer(*arguments)
    if not isinstance(wanted, tuple):
        results, wanted = (results,), (wanted,)
    assert isinstance(results, tuple)
    for result, expected in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(result, expected)


COUNTED = [case for case in CASES if case.values[3] is not None]
"""Without calls, which these passes do not inline."""


@pytest.mark.cases(("text", "arguments", "answer", "copies"), COUNTED)
def test_no_more_is_copied_than_needed(
    text: str, arguments: list[object], answer: Answer, copies: int
) -> None:
    del arguments, answer
    passes = parse_pipeline("elementwise-to-linalg,generalize,bufferize")
    module = run_pipeline(gcg.parse(text.replace("CONSTANTS", CONSTANTS)), passes)
    assert str(module).count("memref.copy") == copies, str(module)
