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
from gpucodegen.runtime import processor
from gpucodegen.runtime.cpu import pool
from gpucodegen.runtime.devices import inventory
from gpucodegen.runtime.processor import thread_count, told_quota
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", [MATMUL, PARALLEL], ids=["chosen", "asked for"])
def test_one_thread_needs_no_pool(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a pool was wanted")

    monkeypatch.setattr(pool, "provided", refuse)
    program = gcg.compile(text, target="cpu", threads=1)
    arguments = product(0) if text is MATMUL else (np.ones(64, np.int32),)
    program.f(*arguments)
    assert not any(spec.parallel for spec in program["f"].executable().kernels)


USED = """
import numpy as np, gpucodegen as gcg
from gpucodegen.intrinsics.cpu import target as parallel
from gpucodegen.runtime.cpu import pool
pool.processors = lambda: PROCESSORS
used, made = [], parallel.parallel_for
parallel.parallel_for = lambda count: used.append(count) or made(count)
x = np.ones(64, np.int32)
for wanted in (2, 3, 99, 2):
    gcg.compile(TEXT, target="cpu", threads=wanted).f(x)
print(used, x[0])
"""


@pytest.mark.slow
@pytest.mark.parametrize(("processors", "variable"), [(9, "4"), (4, "64"), (4, "4")])
def test_programs_differ_in_threads_up_to_what_may_run(
    processors: int, variable: str
) -> None:
    code = USED.replace("PROCESSORS", str(processors))
    nothing_kept = {"GPUCODEGEN_CACHE_SIZE": "0", "NUMBA_NUM_THREADS": variable}
    assert run(code, **nothing_kept) == "[2, 3, 4, 2] 16"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"NUMBA_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "5,2"}, 5),
        ({"NUMBA_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, 3),
        ({"OMP_NUM_THREADS": "many"}, 8),
        ({"NUMBA_NUM_THREADS": "64"}, 8),
        ({}, 8),
    ],
)
def test_variables_say_how_many(
    variables: dict[str, str], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor, "cores", lambda: 8)
    monkeypatch.setattr(processor, "quota", lambda: 0.0)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert thread_count() == expected


@pytest.mark.parametrize(
    ("quota", "expected"), [(0.0, 8), (0.5, 1), (1.5, 2), (3.0, 3), (40.0, 8)]
)
def test_a_quota_of_time_says_how_many(
    quota: float, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor, "cores", lambda: 8)
    monkeypatch.setattr(processor, "quota", lambda: quota)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "64")
    assert thread_count() == expected


def test_the_doctor_tells_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "cores", lambda: 8)
    for module in (processor, inventory):
        monkeypatch.setattr(module, "quota", lambda: 1.5)
    monkeypatch.setattr(inventory, "cores", lambda: 8)
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    (line,) = (
        line
        for line in inventory.lines(inventory.record())
        if line.startswith("threads")
    )
    assert line.split(maxsplit=1)[1] == (
        "2 of 8 cores that this process may use, a quota of 1.5 processors"
    )


SECOND, FIRST = "0::/box/job\n", "4:memory:/box\n2:cpu,cpuacct:/box/job\n0::/\n"
GROUPS = {
    "none": (SECOND, {}, 0),
    "all of it": (SECOND, {"box/job/cpu.max": "max 100000\n"}, 0),
    "two processors": (SECOND, {"box/job/cpu.max": "200000 100000\n"}, 2),
    "of a group around": (SECOND, {"box/cpu.max": "150000 100000\n"}, 1.5),
    "the least": (SECOND, {"cpu.max": "3 1", "box/job/cpu.max": "4 1"}, 3),
    "the container's own": (SECOND, {"cpu.max": "50000 100000\n"}, 0.5),
    "of the first version": (
        FIRST,
        {"cpu/box/cpu.cfs_quota_us": "250000", "cpu/box/cpu.cfs_period_us": "100000"},
        2.5,
    ),
    "none of the first version": (
        FIRST,
        {"cpu/box/cpu.cfs_quota_us": "-1", "cpu/box/cpu.cfs_period_us": "100000"},
        0,
    ),
    "not a number": (SECOND, {"cpu.max": "much\n"}, 0),
}


@pytest.mark.parametrize(("groups", "files", "expected"), GROUPS.values(), ids=GROUPS)
def test_quotas_are_read_of_groups_of_both_versions(
    groups: str, files: dict[str, str], expected: float, tmp_path: Path
) -> None:
    (tmp_path / "groups").write_text(groups)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert told_quota(tmp_path / "groups", tmp_path) == expected


def test_a_system_without_groups_has_no_quota(tmp_path: Path) -> None:
    assert told_quota(tmp_path / "groups", tmp_path) == 0


@pytest.mark.slow
def test_one_thread_by_variable_starts_no_pool() -> None:
    code = """
import numpy as np, gpucodegen as gcg
from gpucodegen.runtime.cpu import own_pool
own_pool.entry = None
gcg.compile(TEXT, target="cpu").f(np.ones(64, np.int32))
"""
    assert not run(code, OMP_NUM_THREADS="1")


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("unbound", [False, True])
@pytest.mark.sampled(6)
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


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_numbas_pool_serves_where_there_is_no_other(layer: str) -> None:
    code = """
import numba, numpy as np, gpucodegen as gcg
from concurrent.futures import ThreadPoolExecutor
from gpucodegen.runtime.cpu import pool
pool.HAS_OWN = False
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


@pytest.mark.slow
def test_a_warm_start_without_a_pool_of_ours_takes_numba(tmp_path: Path) -> None:
    code = """
import sys, numpy as np, gpucodegen as gcg
from gpucodegen.runtime.cpu import pool
pool.HAS_OWN = {own}
x = np.ones(64, np.int32)
gcg.compile(TEXT, target="cpu", threads=2).f(x)
print("numba" in sys.modules, int(x.sum()))
"""
    folder = {"GPUCODEGEN_CACHE_DIR": str(tmp_path), "NUMBA_NUM_THREADS": "2"}
    starts = [run(code.format(own=own), **folder) for own in (True, True, False)]
    assert starts == ["True 128", "False 128", "True 128"]
