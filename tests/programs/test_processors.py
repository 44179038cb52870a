"""Plans for every described processor compute the same; what is planned runs here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.runtime import processor
from gpucodegen.runtime.processor import (
    AVX2,
    AVX512,
    PROCESSORS,
    SSE2,
    Caches,
    cpu,
    stated,
    thread_count,
)
from tests.programs.products import integers

TEXT = """
func.func @product(%A: memref<45x67xf32>, %B: memref<67x70xf32>,
                   %C: memref<45x70xf32>) {
  linalg.matmul ins(%A, %B : memref<45x67xf32>, memref<67x70xf32>)
                outs(%C : memref<45x70xf32>)
  return
}
func.func @columns(%A: memref<41x70xf64>, %B: memref<70x3xf64>, %C: memref<41x3xf64>) {
  linalg.matmul ins(%A, %B : memref<41x70xf64>, memref<70x3xf64>)
                outs(%C : memref<41x3xf64>)
  return
}
func.func @halves(%A: memref<9x33xf16>, %B: memref<33x9xf16>) {
  linalg.transpose ins(%A : memref<9x33xf16>) outs(%B : memref<33x9xf16>)
    permutation = [1, 0]
  affine.for %i = 0 to 33 { affine.for %j = 0 to 9 {
    %b = affine.load %B[%i, %j] : memref<33x9xf16>
    %c = arith.addf %b, %b : f16
    affine.store %c, %B[%i, %j] : memref<33x9xf16>
  } }
  return
}
"""


@pytest.mark.drawn(7)
@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.sampled(5)
def test_results_are_those_of_any_plan(name: str, threads: int):
    program = gcg.compile(TEXT, target="cpu")
    with stated(replace(PROCESSORS[name], threads=threads)):
        for function, (m, k, n), kind in (
            ("product", (45, 67, 70), "f4"),
            ("columns", (41, 70, 3), "f8"),
        ):
            a, b = integers(m, k, dtype=kind), integers(k, n, dtype=kind)
            c = np.ones((m, n), kind)
            program[function](a, b, c)
            assert np.array_equal(c, 1 + a.astype(int) @ b.astype(int))
        halves, turned = integers(9, 33).astype("f2"), np.zeros((33, 9), "f2")
        program.halves(halves, turned)
        assert np.array_equal(turned, 2 * halves.T)


def transposition(n: int) -> str:
    plane = f"memref<{n}x{n}xf32>"
    return f"""func.func @f(%A: {plane}, %B: {plane}) {{
      linalg.transpose ins(%A : {plane}) outs(%B : {plane}) permutation = [1, 0]
      return
    }}"""


@pytest.mark.cases(
    ("host", "n", "threads", "past"),
    [
        (AVX2, 1200, 2, False),  # 11 MiB, and 16 for both threads
        (AVX2, 1200, 1, True),  # 8 for one
        (AVX2, 2112, 2, True),
        (SSE2, 1200, 2, True),
        (AVX512, 1200, 8, False),
        (AVX512, 2112, 8, True),
        (AVX512, 2112, 64, False),  # several such caches
    ],
)
def test_results_go_past_the_caches_that_threads_share(
    host: processor.Cpu, n: int, threads: int, past: bool
):
    with stated(host):
        program = gcg.compile(transposition(n), target="cpu", threads=threads)
        assert ("streaming" in program.source("f")) == past


def test_what_is_stated_is_planned_for_and_part_of_keys():
    before = processor.facts()
    few = replace(SSE2, threads=3)
    with stated(few):
        assert cpu() == few
        assert thread_count() == 3
        assert processor.facts() != before
        with stated(AVX512):
            assert cpu().vector_bits == 512
    assert processor.facts() == before


def test_caches_are_stated_by_a_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GPUCODEGEN_CACHES", raising=False)
    before = processor.caches()
    monkeypatch.setenv("GPUCODEGEN_CACHES", "48K,2M,30M,12")
    assert processor.caches() == Caches(48 << 10, 2 << 20, 30 << 20, 12)
    monkeypatch.setenv("GPUCODEGEN_CACHES", "much")
    assert processor.caches() == before


@pytest.mark.parametrize("name", PROCESSORS)
def test_variables_name_a_processor(name: str, monkeypatch: pytest.MonkeyPatch):
    described = PROCESSORS[name]
    variables = described.variables
    assert variables["NUMBA_CPU_NAME"] == described.name
    monkeypatch.setenv("GPUCODEGEN_CACHES", variables["GPUCODEGEN_CACHES"])
    assert processor.caches() == described.caches
