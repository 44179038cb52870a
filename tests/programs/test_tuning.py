"""The tuner: illegal candidates refused, the winner kept for new processes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.tiling.search import Status

DIAGONAL = """func.func @diagonal(%A: memref<200x200xf32>) {
  affine.for %i = 0 to 199 {
    affine.for %j = 1 to 200 {
      %x = affine.load %A[%i + 1, %j - 1] : memref<200x200xf32>
      affine.store %x, %A[%i, %j] : memref<200x200xf32>
    }
  }
  return
}"""

TRANSPOSE = """func.func @transpose(%A: memref<?x?xf64>, %B: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %A, %c0 : memref<?x?xf64>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %n {
      %x = affine.load %A[%i, %j] : memref<?x?xf64>
      affine.store %x, %B[%j, %i] : memref<?x?xf64>
    }
  }
  return
}"""


def test_an_illegal_candidate_is_refused_with_a_witness() -> None:
    a = np.zeros((200, 200), "f4")
    result = gcg.tune(DIAGONAL, "diagonal", a, candidates=[(16, 16), (16,)])
    illegal, legal = result.trials
    assert illegal.status is Status.ILLEGAL
    assert illegal.seconds is None
    assert "A[" in illegal.reason
    assert legal.status is Status.OK


@pytest.fixture
def matrices() -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).random((512, 512)), np.zeros((512, 512))


def test_the_winner_is_used_by_compile_and_survives_the_process(
    matrices: tuple[np.ndarray, np.ndarray],
) -> None:
    a, b = matrices
    result = gcg.tune(TRANSPOSE, "transpose", a, b, candidates=[(8, 8), (32, 64)])
    assert result.best is not None
    sizes = list(result.best.point.values())
    script = (
        "import sys, numpy as np, gpucodegen as gcg\n"
        "program = gcg.compile(sys.stdin.read(), target='cpu')\n"
        "a = np.zeros((512, 512)); program.transpose(a, a.copy())\n"
        "names = [name for name, _ in program.stages('transpose')]\n"
        "print('tile' in names, program.transpose.executable().options.tile_sizes)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=TRANSPOSE,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[0] == f"True {tuple(sizes)}"


def test_tuning_keeps_the_arguments(matrices: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = matrices
    gcg.tune(TRANSPOSE, "transpose", a, b, candidates=[(16, 16)])
    assert not b.any()
