from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.runtime import threads
from gpucodegen.runtime.processor import thread_count
from tests.house.readme import ROOT

MATMUL = """
func.func @f(%A: memref<256x192xf32>, %B: memref<192x256xf32>,
             %C: memref<256x256xf32>) {
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 256 {
      affine.for %k = 0 to 192 {
        %a = affine.load %A[%i, %k] : memref<256x192xf32>
        %b = affine.load %B[%k, %j] : memref<192x256xf32>
        %c = affine.load %C[%i, %j] : memref<256x256xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<256x256xf32>
      }
    }
  }
  return
}
"""
PARALLEL = """
func.func @f(%x: memref<64xi32>) {
  affine.parallel (%i) = (0) to (64) {
    %v = affine.load %x[%i] : memref<64xi32>
    %w = arith.addi %v, %v : i32
    affine.store %w, %x[%i] : memref<64xi32>
  }
  return
}
"""


def product(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((256, 192), dtype=np.float32)
    b = rng.standard_normal((192, 256), dtype=np.float32)
    return a, b, np.zeros((256, 256), np.float32)


def run(code: str, **variables: str) -> str:
    kept = {k: v for k, v in os.environ.items() if not k.endswith("NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", f"TEXT = {PARALLEL!r}\n{code}"],
        cwd=ROOT,
        env=kept | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("text", [MATMUL, PARALLEL], ids=["chosen", "asked for"])
def test_one_thread_needs_no_pool(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a pool was wanted")

    monkeypatch.setattr(threads, "provided", refuse)
    program = gcg.compile(text, target="cpu", threads=1)
    arguments = product(0) if text is MATMUL else (np.ones(64, np.int32),)
    program.f(*arguments)
    assert not any(spec.parallel for spec in program["f"].executable().kernels)


USED = """
import numpy as np, gpucodegen as gcg
from gpucodegen.intrinsics import cpu_parallel
used, made = [], cpu_parallel.parallel_for
cpu_parallel.parallel_for = lambda count: used.append(count) or made(count)
x = np.ones(64, np.int32)
for wanted in (2, 3, 99, 2):
    gcg.compile(TEXT, target="cpu", threads=wanted).f(x)
print(used, x[0])
"""


def test_programs_differ_in_threads_and_are_capped_by_the_pool() -> None:
    assert run(USED, NUMBA_NUM_THREADS="4") == "[2, 3, 4, 2] 16"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"NUMBA_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "5,2"}, 5),
        ({"NUMBA_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, 3),
        ({"OMP_NUM_THREADS": "many"}, None),
    ],
)
def test_variables_say_how_many(
    variables: dict[str, str], expected: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    processors = thread_count()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert thread_count() == (expected or processors)


def test_one_thread_by_variable_starts_no_pool() -> None:
    code = """
import numpy as np, gpucodegen as gcg
from gpucodegen.runtime import own_pool
own_pool.entry = None
gcg.compile(TEXT, target="cpu").f(np.ones(64, np.int32))
"""
    assert not run(code, OMP_NUM_THREADS="1")


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("unbound", [False, True])
@pytest.mark.sampled(3)
def test_threads_of_python_may_call_one_program(count: int, unbound: bool) -> None:
    program = gcg.compile(MATMUL, target="cpu", threads=count)
    problems = [product(seed) for seed in range(4)]

    def work(problem: tuple[Any, ...]) -> None:
        call = program.f if unbound else program["f"].bind(*problem)
        for _ in range(8):
            problem[2][...] = 0
            call(*problem) if unbound else call()
            expected = problem[0].astype(np.float64) @ problem[1]
            np.testing.assert_allclose(problem[2], expected, rtol=1e-3, atol=1e-3)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, problems))


@pytest.mark.parametrize("layer", ["omp", "workqueue"])
@pytest.mark.sampled(2)
def test_numbas_pool_serves_where_there_is_no_other(layer: str) -> None:
    code = """
import numba, numpy as np, gpucodegen as gcg
from concurrent.futures import ThreadPoolExecutor
from gpucodegen.runtime import threads
threads.HAS_OWN = False
program = gcg.compile(TEXT, target="cpu", threads=2)
arrays = [np.ones(64, np.int32) for _ in range(4)]
def work(x):
    for _ in range(200):
        program.f(x)
work(arrays[0])
with ThreadPoolExecutor(4) as pool:
    list(pool.map(work, arrays[1:]))
print(numba.threading_layer(), *(int(x.sum()) for x in arrays))
"""
    layers = {"NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "2"}
    assert run(code, **layers) == f"{layer} 0 0 0 0"


def test_a_warm_start_without_a_pool_of_ours_takes_numba(tmp_path: Path) -> None:
    code = """
import sys, numpy as np, gpucodegen as gcg
from gpucodegen.runtime import threads
threads.HAS_OWN = {own}
x = np.ones(64, np.int32)
gcg.compile(TEXT, target="cpu", threads=2).f(x)
print("numba" in sys.modules, int(x.sum()))
"""
    folder = {"GPUCODEGEN_CACHE_DIR": str(tmp_path), "NUMBA_NUM_THREADS": "2"}
    starts = [run(code.format(own=own), **folder) for own in (True, True, False)]
    assert starts == ["True 128", "False 128", "True 128"]
