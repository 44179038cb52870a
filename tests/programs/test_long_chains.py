"""Chains of operations longer than the stack of Python is deep."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg

LENGTH = 1200
TYPE = "memref<4x4xf32>"


def program(start: str, names: tuple[str, ...]) -> str:
    """Each operation takes the last result and an element of %B."""
    chain = "\n".join(
        f"%x{at + 1} = arith.{names[at % len(names)]} %x{at}, %b : f32"
        for at in range(LENGTH)
    )
    return f"""func.func @f(%A: {TYPE}, %B: {TYPE}, %C: {TYPE}) {{
      affine.for %i = 0 to 4 {{ affine.for %j = 0 to 4 {{
        %x0 = affine.load {start}[%i, %j] : {TYPE}
        %b = affine.load %B[%i, %j] : {TYPE}
        {chain}
        affine.store %x{LENGTH}, %C[%i, %j] : {TYPE}
      }} }}
      return
    }}"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "names", "b", "grown"),
    [
        ("%A", ("addf", "mulf"), 1.0, LENGTH / 2),
        ("%C", ("addf",), 1.0, float(LENGTH)),
        ("%C", ("subf",), 2.0, -2.0 * LENGTH),
    ],
)
@pytest.mark.sampled(3)
def test_long_chains_compile(
    start: str, names: tuple[str, ...], b: float, grown: float
) -> None:
    """Also where the cell that is stored is what the chain begins with."""
    compiled = gcg.compile(program(start, names), target="cpu", threads=1)
    first = np.arange(16, dtype="f4").reshape(4, 4)
    result = first.copy() if start == "%C" else np.zeros((4, 4), "f4")
    compiled.f(first, np.full((4, 4), b, "f4"), result)
    assert np.array_equal(result, first + grown)
