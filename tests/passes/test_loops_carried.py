"""Transformations of loops that carry values, against the operations one by one."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter import interpret
from lowering import apply

import gpucodegen as gcg

SHAPES = {"%A": (6, 7), "%B": (6, 7), "%x": (6,), "%y": (6,)}


def function(body: str) -> str:
    given = ", ".join(
        f"{name}: memref<{'x'.join(map(str, shape))}xf64>"
        for name, shape in SHAPES.items()
    )
    body = body.replace("$2", "memref<6x7xf64>").replace("$1", "memref<6xf64>")
    return f"""func.func @f({given}) {{
  %c = arith.constant 0.5 : f64
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  {body}
  return
}}"""


def same(text: str, passes: str) -> str:
    """The program after the passes, which leaves what it left before."""
    rng = np.random.default_rng(3)
    given = [rng.standard_normal(shape) for shape in SHAPES.values()]
    expected = interpret(gcg.parse(text), [a.copy() for a in given]).arrays
    made = apply(passes, text)
    found = interpret(made, [a.copy() for a in given]).arrays
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    program = gcg.compile(made, target="cpu")
    program.f(*given)
    for one, other in zip(given, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    return str(made)


DISTRIBUTED = {
    "two sums": (
        """%r, %s = affine.for %i = 0 to 6 iter_args(%a = %c, %b = %c) -> (f64, f64) {
          %u = affine.load %x[%i] : $1
          %v = affine.load %y[%i] : $1
          %w = arith.addf %a, %u : f64
          %z = arith.mulf %b, %v : f64
          affine.yield %w, %z : f64, f64
        }
        affine.store %r, %A[0, 0] : $2
        affine.store %s, %A[0, 1] : $2""",
        2,
    ),
    "a sum and a store": (
        """%r = affine.for %i = 0 to 6 iter_args(%a = %c) -> (f64) {
          %u = affine.load %x[%i] : $1
          affine.store %c, %y[%i] : $1
          %w = arith.addf %a, %u : f64
          affine.yield %w : f64
        }
        affine.store %r, %A[0, 0] : $2""",
        2,
    ),
    "a store of what is carried": (
        """%r = affine.for %i = 0 to 6 iter_args(%a = %c) -> (f64) {
          %u = affine.load %x[%i] : $1
          affine.store %a, %y[%i] : $1
          %w = arith.addf %a, %u : f64
          affine.yield %w : f64
        }
        affine.store %r, %A[0, 0] : $2""",
        1,
    ),
    "values that change places": (
        """%r, %s = affine.for %i = 0 to 5 iter_args(%a = %c, %b = %c) -> (f64, f64) {
          %u = affine.load %x[%i] : $1
          %w = arith.addf %a, %u : f64
          affine.store %c, %y[%i] : $1
          affine.yield %b, %w : f64, f64
        }
        affine.store %r, %A[0, 0] : $2
        affine.store %s, %A[0, 1] : $2""",
        2,
    ),
    "the value before": (
        """%r, %s = affine.for %i = 0 to 6 iter_args(%a = %c, %b = %c) -> (f64, f64) {
          %u = affine.load %x[%i] : $1
          affine.store %u, %y[%i] : $1
          affine.store %c, %A[%i, 3] : $2
          affine.yield %c, %b : f64, f64
        }
        affine.store %r, %B[0, 0] : $2
        affine.store %s, %B[0, 1] : $2""",
        2,
    ),
    "an index": (
        """%r = affine.for %i = 0 to 6 iter_args(%a = %zero) -> (index) {
          %n = arith.addi %a, %one : index
          affine.store %c, %y[%i] : $1
          affine.yield %n : index
        }
        %k = arith.index_cast %r : index to i64
        %f = arith.sitofp %k : i64 to f64
        affine.store %f, %A[0, 0] : $2""",
        2,
    ),
    "a memory cycle": (
        """%r = affine.for %i = 1 to 6 iter_args(%a = %c) -> (f64) {
          %u = affine.load %x[%i - 1] : $1
          %v = arith.addf %u, %c : f64
          affine.store %v, %y[%i] : $1
          %t = affine.load %y[%i] : $1
          affine.store %t, %x[%i] : $1
          %w = arith.addf %a, %t : f64
          affine.yield %w : f64
        }
        affine.store %r, %A[0, 0] : $2""",
        1,
    ),
}


@pytest.mark.parametrize("case", DISTRIBUTED)
def test_distribution_keeps_what_is_carried(case: str):
    body, loops = DISTRIBUTED[case]
    text = function(body)
    assert same(text, "distribute").count("affine.for") == loops
