"""Which nests of a function run on threads."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg


def copied_before_a_product(columns: int) -> gcg.Program:
    left, right = "memref<60x600xf32>", f"memref<600x{columns}xf32>"
    result = f"memref<60x{columns}xf32>"
    text = f"""func.func @f(%x: {left}, %c: {left}, %w: {right}, %y: {result}) {{
      affine.for %i = 0 to 60 {{
        affine.for %j = 0 to 600 {{
          %e = affine.load %x[%i, %j] : {left}
          affine.store %e, %c[%i, %j] : {left}
        }}
      }}
      linalg.matmul ins(%c, %w : {left}, {right}) outs(%y : {result})
      return
    }}"""
    return gcg.compile(text, target="cpu", threads=2)


def first_loop(program: gcg.Program) -> str:
    source = program.source("f")
    kernel = source[source.index("def f_k0") :].splitlines()
    return next(line for line in kernel if "for " in line)


@pytest.mark.slow
def test_a_small_nest_is_shared_before_one_that_wakes_threads():
    program = copied_before_a_product(columns=400)
    assert "prange" in first_loop(program)
    x, w = np.full((60, 600), 2, "f4"), np.ones((600, 400), "f4")
    copy, y = np.zeros_like(x), np.zeros((60, 400), "f4")
    program.f(x, copy, w, y)
    assert np.array_equal(copy, x)
    assert (y == 1200).all()


def test_a_small_nest_before_a_small_one_is_not():
    assert "prange" not in first_loop(copied_before_a_product(columns=10))
