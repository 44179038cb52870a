"""Threads share a long reduction where the result is too small for all of them."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.runtime.processor import AVX2, AVX512, NEON, SSE2, Cpu, stated
from gpucodegen.tiling.machine.panel_kernels import reduction_parts
from gpucodegen.tiling.machine.processor import Machine, VectorUnit
from gpucodegen.tiling.machine.product_problem import Problem
from tests.programs.products import integers

SHAPES = {
    "one tile": (6, 40, 50001),
    "one row": (1, 64, 100003),
    "some tiles": (20, 60, 30000),
}


def product(m: int, n: int, k: int, behind: str = "") -> str:
    a, b, c = (f"memref<{shape}xf32>" for shape in (f"{m}x{k}", f"{k}x{n}", f"{m}x{n}"))
    return f"""func.func @f(%A: {a}, %B: {b}, %C: {c}) {{
      linalg.matmul ins(%A, %B : {a}, {b}) outs(%C : {c})
      {behind}
      return
    }}"""


def splits(program: gcg.Program) -> bool:
    return "partial" in program.source("f")


SPLIT = [
    *((AVX512, name, threads) for name in SHAPES for threads in (2, 4, 8)),
    (AVX2, "one tile", 4),
    (AVX2, "some tiles", 8),
    (NEON, "one row", 4),
    (SSE2, "one tile", 8),
]
"""Narrower registers make more tiles, enough for more threads."""


@pytest.mark.drawn(7)
@pytest.mark.slow
@pytest.mark.parametrize(("processor", "name", "threads"), SPLIT)
@pytest.mark.sampled(12)
def test_parts_add_up(processor: Cpu, name: str, threads: int):
    m, n, k = SHAPES[name]
    a, b, c = integers(m, k, most=2), integers(k, n, most=2), np.ones((m, n), "f4")
    program = gcg.compile(product(m, n, k), target="cpu", threads=threads)
    with stated(processor):
        program.f(a, b, c)
    assert np.array_equal(c, 1 + a @ b)
    assert splits(program)


@pytest.mark.sampled(3)
@pytest.mark.cases(("processor", "threads"), [(AVX2, 2), (NEON, 2), (SSE2, 4)], parts=2)
@pytest.mark.cases("name", SHAPES)
def test_tiles_enough_for_all_threads_are_not_split(
    processor: Cpu, name: str, threads: int
):
    program = gcg.compile(product(*SHAPES[name]), target="cpu", threads=threads)
    with stated(processor):
        assert not splits(program)


@pytest.mark.slow
@stated(AVX512)
def test_sums_are_the_same_in_every_run():
    rng = np.random.default_rng(0)
    a, b = rng.random((6, 20000), "f4"), rng.random((20000, 40), "f4")
    program = gcg.compile(product(6, 40, 20000), target="cpu", threads=4)
    found: list[np.ndarray] = []
    for _ in range(5):
        c = np.zeros((6, 40), "f4")
        program.f(a, b, c)
        found.append(c)
    assert splits(program)
    assert all(np.array_equal(c, found[0]) for c in found)
    assert np.allclose(found[0], a.astype("f8") @ b, rtol=1e-5)


@stated(AVX512)
def test_the_order_of_exact_sums_stays():
    kept = gcg.compile(product(6, 40, 20000), target="cpu", threads=4, exact=True)
    assert not splits(kept)
    text = """func.func @f(%A: memref<6x20000xf32>, %B: memref<20000x40xf32>,
                            %C: memref<6x40xf32>) {
      affine.for %i = 0 to 6 { affine.for %j = 0 to 40 { affine.for %k = 0 to 20000 {
        %a = affine.load %A[%i, %k] : memref<6x20000xf32>
        %b = affine.load %B[%k, %j] : memref<20000x40xf32>
        %c = affine.load %C[%i, %j] : memref<6x40xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<6x40xf32>
      } } }
      return
    }"""
    assert not splits(gcg.compile(text, target="cpu", threads=4))
    assert splits(gcg.compile(text, target="cpu", threads=4, reassociate=True))


@pytest.mark.slow
@stated(AVX512)
def test_what_is_around_a_contraction_stays_with_the_last_sum():
    relu = """%z = arith.constant 0.0 : f32
      affine.for %i = 0 to 7 { affine.for %j = 0 to 33 {
        %c = affine.load %C[%i, %j] : memref<7x33xf32>
        %r = arith.maximumf %c, %z : f32
        affine.store %r, %C[%i, %j] : memref<7x33xf32>
      } }"""
    a, b, c = (
        integers(7, 30001, most=2),
        integers(30001, 33, most=2),
        np.ones((7, 33), "f4"),
    )
    program = gcg.compile(product(7, 33, 30001, relu), target="cpu", threads=4)
    program.f(a, b, c)
    assert splits(program)
    assert np.array_equal(c, np.maximum(1 + a @ b, 0))


@pytest.mark.cases(
    ("m", "n", "k", "threads", "parts"),
    [
        (6, 64, 100000, 1, 1),
        (6, 64, 100000, 2, 2),
        (6, 64, 100000, 8, 8),
        (6, 64, 1000, 8, 1),
        (1, 4096, 4096, 2, 2),
        (1, 1024, 1024, 2, 1),
        (2048, 2048, 2048, 8, 1),
    ],
)
def test_idle_threads_and_whole_rows_take_parts(
    m: int, n: int, k: int, threads: int, parts: int
):
    problem = Problem(m, n, (k,), 1, 32, True, False, k)
    model = Machine(threads, VectorUnit(512, 32))
    assert reduction_parts(problem, model) == parts
