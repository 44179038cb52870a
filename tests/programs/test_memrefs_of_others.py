"""Memrefs made of others, as code that does not see how they are made takes them."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from tests.programs.products import by_way_of
from tests.targets import ALL

TARGETS = ALL
N = 64
TYPE = f"memref<{N}xf32>"
PICK = f"""func.func private @pick(%A: {TYPE}, %B: {TYPE}, %c: i1) -> {TYPE} {{
  cf.cond_br %c, ^first, ^second
^first:
  return %A : {TYPE}
^second:
  return %B : {TYPE}
}}"""
WAYS = {
    "selection": f"arith.select %c, %A, %B : {TYPE}",
    "view": f"memref.subview %A[0][{N}][1] : {TYPE} to {TYPE}",
    "call": f"func.call @pick(%A, %B, %c) : ({TYPE}, {TYPE}, i1) -> {TYPE}",
}


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.cases("way", WAYS)
def test_made_in_another_block(way: str, target: str) -> None:
    text = f"""{PICK if way == "call" else ""}
    func.func @f(%A: {TYPE}, %B: {TYPE}, %c: i1) {{
      %one = arith.constant 1.0 : f32
      %m = {WAYS[way]}
      cf.cond_br %c, ^run, ^stop
    ^run:
      affine.for %i = 1 to {N} {{
        %v = affine.load %A[%i - 1] : {TYPE}
        %w = arith.addf %v, %one : f32
        affine.store %w, %m[%i] : {TYPE}
      }}
      return
    ^stop:
      return
    }}"""
    a, b = np.ones(N, "f4"), np.zeros(N, "f4")
    gcg.compile(text, target=target).f(a, b, True)
    assert np.array_equal(a, np.arange(1, N + 1))


def product(n: int, sums: str) -> str:
    """A += B A with sums that loops carry, where A has another name."""
    square = f"memref<{n}x{n}xi32>"
    return f"""func.func @f(%A: {square}, %B: {square}, %c: i1) {{
      %m = arith.select %c, %A, %B : {square}
      affine.for %i = 0 to {n} {{
        affine.for %j = 0 to {n} {{
          %v = affine.load {sums}[%i, %j] : {square}
          %r = affine.for %k = 0 to {n} iter_args(%s = %v) -> (i32) {{
            %a = affine.load %B[%i, %k] : {square}
            %b = affine.load %A[%k, %j] : {square}
            %p = arith.muli %a, %b : i32
            %q = arith.addi %s, %p : i32
            affine.yield %q : i32
          }}
          affine.store %r, {sums}[%i, %j] : {square}
        }}
      }}
      return
    }}"""


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sums", ["%m", "%A"])
def test_sums_that_loops_carry(sums: str, threads: int) -> None:
    n = 40
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-5, 6, (n, n)).astype("i4") for _ in range(2))
    expected = a.copy()
    for i, j in np.ndindex(n, n):
        expected[i, j] += np.sum(b[i] * expected[:, j], dtype="i4")
    gcg.compile(product(n, sums), target="cpu", threads=threads).f(a, b, True)
    assert np.array_equal(a, expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_views_that_branches_yield(threads: int) -> None:
    n = 16
    square = f"memref<{n}x{n}xf32>"
    open_ = f"memref<{n}x{n}xf32, strided<[{n}, 1], offset: ?>>"
    group = "{gcg.alias_group = distinct[0]<>}"
    text = f"""func.func @f(%A: {square} {group}, %B: {square} {group},
                            %C: {square}, %c: i1) {{
      %half = arith.constant 0.5 : f32
      %m = scf.if %c -> ({open_}) {{
        %a = memref.cast %A : {square} to {open_}
        scf.yield %a : {open_}
      }} else {{
        %b = memref.cast %C : {square} to {open_}
        scf.yield %b : {open_}
      }}
      %t = memref.alloc() : {square}
      affine.for %i = 0 to {n} {{
        affine.for %j = 0 to {n} {{
          %v = affine.load %B[%i, %j] : {square}
          %w = arith.mulf %v, %half : f32
          affine.store %w, %t[%i, %j] : {square}
        }}
      }}
      affine.for %i = 0 to {n} {{
        affine.for %j = 0 to {n} {{
          %v = affine.load %t[%i, %j] : {square}
          affine.store %v, %m[%i, %j] : {open_}
        }}
      }}
      return
    }}"""
    memory = np.random.default_rng(2).random(n * n + n).astype("f4")
    expected = memory.copy()
    expected[n:] = expected[:-n] / 2
    c = np.zeros((n, n), "f4")
    rows, shifted = memory[:-n].reshape(n, n), memory[n:].reshape(n, n)
    gcg.compile(text, target="cpu", threads=threads).f(shifted, rows, c, True)
    assert np.array_equal(memory, expected)


@pytest.mark.slow
def test_new_buffers_are_none_of_them() -> None:
    n = 70
    square = f"memref<{n}x{n}xf32>"
    text = f"""func.func @f(%A: {square}, %B: {square}, %c: i1) {{
      %half = arith.constant 0.5 : f32
      %m = arith.select %c, %A, %B : {square}
      {by_way_of(n, "f32", "%A", "%m", "%B")}
      return
    }}"""
    a = np.random.default_rng(1).integers(-3, 4, (n, n)).astype("f4")
    b = np.zeros((n, n), "f4")
    gcg.compile(text, target="cpu", threads=2, exact=True).f(a, b, True)
    assert np.array_equal(b, a @ a + 0.5)
