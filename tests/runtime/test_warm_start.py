"""A process that finds its programs on disk neither parses nor compiles."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpucodegen.runtime.storage.cache import OWN
from tests.house.readme import ROOT

RUN = """
import sys
from examples.catalogue import PROGRAMS
from examples.polybench.catalogue import KERNELS
import gpucodegen as gcg
program = (PROGRAMS | KERNELS)[{name!r}]
compiled = gcg.compile(program.path, target="cpu", threads={threads})[program.entry]
program.run(compiled, {size})
heavy = {{"numba", "islpy", "gpucodegen.parser", "gpucodegen.passes.framework.base"}}
heavy = sorted(heavy & set(sys.modules))
print("loaded:", *heavy)
{more}
"""
PRODUCT = {"M": 256, "N": 256, "K": 192}
CASES = (
    ("linalg_matmul_f32", PRODUCT, 2),
    ("linalg_matmul_tensor", PRODUCT, 1),
    ("trsm", None, 1),
    ("gemm", None, 1),
)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "cache")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds trsm."""
    made = tmp_path_factory.mktemp("kept") / "cache"
    assert "numba" in run(str(made), "trsm", None, 1)
    return made


@pytest.fixture
def folder_with_trsm(kept: Path, folder: str) -> str:
    shutil.copytree(kept, folder)
    return folder


def run(folder: str, name: str, size: object, threads: int, more: str = "") -> str:
    code = RUN.format(name=name, size=size, threads=threads, more=more)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"GPUCODEGEN_CACHE_DIR": folder},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size", "threads"), CASES, ids=str)
def test_a_warm_start_needs_no_parser_no_passes_no_isl_and_no_numba(
    folder: str, name: str, size: object, threads: int
) -> None:
    assert "numba" in run(folder, name, size, threads)
    assert run(folder, name, size, threads) == "loaded:"


AFTER = """
import numba
@numba.njit(parallel=True)
def total(n):
    s = 0
    for i in numba.prange(n):
        s += i
    return s
assert total(1000) == 499500
program.run(compiled, {"M": 300, "N": 256, "K": 256})
program.run(compiled, {"M": 256, "N": 256, "K": 192})
print(len(compiled.executable().stages) > 10, "matmul" in compiled.executable().source)
"""


@pytest.mark.slow
def test_numba_and_the_passes_may_come_later(folder: str) -> None:
    run(folder, "linalg_matmul_f32", PRODUCT, 2)
    assert run(folder, "linalg_matmul_f32", PRODUCT, 2, AFTER) == "loaded:\nTrue True"


@pytest.mark.slow
def test_other_options_and_extents_are_other_programs(folder: str) -> None:
    size = {"M": 64, "N": 64}
    run(folder, "row_sum", size, 1)
    assert "passes" in run(folder, "row_sum", size, 2)
    assert "passes" in run(folder, "row_sum", size | {"M": 65}, 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["text", "program", "object"])
def test_damaged_entries_are_made_again(folder_with_trsm: str, kind: str) -> None:
    for entry in Path(folder_with_trsm, OWN, kind).iterdir():
        entry.write_bytes(entry.read_bytes()[:-9])
    assert "loaded:" in run(folder_with_trsm, "trsm", None, 1)
    assert run(folder_with_trsm, "trsm", None, 1) == "loaded:"


WARNS = """
import warnings, sys, gpucodegen as gcg, numpy as np
TEXT = '''func.func @f(%x: memref<4xf32>) {
  %b = memref.alloc() : memref<4xf32>
  affine.for %i = 0 to 4 {
    %v = affine.load %b[%i] : memref<4xf32>
    affine.store %v, %x[%i] : memref<4xf32>
  }
  return
}'''
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    gcg.compile(TEXT, target="cpu").f(np.zeros(4, np.float32))
print(len(told))
"""


@pytest.mark.slow
def test_a_program_that_warns_warns_every_time(folder_with_trsm: str) -> None:
    for _ in range(2):
        assert run(folder_with_trsm, "trsm", None, 1, WARNS).splitlines()[-1] == "1"


NUMBERS = """
import sys, gpucodegen as gcg, numpy as np
TEXT = '''func.func @f(%x: memref<4xcomplex<f32>>, %y: memref<4xf32>,
    %a: complex<f32>, %b: complex<f64>, %c: i1, %d: bf16, %e: ui8) {
  %k = complex.re %b : complex<f64>
  %s = arith.truncf %k : f64 to f32
  %w = arith.extf %d : bf16 to f32
  %n = arith.select %c, %s, %w : f32
  affine.for %i = 0 to 4 {
    affine.store %a, %x[%i] : memref<4xcomplex<f32>>
    affine.store %n, %y[%i] : memref<4xf32>
  }
  return
}'''
x, y = np.zeros(4, np.complex64), np.zeros(4, np.float32)
for chosen, wanted in ((True, 3), (False, 2.5)):
    for _ in range(2):
        function = gcg.compile(TEXT, target="cpu").f
        function(x, y, 1 - 2j, 3 + 4j, chosen, 2.5, 200)
        assert (x == 1 - 2j).all() and (y == wanted).all(), (x, y)
print("numba" in sys.modules)
"""


@pytest.mark.slow
def test_numbers_of_every_type_reach_kept_kernels(folder_with_trsm: str) -> None:
    first, later = (
        run(folder_with_trsm, "trsm", None, 1, NUMBERS).splitlines()[-1]
        for _ in range(2)
    )
    assert (first, later) == ("True", "False")
