"""Cells of one iteration as values: the same results, and which buffers stay."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter import interpret

import gpucodegen as gcg
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.loops.array_contraction import ContractArrays

HEAD = """func.func @f(%A: memref<4x3xf64>, %v: f64) {
  %t = memref.alloc() : memref<4x3xf64>
  %s = memref.alloc() : memref<4xf64>
"""
END = """
  memref.dealloc %t : memref<4x3xf64>
  memref.dealloc %s : memref<4xf64>
  return
}"""


def contracted(body: str) -> str:
    return str(run_pipeline(gcg.parse(HEAD + body + END), [ContractArrays()]))


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """Two loops over rows, with loops over columns; all cells are written before."""
    numbers = itertools.count()

    def accesses(row: str, column: str) -> str:
        text, seen = "", "%v"
        for _ in range(draw(st.integers(1, 4))):
            number = next(numbers)
            at = draw(st.sampled_from([row, row, row, "0"]))
            place, ty = draw(
                st.sampled_from(
                    [
                        (f"%t[{at}, {column}]", "memref<4x3xf64>"),
                        (f"%s[{at}]", "memref<4xf64>"),
                        (f"%A[{row}, {column}]", "memref<4x3xf64>"),
                    ]
                )
            )
            if draw(st.booleans()):
                text += f"affine.store {seen}, {place} : {ty}\n"
            else:
                text += f"%x{number} = affine.load {place} : {ty}\n"
                text += f"%y{number} = arith.addf %x{number}, {seen} : f64\n"
                seen = f"%y{number}"
        return text

    def row() -> str:
        i, text = f"%i{next(numbers)}", ""
        for _ in range(draw(st.integers(1, 3))):
            j = f"%j{next(numbers)}"
            extent = draw(st.integers(1, 3))
            inner = f"affine.for {j} = 0 to {extent} {{\n{accesses(i, j)}}}\n"
            text += inner if draw(st.booleans()) else accesses(i, "0")
        fill = "".join(
            f"affine.store %v, {place}\n"
            for place in (
                f"%s[{i}] : memref<4xf64>",
                *(f"%t[{i}, {c}] : memref<4x3xf64>" for c in range(3)),
            )
            if draw(st.booleans())
        )
        return f"affine.for {i} = 0 to 4 {{\n{fill}{text}}}\n"

    return "".join(row() for _ in range(draw(st.integers(1, 2))))


@pytest.mark.sampled(24)
@settings(max_examples=150, deadline=None)
@given(body=bodies())
def test_results_are_the_same(body: str):
    text = contracted(body)
    assert str(gcg.parse(text)) == text
    arguments = [np.arange(12.0).reshape(4, 3), 0.5]
    before, after = (
        interpret(gcg.parse(t), arguments) for t in (HEAD + body + END, text)
    )
    np.testing.assert_array_equal(after.arrays[0], before.arrays[0])


ROWS = """
  affine.for %i = 0 to 4 {
    affine.store %v, %s[%i] : memref<4xf64>
    affine.for %j = 0 to 3 {
      %a = affine.load %A[%i, %j] : memref<4x3xf64>
      %p = affine.load %s[%i] : memref<4xf64>
      %q = arith.addf %p, %a : f64
      affine.store %q, %s[%i] : memref<4xf64>
    }
    %r = affine.load %s[%i] : memref<4xf64>
    affine.store %r, %A[%i, 0] : memref<4x3xf64>
  }"""
CELLS = """
  affine.for %j = 0 to 3 {
    affine.for %i = 0 to 4 {
      affine.store %v, %t[%i, %j] : memref<4x3xf64>
      %r = affine.load %t[%i, %j] : memref<4x3xf64>
      affine.store %r, %A[%i, %j] : memref<4x3xf64>
    }
  }"""


@pytest.mark.parametrize(("body", "buffer"), [(ROWS, "%s"), (CELLS, "%t")])
def test_cells_of_one_iteration_are_values(body: str, buffer: str):
    text = contracted(body)
    assert f"{buffer} = memref.alloc" not in text
    assert "memref.alloca" not in text


LAST = "%r = affine.load %s[%i] : memref<4xf64>"
STAYS = {
    "another row": ROWS.replace(LAST, LAST.replace("[%i]", "[3 - %i]")),
    "one row": ROWS.replace("%s[%i]", "%s[2]"),
    "not filled": ROWS.replace("affine.store %v, %s[%i] : memref<4xf64>", ""),
    "read behind": ROWS
    + """affine.for %k = 0 to 4 {
           %r = affine.load %s[%k] : memref<4xf64>
           affine.store %r, %A[%k, 1] : memref<4x3xf64>
         }""",
    "a view": ROWS + "%c = memref.cast %s : memref<4xf64> to memref<?xf64>",
    "a loop between": CELLS.replace(
        "%t[%i, %j] : memref<4x3xf64>", "%s[%i] : memref<4xf64>"
    ),
    "a condition": ROWS.replace(
        "affine.store %v, %s[%i] : memref<4xf64>",
        "affine.if affine_set<(d0) : (d0 - 1 >= 0)>(%i) {"
        " affine.store %v, %s[%i] : memref<4xf64> }",
    ),
}


@pytest.mark.cases("body", STAYS.values(), ids=STAYS)
def test_what_stays_in_memory(body: str):
    assert contracted(body) == str(gcg.parse(HEAD + body + END))


PRODUCT = """func.func @f(%A: memref<32x24xf32>, %B: memref<24x40xf32>,
                          %D: memref<32x40xf32>) {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<32x40xf32>
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 40 {
      affine.store %zero, %C[%i, %j] : memref<32x40xf32>
      affine.for %k = 0 to 24 {
        %a = affine.load %A[%i, %k] : memref<32x24xf32>
        %b = affine.load %B[%k, %j] : memref<24x40xf32>
        %c = affine.load %C[%i, %j] : memref<32x40xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<32x40xf32>
      }
      %s = affine.load %C[%i, %j] : memref<32x40xf32>
      affine.store %s, %D[%i, %j] : memref<32x40xf32>
    }
  }
  memref.dealloc %C : memref<32x40xf32>
  return
}"""


def test_sums_of_products_stay_where_register_tiles_are_made_of_them():
    module = gcg.parse(PRODUCT)
    assert str(ContractArrays().apply(module)) == str(module)
    assert "alloc" not in str(ContractArrays(contractions=False).apply(module))


TABLE = Path(__file__).parents[2] / "bench" / "tables" / "rows.mlir"


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("threads", [1, 2])
def test_sums_of_rows_need_no_memory(threads: int):
    program = gcg.compile(TABLE, target="cpu", threads=threads)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 70), dtype="f4")
    scale, shift = rng.standard_normal((2, 70), dtype="f4")
    y = np.zeros_like(x)
    program.layernorm(x, scale, shift, y)
    deviation = np.sqrt(x.var(1, keepdims=True, dtype="f8") + 1e-5)
    expected = (x - x.mean(1, keepdims=True, dtype="f8")) / deviation * scale + shift
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    kernels = dict(program.stages("layernorm"))["vectorize"]
    assert "memref.alloc" not in str(kernels)
