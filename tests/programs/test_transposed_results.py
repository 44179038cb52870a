"""Products whose left factor lies along the rows: it is transposed at the end."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from tests.programs.products import integers, product

SHAPES = {
    "two columns": (66, 2, 648),
    "three columns, rows of one vector": (16, 3, 50),
    "rectangles at both ends": (61, 21, 75),
    "fewer rows than lanes": (5, 2, 63),
    "rows of several threads": (1089, 3, 1241),
}
RIGHT = {"columns": "kj", "steps": "jk"}
NUMPY = {"f32": "f4", "f64": "f8", "i32": "i4"}


@pytest.mark.drawn(24)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("right", RIGHT.values(), ids=RIGHT)
@pytest.mark.parametrize("element", NUMPY)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.sampled(60)
def test_products_are_exact(
    shape: tuple[int, int, int], element: str, right: str, threads: int
):
    m, n, k = shape
    a, b = (integers(k, x, dtype=NUMPY[element]) for x in (m, n))
    c = np.ones((m, n), NUMPY[element])
    text = product(m, n, k, element, left="ki", right=right)
    given = b if right == RIGHT["columns"] else b.T.copy()
    gcg.compile(text, target="cpu", threads=threads).f(a, given, c)
    assert np.array_equal(c, 1 + a.T @ b)


@pytest.mark.slow
def test_few_columns_are_lanes_of_rows_and_what_follows_is_fused():
    m, n, k = 70, 3, 200
    relu = f"""%zero = arith.constant 0.0 : f32
      affine.for %i = 0 to {m} {{ affine.for %j = 0 to {n} {{
        %c = affine.load %C[%i, %j] : memref<{m}x{n}xf32>
        %r = arith.maximumf %c, %zero : f32
        affine.store %r, %C[%i, %j] : memref<{m}x{n}xf32>
      }} }}"""
    program = gcg.compile(
        product(m, n, k, "f32", left="ki", right="jk", behind=relu),
        target="cpu",
        threads=1,
    )
    a, b = integers(k, m), integers(n, k)
    c = np.ones((m, n), "f4")
    program.f(a, b, c)
    assert np.array_equal(c, np.maximum(1 + a.T @ b.T, 0))
    source = program.source("f")
    assert "outerproduct_3x" in source
    assert "transpose_3x" in source


def test_ordered_sums_are_not_transposed():
    text = product(70, 3, 200, "f32", left="ki", right="jk")
    source = gcg.compile(text, target="cpu", threads=1, exact=True).source("f")
    assert "outerproduct_3x" not in source
