"""Results that are triangles or bands, computed by register tiles and their corners."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.runtime.processor import AVX512, stated
from tests.programs.products import integers

ROWS, COLUMNS, STEPS = 230, 131, 131
"""Enough rows and work for threads that share blocks of rows and stripes."""
DOMAINS = {
    "lower": ("0 to min affine_map<(i) -> (i + 1, 131)>(%i)", lambda i, j: j <= i),
    "strictly upper": ("affine_map<(i) -> (i + 1)>(%i) to 131", lambda i, j: j > i),
    "band": (
        "affine_map<(i) -> (i)>(%i) to min affine_map<(i) -> (131, i + 5)>(%i)",
        lambda i, j: (j >= i) & (j < i + 5),
    ),
    "steep": (
        "0 to min affine_map<(i) -> (131, 3 * i - 9)>(%i)",
        lambda i, j: j < 3 * i - 9,
    ),
    "of the reversed": (
        "0 to min affine_map<(i) -> (131, 229 - i)>(%i)",
        lambda i, j: j < 229 - i,
    ),
}
"""Bounds of the columns of row i, and the same in NumPy."""


def update(bounds: str, steps: int = STEPS) -> str:
    """``C += 2 A B'`` where the bounds allow."""
    return f"""func.func @f(%two: f64, %A: memref<{ROWS}x{steps}xf64>,
        %B: memref<{COLUMNS}x{steps}xf64>, %C: memref<{ROWS}x{COLUMNS}xf64>) {{
      affine.for %i = 0 to {ROWS} {{
        affine.for %k = 0 to {steps} {{
          affine.for %j = {bounds} {{
            %a = affine.load %A[%i, %k] : memref<{ROWS}x{steps}xf64>
            %b = affine.load %B[%j, %k] : memref<{COLUMNS}x{steps}xf64>
            %c = affine.load %C[%i, %j] : memref<{ROWS}x{COLUMNS}xf64>
            %scaled = arith.mulf %two, %a : f64
            %product = arith.mulf %scaled, %b : f64
            %sum = arith.addf %c, %product : f64
            affine.store %sum, %C[%i, %j] : memref<{ROWS}x{COLUMNS}xf64>
          }}
        }}
      }}
      return
    }}"""


@pytest.mark.drawn(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("domain", "threads"), [("lower", 1), *((name, 2) for name in DOMAINS)]
)
@stated(AVX512)
def test_cells_of_the_domain_and_no_others(domain: str, threads: int):
    bounds, inside = DOMAINS[domain]
    a, b = integers(ROWS, STEPS, dtype="f8"), integers(COLUMNS, STEPS, dtype="f8")
    c = integers(ROWS, COLUMNS, dtype="f8")
    expected = c + np.where(inside(*np.indices(c.shape)), 2 * (a @ b.T), 0)
    compiled = gcg.compile(update(bounds), target="cpu", threads=threads)
    compiled.f(2.0, a, b, c)
    assert np.array_equal(c, expected)
    mapped = dict(compiled.stages("f"))["map-cpu"]
    assert "vector.outerproduct" in mapped
    assert ("%panels = memref.alloc" in mapped) == (threads > 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("filled", "threads"), [("lower", 1), ("lower", 2), ("band", 2)]
)
def test_fills_of_the_same_cells_are_fused(filled: str, threads: int):
    """A fill of the domain starts the sums; one of other cells stays a nest."""
    bounds, inside = DOMAINS["lower"]
    others, is_filled = DOMAINS[filled]
    fill = f"""%zero = arith.constant 0.0 : f64
      affine.for %i = 0 to {ROWS} {{
        affine.for %j = {others} {{
          affine.store %zero, %C[%i, %j] : memref<{ROWS}x{COLUMNS}xf64>
        }}
      }}
      affine.for"""
    text = update(bounds, 300).replace("affine.for", fill, 1)
    a, b = integers(ROWS, 300, dtype="f8"), integers(COLUMNS, 300, dtype="f8")
    c = integers(ROWS, COLUMNS, dtype="f8")
    place = np.indices(c.shape)
    before = np.where(is_filled(*place), 0, c)
    expected = before + np.where(inside(*place), 2 * (a @ b.T), 0)
    compiled = gcg.compile(text, target="cpu", threads=threads)
    compiled.f(2.0, a, b, c)
    assert np.array_equal(c, expected)
    mapped = dict(compiled.stages("f"))["map-cpu"]
    assert ("affine.store %zero" in mapped) == (filled != "lower")


def test_on_the_emulated_device():
    bounds, inside = DOMAINS["band"]
    a, b = integers(ROWS, 4, dtype="f8"), integers(COLUMNS, 4, dtype="f8")
    c = integers(ROWS, COLUMNS, dtype="f8")
    expected = c + np.where(inside(*np.indices(c.shape)), 2 * (a @ b.T), 0)
    gcg.compile(update(bounds, 4), target="sim").f(2.0, a, b, c)
    assert np.array_equal(c, expected)


@pytest.mark.slow
def test_elements_that_only_the_box_has_are_not_read():
    """Row i of A is read as row i - 40, which rows without a column do not have."""
    text = update("0 to min affine_map<(i) -> (131, i - 40)>(%i)")
    text = text.replace("%A[%i, %k]", "%A[%i - 40, %k]")
    a, b = integers(ROWS, STEPS, dtype="f8"), integers(COLUMNS, STEPS, dtype="f8")
    c = integers(ROWS, COLUMNS, dtype="f8")
    i, j = np.indices(c.shape)
    products = 2 * (np.roll(a, 40, axis=0) @ b.T)
    expected = c + np.where(j < i - 40, products, 0)
    compiled = gcg.compile(text, target="cpu")
    compiled.f(2.0, a, b, c)
    assert np.array_equal(c, expected)
    assert "vector.outerproduct" not in dict(compiled.stages("f"))["map-cpu"]


def test_a_domain_without_cells():
    """A loop never runs, which shows once the other's only iteration is known."""
    text = """func.func @f(%A: memref<12x1xi32>, %B: memref<1x12xi32>,
                           %C: memref<1x1xi32>) {
      affine.for %n = 0 to 1 {
        affine.for %k = 0 to 12 {
          affine.for %m = max affine_map<(n) -> (n + 1, 0)>(%n) to 1 {
            %a = affine.load %A[%k, %m] : memref<12x1xi32>
            %b = affine.load %B[%n, %k] : memref<1x12xi32>
            %c = affine.load %C[%n, %m] : memref<1x1xi32>
            %product = arith.muli %b, %a : i32
            %sum = arith.addi %c, %product : i32
            affine.store %sum, %C[%n, %m] : memref<1x1xi32>
          }
        }
      }
      return
    }"""
    ones = np.ones((12, 1), "i4")
    c = np.full((1, 1), 7, "i4")
    gcg.compile(text, target="cpu").f(ones, ones.T, c)
    assert c == 7
