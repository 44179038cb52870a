"""Cells of local buffers as values: the same results, and which buffers stay."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter import interpret

import gpucodegen as gcg
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.prepare.mem2reg import Mem2Reg

HEAD = """func.func @f(%A: memref<4xf64>, %v: f64, %n: index) {
  %t = memref.alloc() : memref<2xf64>
"""
END = """
  memref.dealloc %t : memref<2xf64>
  return
}"""


def promoted(body: str) -> str:
    return str(run_pipeline(gcg.parse(HEAD + body + END), [Mem2Reg()]))


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """Loops, accesses of both cells and of A, sums of what was read before."""
    numbers = itertools.count()

    def block(depth: int, loops: tuple[str, ...], seen: tuple[str, ...]) -> str:
        text = ""
        for _ in range(draw(st.integers(1, 4))):
            kind = draw(st.sampled_from(["load", "store", "out", "in", "for"]))
            number, cell = next(numbers), draw(st.integers(0, 1))
            at = f"%i{loops[-1]} mod 4" if loops and draw(st.booleans()) else str(cell)
            if kind == "load":
                text += f"%x{number} = affine.load %t[{cell}] : memref<2xf64>\n"
                text += f"%y{number} = arith.addf %x{number}, {seen[-1]} : f64\n"
                seen = (*seen, f"%x{number}", f"%y{number}")
            elif kind == "in":
                text += f"%x{number} = affine.load %A[{at}] : memref<4xf64>\n"
                seen = (*seen, f"%x{number}")
            elif kind == "store":
                value = draw(st.sampled_from(seen))
                text += f"affine.store {value}, %t[{cell}] : memref<2xf64>\n"
            elif kind == "out":
                value = draw(st.sampled_from(seen))
                text += f"affine.store {value}, %A[{at}] : memref<4xf64>\n"
            elif depth:
                end = draw(st.sampled_from(["0", "1", "3", "%n"]))
                inner = block(depth - 1, (*loops, str(number)), seen)
                text += f"affine.for %i{number} = 0 to {end} {{\n{inner}}}\n"
        return text

    first = "".join(
        f"affine.store %v, %t[{cell}] : memref<2xf64>\n"
        for cell in range(2)
        if draw(st.booleans())
    )
    return first + block(3, (), ("%v",))


@pytest.mark.sampled(8)
@settings(max_examples=120, deadline=None)
@given(body=bodies(), n=st.integers(0, 2))
def test_results_are_the_same(body: str, n: int):
    text = promoted(body)
    assert str(gcg.parse(text)) == text
    arguments = [np.arange(4.0), 0.5, n]
    before, after = (
        interpret(gcg.parse(t), arguments) for t in (HEAD + body + END, text)
    )
    np.testing.assert_array_equal(after.arrays[0], before.arrays[0])


SUM = """
  affine.store %v, %t[1] : memref<2xf64>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 4 {
      %a = affine.load %A[%j] : memref<4xf64>
      %p = affine.load %t[1] : memref<2xf64>
      %q = arith.addf %p, %a : f64
      affine.store %q, %t[1] : memref<2xf64>
    }
  }
  %s = affine.load %t[1] : memref<2xf64>
  affine.store %s, %A[0] : memref<4xf64>"""
FRESH = """
  affine.for %i = 0 to 4 {
    affine.store %v, %t[0] : memref<2xf64>
    affine.for %j = 0 to 4 {
      %p = affine.load %t[0] : memref<2xf64>
      %q = arith.addf %p, %v : f64
      affine.store %q, %t[0] : memref<2xf64>
    }
    %s = affine.load %t[0] : memref<2xf64>
    affine.store %s, %A[%i] : memref<4xf64>
  }"""


def test_a_total_goes_through_all_loops():
    text = promoted(SUM)
    assert "alloc" not in text
    assert text.count("iter_args") == 2


def test_a_cell_that_each_iteration_fills_is_not_carried():
    text = promoted(FRESH)
    assert "alloc" not in text
    assert [line.count("iter_args") for line in text.splitlines() if "for" in line] == [
        0,
        1,
    ]


STAYS = {
    "an index that moves": FRESH.replace("%t[0]", "%t[%i mod 2]", 1),
    "a value from a loop that may not run": FRESH.replace("%s = ", "%u = ")
    .replace("affine.store %s, %A[%i]", "affine.store %u, %A[%i]")
    .replace("to 4 {", "to %n {", 1)
    + "%s = affine.load %t[0] : memref<2xf64>"
    + " affine.store %s, %A[0] : memref<4xf64>",
    "no value": "%s = affine.load %t[0] : memref<2xf64>"
    " affine.store %s, %A[0] : memref<4xf64>",
    "another use": FRESH + "%c = memref.cast %t : memref<2xf64> to memref<?xf64>",
    "a condition": "affine.store %v, %t[0] : memref<2xf64>"
    "affine.if affine_set<(d0) : (d0 >= 0)>(%n) {"
    " affine.store %v, %t[0] : memref<2xf64> }",
}


@pytest.mark.cases("body", STAYS.values(), ids=STAYS)
def test_what_stays_in_memory(body: str):
    assert promoted(body) == str(gcg.parse(HEAD + body + END))
