"""Transformations of loops that carry values, against the operations one by one."""

from __future__ import annotations

import numpy as np
import pytest
from affine_programs import arguments, programs
from hypothesis import given, settings
from interpreter import interpret
from lowering import apply

import gpucodegen as gcg
from gpucodegen import errors

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


def same(text: str, passes: str, *, exact: bool = True) -> str:
    """The program after the passes, which leaves what it left before.

    ``exact``: no sum is taken in another order.
    """
    rng = np.random.default_rng(3)
    given = [rng.standard_normal(shape) for shape in SHAPES.values()]
    expected = interpret(gcg.parse(text), [a.copy() for a in given]).arrays
    made = apply(passes, text)
    found = interpret(made, [a.copy() for a in given]).arrays
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0 if exact else 1e-12)
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


@pytest.mark.sampled(2)
@pytest.mark.cases("case", DISTRIBUTED, parts=2)
def test_distribution_keeps_what_is_carried(case: str):
    body, loops = DISTRIBUTED[case]
    text = function(body)
    assert same(text, "distribute").count("affine.for") == loops


ROWS = """%r = affine.for %i = 0 to 6 iter_args(%a = %c) -> (f64) {
          %s = affine.for %j = 0 to 7 iter_args(%b = %a) -> (f64) {
            %u = affine.load %A[%i, %j] : $2
            %w = arith.OP %b, %u FLAGS: f64
            affine.yield %w : f64
          }
          affine.yield %s : f64
        }
        affine.store %r, %B[0, 0] : $2"""
SUM = ROWS.replace("OP", "addf").replace("FLAGS", "fastmath<reassoc> ")
LARGEST = ROWS.replace("OP", "maximumf").replace("FLAGS", "")
KEPT = ROWS.replace("OP", "addf").replace("FLAGS", "")
LAST = """%r = affine.for %i = 0 to 6 iter_args(%a = %c) -> (f64) {
          %s = affine.for %j = 0 to 7 iter_args(%b = %a) -> (f64) {
            %u = affine.load %A[%i, %j] : $2
            affine.store %b, %B[%i, %j] : $2
            affine.yield %u : f64
          }
          affine.yield %s : f64
        }
        affine.store %r, %x[0] : $1"""


@pytest.mark.sampled(2)
@pytest.mark.cases("text", [SUM, LARGEST], parts=2)
@pytest.mark.cases(
    "passes",
    [
        "interchange",
        "unroll-and-jam{loop=i,factor=2}",
        "unroll-and-jam{loop=i,factor=4}",
    ],
)
def test_reductions_that_two_loops_carry(text: str, passes: str):
    made = same(function(text), passes, exact=text is LARGEST)
    assert "memref.alloc" not in made
    assert made.count("iter_args") >= 2
    if passes == "interchange":
        assert made.index("%j = 0 to 7 iter_args") < made.index("%i = 0 to 6 iter_args")


@pytest.mark.cases("passes", ["interchange", "unroll-and-jam{loop=i}"])
@pytest.mark.cases("text", [KEPT, LAST])
def test_the_order_of_values_is_kept_with_a_witness(passes: str, text: str):
    with pytest.raises(errors.IllegalTransformation) as caught:
        apply(passes, function(text))
    assert "reverses a dependence: " in str(caught.value)
    assert "a[]" in str(caught.value)


def test_an_order_that_the_caller_allows():
    same(function(KEPT), "interchange{relaxed=true}", exact=False)
    same(function(KEPT), "unroll-and-jam{loop=i,relaxed=true}", exact=False)


JAMMED = {
    "one value twice": """%r, %s = affine.for %i = 0 to 5
            iter_args(%a = %c, %b = %c) -> (f64, f64) {
          %u = affine.load %x[%i] : $1
          %w = arith.addf %b, %u : f64
          affine.store %w, %y[%i] : $1
          %v = arith.addf %a, %u : f64
          affine.store %v, %B[%i, 0] : $2
          affine.yield %a, %a : f64, f64
        }
        affine.store %r, %A[0, 0] : $2
        affine.store %s, %A[0, 1] : $2""",
    "a sum of rows": """%r = affine.for %i = 0 to 6 iter_args(%a = %c) -> (f64) {
          %s = affine.for %j = 0 to 7 iter_args(%b = %c) -> (f64) {
            %u = affine.load %A[%i, %j] : $2
            %w = arith.addf %b, %u : f64
            affine.yield %w : f64
          }
          %t = arith.mulf %a, %s : f64
          affine.yield %t : f64
        }
        affine.store %r, %B[0, 0] : $2""",
    "values that change places": """%r, %s = affine.for %i = 0 to 5
            iter_args(%a = %c, %b = %c) -> (f64, f64) {
          %u = affine.load %x[%i] : $1
          %w = arith.addf %a, %u : f64
          affine.for %j = 0 to 7 {
            affine.store %u, %B[%i, %j] : $2
          }
          affine.yield %b, %w : f64, f64
        }
        affine.store %r, %A[0, 0] : $2
        affine.store %s, %A[0, 1] : $2""",
    "the value before": """%r, %s = affine.for %i = 0 to 5
            iter_args(%a = %c, %b = %c) -> (f64, f64) {
          %u = affine.load %x[%i] : $1
          affine.store %a, %y[%i] : $1
          affine.yield %u, %b : f64, f64
        }
        affine.store %r, %A[0, 0] : $2
        affine.store %s, %A[0, 1] : $2""",
    "an index": """%r = affine.for %i = 0 to 6 iter_args(%a = %zero) -> (index) {
          %n = arith.addi %a, %one : index
          affine.store %c, %y[%i] : $1
          affine.yield %n : index
        }
        %k = arith.index_cast %r : index to i64
        %f = arith.sitofp %k : i64 to f64
        affine.store %f, %A[0, 0] : $2""",
    "no iteration": """%r = affine.for %i = 3 to 3 iter_args(%a = %c) -> (f64) {
          %u = affine.load %x[%i] : $1
          affine.yield %u : f64
        }
        affine.store %r, %A[0, 0] : $2""",
    "inside another loop": """affine.for %k = 0 to 6 {
          %r = affine.for %i = 0 to 6 iter_args(%a = %c) -> (f64) {
            %u = affine.load %A[%k, %i] : $2
            %w = arith.addf %a, %u : f64
            affine.yield %w : f64
          }
          affine.store %r, %y[%k] : $1
        }""",
}


@pytest.mark.slow
@pytest.mark.cases("case", JAMMED)
@pytest.mark.cases("factor", [2, 3])
def test_jamming_a_loop_that_carries_values(case: str, factor: int):
    same(function(JAMMED[case]), f"unroll-and-jam{{loop=i,factor={factor}}}")


def test_an_inner_loop_with_values_of_its_own_is_no_perfect_nest():
    text = """affine.for %i = 0 to 6 {
          %s = affine.for %j = 0 to 7 iter_args(%b = %c) -> (f64) {
            %u = affine.load %A[%i, %j] : $2
            affine.store %b, %B[%i, %j] : $2
            affine.yield %u : f64
          }
        }"""
    with pytest.raises(errors.IllegalTransformation, match="other values than loop i"):
        apply("interchange", function(text))


SKEWED = {
    "a sweep that carries its last value": """affine.for %t = 0 to 4 {
          %e = affine.load %x[0] : $1
          %r = affine.for %i = 1 to 5 iter_args(%p = %e) -> (f64) {
            %u = affine.load %x[%i] : $1
            %v = affine.load %x[%i + 1] : $1
            %s = arith.addf %p, %u : f64
            %w = arith.addf %s, %v : f64
            affine.store %w, %x[%i] : $1
            affine.yield %w : f64
          }
          affine.store %r, %y[%t] : $1
        }""",
    "a sum in each iteration": """affine.for %i = 1 to 6 {
          affine.for %j = 1 to 6 {
            %s = affine.for %k = 0 to 3 iter_args(%a = %c) -> (f64) {
              %u = affine.load %B[%i, %k] : $2
              %w = arith.addf %a, %u : f64
              affine.yield %w : f64
            }
            %v = affine.load %A[%i - 1, %j + 1] : $2
            %w = arith.addf %v, %s : f64
            affine.store %w, %A[%i, %j] : $2
          }
        }""",
    "nothing to skew": """%r = affine.for %i = 0 to 6 iter_args(%a = %c) -> (f64) {
          %u = affine.load %x[%i] : $1
          %w = arith.addf %a, %u : f64
          affine.yield %w : f64
        }
        affine.store %r, %A[0, 0] : $2""",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", SKEWED)
def test_skewing_nests_that_carry_values(case: str):
    same(function(SKEWED[case]), "skew")


@pytest.mark.slow
@pytest.mark.cases("passes", ["tile{sizes=[2,3]}", "tile{sizes=[4,4]}"])
@pytest.mark.cases("text", [SUM, LARGEST])
def test_tiling_reductions_that_two_loops_carry(passes: str, text: str):
    made = same(function(text), passes, exact=text is LARGEST)
    assert made.count("iter_args") == 4
    assert "memref.alloc" not in made


def test_tiling_one_loop_keeps_the_order_of_its_values():
    same(function(KEPT), "tile{sizes=[4],loop=i}")
    with pytest.raises(errors.IllegalTransformation, match="points backward along"):
        apply("tile{sizes=[4,4]}", function(LAST))


PASSES = ["interchange", "unroll-and-jam", "tile{sizes=[2,2]}", "skew", "distribute"]


@pytest.mark.parametrize("passes", PASSES)
@settings(max_examples=8, deadline=None, derandomize=True, database=None)
@given(text=programs())
@pytest.mark.sampled(6)
def test_programs_with_carried_values(passes: str, text: str):
    """A pass computes the same, or says why it does not."""
    try:
        made = apply(passes, text)
    except errors.CompileError:
        return
    expected = interpret(gcg.parse(text), arguments(2)).arrays
    for one, other in zip(interpret(made, arguments(2)).arrays, expected, strict=True):
        np.testing.assert_array_equal(one, other)
