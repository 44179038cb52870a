"""Sorts and ``top_k`` of StableHLO: merge sorts on a CPU, networks on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

RNG = np.random.default_rng(5)
TARGETS = ["cpu", pytest.param("sim", marks=pytest.mark.slow)]


def sort_with_places(shape: tuple[int, int], d: int) -> str:
    """A stable sort of integers with their positions."""
    ty = f"tensor<{shape[0]}x{shape[1]}xi32>"
    return f"""func.func @main(%x: {ty}) -> ({ty}, {ty}) {{
      %i = stablehlo.iota dim = {d} : {ty}
      %s:2 = "stablehlo.sort"(%x, %i) <{{dimension = {d} : i64, is_stable = true}}> ({{
        ^bb0(%a: tensor<i32>, %b: tensor<i32>, %p: tensor<i32>, %q: tensor<i32>):
          %c = stablehlo.compare LT, %a, %b, SIGNED
            : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        }}) : ({ty}, {ty}) -> ({ty}, {ty})
      return %s#0, %s#1 : {ty}, {ty}
    }}"""


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("shape", "d"),
    [
        ((3, 21), 1),
        pytest.param((21, 3), 0, marks=pytest.mark.slow),
        pytest.param((2, 64), 1, marks=pytest.mark.slow),
        pytest.param((2, 1), 1, marks=pytest.mark.slow),
    ],
)
def test_equal_keys_keep_their_order(target: str, shape: tuple[int, int], d: int):
    x = RNG.integers(0, 5, shape).astype("i4")
    values, places = gcg.compile(sort_with_places(shape, d), target=target).main(x)
    order = np.argsort(x, d, kind="stable")
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, d))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("k", [3, pytest.param(9, marks=pytest.mark.slow)])
def test_top_k_takes_the_first_of_equal_elements(target: str, k: int):
    text = f"""func.func @main(%x: tensor<2x30xi32>)
        -> (tensor<2x{k}xi32>, tensor<2x{k}xi32>) {{
      %v, %i = chlo.top_k(%x, k = {k})
        : tensor<2x30xi32> -> (tensor<2x{k}xi32>, tensor<2x{k}xi32>)
      return %v, %i : tensor<2x{k}xi32>, tensor<2x{k}xi32>
    }}"""
    x = RNG.integers(0, 6, (2, 30)).astype("i4")
    values, places = gcg.compile(text, target=target).main(x)
    order = np.argsort(-x, 1, kind="stable")[:, :k]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
