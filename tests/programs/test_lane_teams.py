"""Parallel loops around programs of steps, a team for each iteration.

Teams meet at barriers of a block.  Leaving out any of these is told by the proof and by
the device.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from examples.catalogue import PROGRAMS
from gpucodegen import errors
from gpucodegen.compiling.lowering import Stages, map_module
from gpucodegen.compiling.targets import cuda_passes
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import rewrite_bottom_up
from gpucodegen.ir.types import F64, MemRefType
from gpucodegen.options import Options
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.checks.races import check_kernel
from gpucodegen.passes.gpu.map_gpu import MapGpu
from gpucodegen.runtime.cuda import kernel_launch as cuda_kernel

# Nothing relates the extents of an array while they are symbols.
pytestmark = pytest.mark.filterwarnings("ignore::gpucodegen.errors.PossiblyOutOfBounds")

SOLVE = PROGRAMS["trsm"]
BATCH = """
#own = affine_map<(i) -> (i)>
func.func @batch(%A: memref<{count}x{n}x{n}xf64>) {{
  affine.for %b = 0 to {count} {{
    affine.for %k = 0 to {n} {{
      affine.for %i = affine_map<(k) -> (k + 1)>(%k) to {n} {{
        %ik = affine.load %A[%b, %i, %k] : memref<{count}x{n}x{n}xf64>
        %kk = affine.load %A[%b, %k, %k] : memref<{count}x{n}x{n}xf64>
        %l = arith.divf %ik, %kk : f64
        affine.store %l, %A[%b, %i, %k] : memref<{count}x{n}x{n}xf64>
      }}
      affine.for %i = affine_map<(k) -> (k + 1)>(%k) to {n} {{
        affine.for %j = affine_map<(k) -> (k + 1)>(%k) to {n} {{
          %l = affine.load %A[%b, %i, %k] : memref<{count}x{n}x{n}xf64>
          %u = affine.load %A[%b, %k, %j] : memref<{count}x{n}x{n}xf64>
          %a = affine.load %A[%b, %i, %j] : memref<{count}x{n}x{n}xf64>
          %product = arith.mulf %l, %u : f64
          %rest = arith.subf %a, %product : f64
          affine.store %rest, %A[%b, %i, %j] : memref<{count}x{n}x{n}xf64>
        }}
      }}
    }}
  }}
  return
}}
"""


@pytest.fixture(autouse=True)
def nothing_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))


def block_of(text: str) -> list[int]:
    """The threads of a block along x, y and z."""
    found = re.search(r"gcg.block = array<i32: ([^>]*)>", text)
    assert found
    return [int(extent) for extent in found[1].split(",")]


@pytest.mark.cases("columns", [1, 9, 24, 37])
@pytest.mark.cases("rows", [1, 2, 40])
@pytest.mark.sampled(6)
def test_columns_of_a_triangular_solve(rows: int, columns: int) -> None:
    size = {"N": rows, "R": columns}
    lower, x = SOLVE.problem.arguments(np.random.default_rng(0), size)
    right = np.linalg.solve(lower, x)
    gcg.compile(SOLVE.path, target="sim").trsm(lower, x)
    np.testing.assert_allclose(x, right, 1e-10, 1e-10)


def mapped_solve(extent: int) -> Module:
    matrix, stages = MemRefType((extent, extent), F64), Stages()
    module = gcg.parse(SOLVE.path.read_text())
    key = "cuda", (matrix, matrix), ()
    return map_module(module, "trsm", key, Options(target="cuda"), stages)


@pytest.mark.slow
def test_columns_are_neighbouring_threads_and_no_blocks_meet() -> None:
    text = str(mapped_solve(1024))
    lanes, inside, warps = block_of(text)
    assert lanes >= 4
    assert lanes * inside == 32
    assert warps > 1
    assert "gpu.barrier" in text
    assert "grid_barrier" not in text


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("count", "n"), [(3, 20), (5, 33)])
def test_each_matrix_of_a_batch_has_a_block(count: int, n: int) -> None:
    program = gcg.compile(BATCH.format(count=count, n=n), target="sim")
    a = np.random.default_rng(0).standard_normal((count, n, n)) + 2 * n * np.eye(n)
    factors = a.copy()
    program.batch(factors)
    lower = np.tril(factors, -1) + np.eye(n)
    np.testing.assert_allclose(lower @ np.triu(factors), a, 1e-10, 1e-10)
    text = str(program.stages("batch")[-1][1])
    assert block_of(text)[0] == 1
    assert "grid_barrier" not in text


PLANS = ((1, 32), (4, 8), (8, 32), (24, 1))


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_plans(plan: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "lanes.lanes", plan[0], "lanes.members", plan[1]
    chosen = partial(MapGpu, plan=asked)
    monkeypatch.setattr(cuda_passes, "MapGpu", lambda **_: chosen())
    size = {"N": 19, "R": 24}
    lower, x = SOLVE.problem.arguments(np.random.default_rng(0), size)
    right = np.linalg.solve(lower, x)
    gcg.compile(SOLVE.path, target="sim").trsm(lower, x)
    np.testing.assert_allclose(x, right, 1e-10, 1e-10)


@pytest.mark.slow
def test_the_proof_misses_the_barrier_behind_the_quotients() -> None:
    """Those in front of them are of who stored what they divide."""
    mapped = mapped_solve(1024)
    *_, barrier = (op for op in mapped.walk() if op.name == "gpu.barrier")
    (kernel,) = (op for op in mapped.walk() if op.name == "gpu.func")
    (spoilt,) = rewrite_bottom_up(kernel, lambda op: [] if op is barrier else None)
    check_kernel(kernel, Surroundings.of(mapped))
    with pytest.raises(errors.RaceFound):
        check_kernel(spoilt, Surroundings.of(mapped))


@pytest.mark.slow
def test_the_device_misses_barriers(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = cuda_kernel.compile_ptx

    def edited(*given: object) -> str:
        text = plain(*given)  # type: ignore[arg-type]
        assert "bar.sync" in text
        return text.replace("bar.sync", "// bar.sync")

    monkeypatch.setattr(cuda_kernel, "compile_ptx", edited)
    size = {"N": 80, "R": 256}
    arguments = SOLVE.problem.arguments(np.random.default_rng(0), size)
    with pytest.raises(errors.LaunchError):
        gcg.compile(SOLVE.path, target="sim").trsm(*arguments)
