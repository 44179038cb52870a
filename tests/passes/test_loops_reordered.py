"""Interchange, fusion, distribution and jamming against brute force.

The passes are forced by switching their legality checks off; a transformation is legal
at this size iff every cell then still sees its writes in the same order, and between
them the same reads.  What the checks say must be just that.
"""

from __future__ import annotations

from types import ModuleType
from unittest.mock import patch

import numpy as np
import pytest
from affine_programs import arguments, perfect_nests, programs
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from interpreter import interpret
from lowering import apply

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.loops import fusion, interchange, rectangular_tiling, unroll
from gpucodegen.passes.nests import distribution


def examples(count: int) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def is_legal(text: str, passes: str, module: ModuleType, check: str) -> bool:
    """By brute force; a refusal that no dependence causes ends the example."""
    before = interpret(gcg.parse(text), arguments(2))
    with patch.object(module, check, lambda *_, **__: None):
        try:
            forced = apply(passes, text)
        except errors.IllegalTransformation:
            assume(False)
            raise
    after = interpret(forced, arguments(2))
    assert after.instances == before.instances
    return after.order == before.order


def is_accepted(text: str, passes: str) -> bool:
    try:
        apply(passes, text)
    except errors.IllegalTransformation:
        return False
    return True


@pytest.mark.slow
@examples(30)
@given(perfect_nests(), st.permutations(range(3)))
def test_interchange_is_refused_just_when_it_is_illegal(text: str, order: list[int]):
    if text.count("affine.for") == 2:
        order = [o for o in order if o < 2]
    passes = f"interchange{{order=[{','.join(map(str, order))}]}}"
    legal = is_legal(text, passes, interchange, "check_interchange")
    assert is_accepted(text, passes) == legal


@pytest.mark.slow
@examples(30)
@given(perfect_nests(count=2), st.integers(1, 2))
def test_fusion_is_refused_just_when_it_is_illegal(text: str, depth: int):
    passes = f"fuse{{loops=[0,1],depth={depth}}}"
    legal = is_legal(text, passes, fusion, "check_fusion")
    assert is_accepted(text, passes) == legal


@pytest.mark.slow
@examples(30)
@given(programs(rectangular=True), st.integers(2, 3))
def test_jamming_is_refused_just_when_it_is_illegal(text: str, factor: int):
    passes = f"unroll-and-jam{{loop=0,factor={factor}}}"
    legal = is_legal(text, passes, unroll, "check_jam")
    assert is_accepted(text, passes) == legal


@pytest.mark.sampled(6)
@examples(30)
@given(
    perfect_nests(),
    st.lists(st.sampled_from(["2", "3", "1", "t"]), min_size=2, max_size=2),
    st.booleans(),
)
def test_tiling_is_refused_if_it_is_illegal(text: str, sizes: list[str], split: bool):
    passes = f"tile{{sizes=[{','.join(sizes)}],separate={str(split).lower()}}}"
    legal = is_legal(text, passes, rectangular_tiling, "check_tiling")
    assert legal or not is_accepted(text, passes)


def apart(found: object, loop: object, pieces: list[object]) -> list[tuple[int, ...]]:
    """Every piece a loop of its own, in the order of the text."""
    del found, loop
    return [(number,) for number in range(len(pieces))]


@pytest.mark.slow
@examples(30)
@given(programs())
def test_distribution_keeps_order_and_parts_what_may_be_parted(text: str):
    before = interpret(gcg.parse(text), arguments(2))
    parted = apply("distribute", text)
    after = interpret(parted, arguments(2))
    assert after.order == before.order
    for got, expected in zip(after.arrays, before.arrays, strict=True):
        np.testing.assert_array_equal(got, expected)
    with patch.object(distribution, "distribution", apart):
        forced = apply("distribute", text)
    if interpret(forced, arguments(2)).order == before.order:
        assert str(parted).count("affine.for") == str(forced).count("affine.for")


@pytest.mark.slow
@examples(25)
@given(programs(symbolic=True), st.integers(-2, 4))
def test_greedy_fusion_keeps_order(text: str, n: int):
    before = interpret(gcg.parse(text), arguments(n))
    after = interpret(apply("fuse", text), arguments(n))
    assert after.order == before.order
    assert after.instances == before.instances


@pytest.mark.cases("n", [-1, 0, 1, 5])
def test_jamming_symbolic_ranges_keeps_order(n: int):
    text = """func.func @f(%A: memref<7xf64>, %B: memref<5x6xf64>, %C: memref<4xf64>,
    %n: index, %t: index) {
  %c = arith.constant 0.5 : f64
  affine.for %i = max affine_map<(d0) -> (0, d0 - 4)>(%n) to %n {
    %s = affine.for %j = 0 to 6 iter_args(%a = %c) -> (f64) {
      %x = affine.load %B[%i, %j] : memref<5x6xf64>
      %y = arith.addf %a, %x : f64
      affine.yield %y : f64
    }
    affine.store %s, %A[%i] : memref<7xf64>
  }
  return
}"""
    before = interpret(gcg.parse(text), arguments(n))
    jammed = apply("unroll-and-jam{factor=2}", text)
    assert "-> (f64, f64)" in str(jammed)
    after = interpret(jammed, arguments(n))
    assert after.order == before.order
    np.testing.assert_array_equal(after.arrays[0], before.arrays[0])
