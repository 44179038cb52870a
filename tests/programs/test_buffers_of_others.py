"""Buffers that functions of the caller return: each is copied to one of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg

SHIFT = """
func.func @shift(%n: index, %m: index) -> f32 {
  %a = "my.buffer"() : () -> memref<?xf32>
  %b = "my.buffer"() : () -> memref<?xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %m {
      %v = affine.load %a[%i] : memref<?xf32>
      %w = arith.addf %v, %v : f32
      affine.store %w, %b[%i + 1] : memref<?xf32>
    }
  }
  %r = memref.load %b[%n] : memref<?xf32>
  return %r : f32
}
"""


def shifted(target: str, *buffers: np.ndarray, n: int, m: int = 1) -> float:
    given = iter(buffers)
    handlers: dict[str, Any] = {"my.buffer": lambda: next(given)}
    program = gcg.compile(
        SHIFT,
        target=target,
        threads=2,
        allow_unregistered=True,
        handlers=handlers,
    )
    return program.shift(n, m)


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.cases(("n", "m"), [(64, 3), (20_000, 1)])
def test_loops_over_them_run_in_parallel(target: str, n: int, m: int):
    if target == "sim":
        n = min(n, 200)
    values = np.full(n + 6, 3, np.float32), np.zeros(n + 6, np.float32)
    assert shifted(target, *values, n=n, m=m) == 6


@pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_one_array_twice_is_two_buffers(target: str):
    array = np.ones(100, np.float32)
    assert shifted(target, array, array, n=20) == 2
    assert (array == 1).all()
