"""Memrefs that branches, loops and selections choose may overlap what they are of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.targets import ALL

pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.ElementTransfers")

TARGETS = ALL
N = 64
TYPE = f"memref<{N}xf32>"
YIELD = f"""scf.if %c -> ({TYPE}) {{
    scf.yield %A : {TYPE}
  }} else {{
    scf.yield %B : {TYPE}
  }}"""
ROUND = f"""scf.execute_region -> {TYPE} {{
    cf.cond_br %c, ^end(%A : {TYPE}), ^end(%B : {TYPE})
  ^end(%x: {TYPE}):
    scf.yield %x : {TYPE}
  }}"""
CHOICES = {
    "branch": YIELD,
    "selection": f"arith.select %c, %A, %B : {TYPE}",
    "blocks": ROUND,
}


def program(choice: str, body: str) -> str:
    return f"""func.func @f(%A: {TYPE}, %B: {TYPE}, %c: i1) {{
  %one = arith.constant 1.0 : f32
  %m = {CHOICES[choice]}
  {body}
  return
}}"""


RECURRENCE = f"""affine.for %i = 1 to {N} {{
    %v = affine.load %A[%i - 1] : {TYPE}
    %w = arith.addf %v, %one : f32
    affine.store %w, %m[%i] : {TYPE}
  }}"""
BACKWARDS = f"""affine.for %i = 0 to {N} {{
    %v = affine.load %B[%i] : {TYPE}
    %w = arith.addf %v, %one : f32
    affine.store %w, %A[%i] : {TYPE}
  }}
  affine.for %i = 0 to {N} {{
    %v = affine.load %m[{N - 1} - %i] : {TYPE}
    %w = arith.mulf %v, %v : f32
    affine.store %w, %B[%i] : {TYPE}
  }}"""
LAST = f"""affine.for %i = 0 to {N} {{
    affine.store %one, %A[%i] : {TYPE}
    %v = affine.load %m[%i] : {TYPE}
    %w = arith.addf %v, %one : f32
    affine.store %w, %B[%i] : {TYPE}
  }}"""


def recurrence(a: np.ndarray, b: np.ndarray, m: np.ndarray) -> None:
    del b
    for i in range(1, N):
        m[i] = a[i - 1] + 1


def backwards(a: np.ndarray, b: np.ndarray, m: np.ndarray) -> None:
    a[:] = b + 1
    for i in range(N):
        b[i] = m[N - 1 - i] ** 2


def last(a: np.ndarray, b: np.ndarray, m: np.ndarray) -> None:
    for i in range(N):
        a[i] = 1
        b[i] = m[i] + 1


BODIES: dict[str, tuple[str, Callable[..., None]]] = {
    "recurrence": (RECURRENCE, recurrence),
    "backwards": (BACKWARDS, backwards),
    "last": (LAST, last),
}


@pytest.mark.cases("first", [True, False], parts=2)
@pytest.mark.cases("body", BODIES)
@pytest.mark.cases("choice", CHOICES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.sampled(20)
def test_the_chosen_one_overlaps(
    target: str, choice: str, body: str, *, first: bool
) -> None:
    text, answer = BODIES[body]
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, N).astype("f4") for _ in range(2))
    expected = a.copy(), b.copy()
    answer(*expected, expected[0 if first else 1])
    gcg.compile(program(choice, text), target=target).f(a, b, first)
    assert np.array_equal(a, expected[0])
    assert np.array_equal(b, expected[1])


def test_the_chosen_one_may_not_be_read_only() -> None:
    a, b = np.zeros(N, "f4"), np.zeros(N, "f4")
    b.flags.writeable = False
    with pytest.raises(errors.ReadOnlyArgument, match="argument B"):
        gcg.compile(program("blocks", RECURRENCE), target="cpu").f(a, b, False)


SWAPPED = f"""func.func @f(%A: {TYPE}, %B: {TYPE}, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %t = %c0 to %n step %c1
      iter_args(%x = %A, %y = %B) -> ({TYPE}, {TYPE}) {{
    affine.for %i = 1 to {N - 1} {{
      %v = affine.load %x[%i - 1] : {TYPE}
      %u = affine.load %x[%i + 1] : {TYPE}
      %w = arith.subf %v, %u : f32
      affine.store %w, %y[%i] : {TYPE}
    }}
    scf.yield %y, %x : {TYPE}, {TYPE}
  }}
  affine.for %i = 0 to {N} {{
    %v = affine.load %r#0[%i] : {TYPE}
    %w = arith.addf %v, %v : f32
    affine.store %w, %r#1[%i] : {TYPE}
  }}
  return
}}"""


@pytest.mark.slow
@pytest.mark.cases("steps", [0, 1, 4])
@pytest.mark.parametrize("target", TARGETS)
def test_loops_may_swap_buffers(target: str, steps: int) -> None:
    rng = np.random.default_rng(1)
    given = [rng.integers(-3, 4, N).astype("f4") for _ in range(2)]
    expected = [array.copy() for array in given]
    x, y = expected
    for _ in range(steps):
        y[1:-1] = x[:-2] - x[2:]
        x, y = y, x
    y[:] = 2 * x
    gcg.compile(SWAPPED, target=target).f(*given, steps)
    assert all(map(np.array_equal, given, expected))


ALLOCATED = f"""func.func @f(%A: {TYPE}, %B: {TYPE}, %c: i1) {{
  %m = scf.if %c -> ({TYPE}) {{
    scf.yield %A : {TYPE}
  }} else {{
    %t = memref.alloc() : {TYPE}
    affine.for %i = 0 to {N} {{
      %v = affine.load %A[{N - 1} - %i] : {TYPE}
      affine.store %v, %t[%i] : {TYPE}
    }}
    scf.yield %t : {TYPE}
  }}
  affine.for %i = 0 to {N} {{
    %v = affine.load %m[%i] : {TYPE}
    affine.store %v, %B[%i] : {TYPE}
  }}
  return
}}"""


@pytest.mark.parametrize("target", TARGETS)
def test_branches_may_allocate(target: str) -> None:
    program = gcg.compile(ALLOCATED, target=target)
    a, b = np.arange(N, dtype="f4"), np.zeros(N, "f4")
    program.f(a, b, True)
    assert np.array_equal(b, a)
    program.f(a, b, False)
    assert np.array_equal(b, a[::-1])


WITHIN = f"""func.func @f(%A: {TYPE}, %B: {TYPE}, %C: {TYPE}) {{
  affine.for %i = 0 to {N} {{
    %half = arith.constant {N // 2} : index
    %c = arith.cmpi slt, %i, %half : index
    %m = {YIELD}
    %v = affine.load %m[%i] : {TYPE}
    affine.store %v, %C[%i] : {TYPE}
  }}
  return
}}"""


@pytest.mark.parametrize("target", TARGETS)
def test_iterations_may_choose(target: str) -> None:
    a, b, c = np.arange(N, dtype="f4"), np.ones(N, "f4"), np.zeros(N, "f4")
    gcg.compile(WITHIN, target=target).f(a, b, c)
    assert np.array_equal(c, np.r_[a[: N // 2], b[N // 2 :]])


PLACED = "memref<8xf32, strided<[?], offset: ?>>"
STRIDED = f"""func.func @f(%A: memref<8xf32>, %B: memref<17xf32>, %c: i1) {{
  %m = scf.if %c -> ({PLACED}) {{
    %q = memref.cast %A : memref<8xf32> to {PLACED}
    scf.yield %q : {PLACED}
  }} else {{
    %s = memref.subview %B[1] [8] [2]
      : memref<17xf32> to memref<8xf32, strided<[2], offset: 1>>
    %q = memref.cast %s : memref<8xf32, strided<[2], offset: 1>> to {PLACED}
    scf.yield %q : {PLACED}
  }}
  affine.for %i = 0 to 8 {{
    %v = affine.load %m[%i] : {PLACED}
    affine.store %v, %B[2 * %i + 2] : memref<17xf32>
  }}
  return
}}"""


@pytest.mark.cases("first", [True, False])
@pytest.mark.parametrize("target", TARGETS)
def test_chosen_views_have_their_own_strides(target: str, *, first: bool) -> None:
    a, b = np.arange(8, dtype="f4"), np.arange(17, dtype="f4") + 20
    expected = b.copy()
    expected[2::2] = a if first else b[1:16:2]
    gcg.compile(STRIDED, target=target).f(a, b, first)
    assert np.array_equal(b, expected)
