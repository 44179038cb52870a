"""Factors whose steps, or rows, are contiguous: copies transposed in registers."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.passes.framework.base import run_pipeline
from gpucodegen.passes.framework.pipeline_text import parse_pipeline
from gpucodegen.tiling.machine.processor import Machine, VectorUnit
from gpucodegen.tiling.machine.product_plan import plan_contraction
from gpucodegen.tiling.machine.product_problem import Problem
from tests.programs.products import integers, product

SHAPES = {
    "squares only": (24, 64, 64),
    "rectangles at both ends": (29, 71, 53),
    "fewer columns and steps than lanes": (30, 5, 3),
    "blocks of the reduction, the last one shorter": (130, 45, 1103),
    "stripes": (403, 330, 700),
}
NUMPY = {"f32": "f4", "f64": "f8"}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("element", NUMPY)
@pytest.mark.sampled(9)
def test_products_are_exact(shape: tuple[int, int, int], element: str):
    m, n, k = shape
    a, b = (integers(x, k, dtype=NUMPY[element]) for x in (m, n))
    c = np.ones((m, n), NUMPY[element])
    # Without another order of sums, inner products are no alternative.
    program = gcg.compile(
        product(*shape, element, right="jk"), target="cpu", threads=1, exact=True
    )
    program.f(a, b, c)
    assert np.array_equal(c, 1 + a.astype(int) @ b.astype(int).T)
    assert "transpose_" in program.source("f")


@pytest.mark.drawn(6)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("element", "threads"), [("f32", 2), ("f64", 1)])
@pytest.mark.sampled(18)
def test_products_of_columns_are_exact(
    shape: tuple[int, int, int], element: str, threads: int
):
    m, n, k = shape
    a, b = (integers(k, x, dtype=NUMPY[element]) for x in (m, n))
    c = np.ones((m, n), NUMPY[element])
    text = product(m, n, k, element, left="ki")
    gcg.compile(text, target="cpu", threads=threads).f(a, b, c)
    assert np.array_equal(c, 1 + a.astype(int).T @ b.astype(int))


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.sampled(2)
def test_batches_share_nothing(threads: int):
    q, k = integers(3, 70, 33), integers(3, 90, 33)
    text = """func.func @f(%Q: memref<3x70x33xf32>, %K: memref<3x90x33xf32>,
                            %S: memref<3x70x90xf32>) {
      linalg.batch_matmul_transpose_b
        ins(%Q, %K : memref<3x70x33xf32>, memref<3x90x33xf32>)
        outs(%S : memref<3x70x90xf32>)
      return
    }"""
    scores = np.zeros((3, 70, 90), "f4")
    gcg.compile(text, target="cpu", threads=threads).f(q, k, scores)
    assert np.array_equal(scores, q @ k.transpose(0, 2, 1))


def test_blocks_of_the_reduction_begin_at_squares():
    model = Machine(1, VectorUnit(512, 32))
    for rows in (30, 130, 400):
        turned = Problem(rows, 330, (1103,), 1, 32, False, False, 1103)
        assert plan_contraction(turned, model).tiling.k_chunk % 16 == 0


@pytest.mark.parametrize("k", [5, 64, 155])
@pytest.mark.parametrize(("columns", "element"), [(2, "f32"), (6, "f32"), (3, "f64")])
@pytest.mark.sampled(8)
def test_few_columns_are_turned_for_inner_products(columns: int, element: str, k: int):
    m, dtype = 40, NUMPY[element]
    a, b = integers(m, k, dtype=dtype), integers(k, columns, dtype=dtype)
    c = np.ones((m, columns), dtype)
    text = product(m, columns, k, element)
    program = gcg.compile(text, target="cpu", threads=1)
    program.f(a, b, c)
    assert np.array_equal(c, 1 + a.astype(int) @ b.astype(int))
    mapping = "generalize,linalg-to-affine,map-cpu{vector_bits=512,registers=32}"
    mapped = str(run_pipeline(gcg.parse(text), parse_pipeline(mapping)))
    assert ("vector.transpose" in mapped) == ("%low" in mapped)
    assert "%low" in mapped or k < 255
