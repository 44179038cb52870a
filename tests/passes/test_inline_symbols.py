"""Callees that take a loop variable of their caller as a symbol are inlined."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from lowering import apply, names

import gpucodegen as gcg

pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
"""The callee alone may be called with any index."""

CALLEES = {
    "accesses": """
      %x = affine.load %A[symbol(%i), symbol(%j) + 1] : memref<9x9xf64>
      affine.store %x, %B[symbol(%i) + symbol(%j), symbol(%j)] : memref<17x9xf64>""",
    "a bound": """
      affine.for %k = 0 to affine_map<()[s0] -> (s0 + 1)>()[%i] {
        %x = affine.load %A[%k, symbol(%j)] : memref<9x9xf64>
        affine.store %x, %B[%k + symbol(%i), symbol(%j)] : memref<17x9xf64>
      }""",
    "a condition": """
      affine.if affine_set<()[s0, s1] : (s0 - s1 - 1 >= 0)>()[%i, %j] {
        %x = affine.load %A[symbol(%i), symbol(%j)] : memref<9x9xf64>
        affine.store %x, %B[symbol(%i), symbol(%j)] : memref<17x9xf64>
      }""",
    "arithmetic": """
      %k = affine.apply affine_map<()[s0, s1] -> (s0 + (2 * s1) mod 3)>()[%i, %j]
      %m = affine.min affine_map<()[s0, s1] -> (s0, s1)>()[%i, %j]
      %y = arith.index_cast %m : index to i64
      %x = arith.sitofp %y : i64 to f64
      affine.store %x, %B[symbol(%i), symbol(%j)] : memref<17x9xf64>
      affine.store %x, %B[%k, symbol(%j)] : memref<17x9xf64>""",
    "a loop step away": """
      affine.parallel (%k) = (symbol(%i)) to (symbol(%i) + 2) {
        %x = affine.load %A[symbol(%i), symbol(%j)] : memref<9x9xf64>
        affine.store %x, %B[%k, symbol(%j)] : memref<17x9xf64>
      }""",
}
"""What stays inside ``%A`` and ``%B`` for i, j < 8."""


def _accesses(a: np.ndarray, b: np.ndarray, i: int, j: int) -> None:
    b[i + j, j] = a[i, j + 1]


def _bound(a: np.ndarray, b: np.ndarray, i: int, j: int) -> None:
    for k in range(i + 1):
        b[k + i, j] = a[k, j]


def _condition(a: np.ndarray, b: np.ndarray, i: int, j: int) -> None:
    if i > j:
        b[i, j] = a[i, j]


def _arithmetic(a: np.ndarray, b: np.ndarray, i: int, j: int) -> None:
    del a
    b[i, j] = b[i + 2 * j % 3, j] = min(i, j)


def _apart(a: np.ndarray, b: np.ndarray, i: int, j: int) -> None:
    b[i : i + 2, j] = a[i, j]


EXPECTED: dict[str, Callable[[np.ndarray, np.ndarray, int, int], None]] = dict(
    zip(CALLEES, (_accesses, _bound, _condition, _arithmetic, _apart), strict=True)
)


def program(body: str) -> str:
    return f"""
func.func private @g(%A: memref<9x9xf64>, %B: memref<17x9xf64>, %i: index,
                     %j: index) {{{body}
  return
}}
func.func @f(%A: memref<9x9xf64>, %B: memref<17x9xf64>) {{
  affine.for %i = 0 to 8 {{
    affine.for %j = 0 to 8 {{
      func.call @g(%A, %B, %i, %j)
        : (memref<9x9xf64>, memref<17x9xf64>, index, index) -> ()
    }}
  }}
  return
}}"""


@pytest.mark.sampled(5)
@pytest.mark.cases("case", CALLEES, parts=3)
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_loop_variables_as_symbols(case: str, target: str):
    text = program(CALLEES[case])
    made = apply("inline", text)
    assert "func.call" not in names(made)
    given = [np.random.default_rng(5).standard_normal(s) for s in [(9, 9), (17, 9)]]
    expected = [a.copy() for a in given]
    for i, j in np.ndindex(8, 8):
        EXPECTED[case](expected[0], expected[1], i, j)
    gcg.compile(text, target=target, threads=2).f(*given)
    for one, other in zip(given, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_callee_of_a_callee_is_inlined():
    text = (
        program(CALLEES["accesses"])
        .replace("@g", "@h")
        .replace(
            "func.func @f",
            """
func.func private @g(%A: memref<9x9xf64>, %B: memref<17x9xf64>, %i: index,
                     %j: index) {
  func.call @h(%A, %B, %i, %j)
    : (memref<9x9xf64>, memref<17x9xf64>, index, index) -> ()
  return
}
func.func @f""",
        )
    )
    assert "func.call" not in [
        op.name for op in apply("inline", text).functions["f"].walk()
    ]
    kinds = [v.kind.value for v in gcg.analyze(apply("inline", text))["f"].loops]
    assert "sequential" in kinds or "parallel" in kinds


def test_products_of_two_loop_variables_keep_the_call():
    """They are affine in the callee only."""
    text = program("""
      affine.for %k = 0 to 2 {
        %x = affine.load %A[%k, symbol(%j)] : memref<9x9xf64>
        affine.store %x, %B[%k * symbol(%i), symbol(%j)] : memref<17x9xf64>
      }""")
    made = apply("inline", text)
    assert "func.call" in names(made)
    given = [np.random.default_rng(5).standard_normal(s) for s in [(9, 9), (17, 9)]]
    expected = [a.copy() for a in given]
    for i, j, k in np.ndindex(8, 8, 2):
        expected[1][k * i, j] = expected[0][k, j]
    gcg.compile(text, target="cpu").f(*given)
    np.testing.assert_array_equal(given[1], expected[1])
