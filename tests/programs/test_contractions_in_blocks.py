"""Contractions in functions of several blocks, which call themselves."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from tests.programs.products import by_way_of, integers


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [6, 17, 48])
@pytest.mark.sampled(6)
def test_products_that_replace_a_factor(n: int, threads: int):
    square = f"memref<{n}x{n}xf64>"
    text = f"""
    func.func private @power(%A: {square}, %B: {square}, %C: {square}, %n: index) {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %half = arith.constant 0.5 : f64
      %last = arith.cmpi eq, %n, %zero : index
      cf.cond_br %last, ^stop, ^run
    ^run:
      {by_way_of(n, "f64", "%A", "%B", "%C")}
      %less = arith.subi %n, %one : index
      call @power(%A, %B, %C, %less) : ({square}, {square}, {square}, index) -> ()
      return
    ^stop:
      return
    }}
    func.func @f(%A: {square}, %B: {square}) {{
      %twice = arith.constant 2 : index
      call @power(%A, %B, %A, %twice) : ({square}, {square}, {square}, index) -> ()
      return
    }}"""
    a, b = integers(2, n, n, dtype="f8")
    expected = (a @ b + 0.5) @ b + 0.5
    gcg.compile(text, target="cpu", threads=threads).f(a, b)
    assert np.array_equal(a, expected)
