"""Time tiles whose proof fails: the program runs without them, and says so."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.passes.checks import races as verify_kernels

TEXT = """
func.func @smooth(%A: memref<3000000xf64>, %B: memref<3000000xf64>) {
  %third = arith.constant 0.25 : f64
  affine.for %t = 0 to 20 {
    affine.for %i = 1 to 2999999 {
      %l = affine.load %A[%i - 1] : memref<3000000xf64>
      %r = affine.load %A[%i + 1] : memref<3000000xf64>
      %s = arith.addf %l, %r : f64
      %v = arith.mulf %s, %third : f64
      affine.store %v, %B[%i] : memref<3000000xf64>
    }
    affine.for %i = 1 to 2999999 {
      %l = affine.load %B[%i - 1] : memref<3000000xf64>
      %r = affine.load %B[%i + 1] : memref<3000000xf64>
      %s = arith.addf %l, %r : f64
      %v = arith.mulf %s, %third : f64
      affine.store %v, %A[%i] : memref<3000000xf64>
    }
  }
  return
}
"""
SIZE, STEPS = 3_000_000, 20


def smoothed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same steps, whole arrays at a time."""
    for _ in range(STEPS):
        b[1:-1] = 0.25 * (a[:-2] + a[2:])
        a[1:-1] = 0.25 * (b[:-2] + b[2:])
    return a


@pytest.mark.slow
def test_unproven_time_tiles_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = [errors.RaceFound(buffer="%A", witness="not decided within the limit")]
    check = verify_kernels.check_kernel

    def undecided(*arguments: object) -> None:
        if refusals:
            raise refusals.pop()
        check(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(verify_kernels, "check_kernel", undecided)
    program = gcg.compile(gcg.parse(TEXT), target="cpu", threads=2)
    a = np.random.default_rng(0).random(SIZE)
    expected = smoothed(a.copy(), np.zeros(SIZE))
    with pytest.warns(errors.TimeTilesUnproven, match="not decided") as told:
        program.smooth(a, np.zeros(SIZE))
    assert told[0].message.details["function"] == "smooth"
    np.testing.assert_array_equal(a, expected)
    passes = [name for name, _ in program.stages("smooth")]
    assert "wavefront" not in passes
    assert passes.count("parse") == 1


def test_a_race_of_the_program_itself_stays_an_error() -> None:
    text = """
    func.func @race(%A: memref<64xf64>) {
      affine.parallel (%i) = (0) to (63) {
        %v = affine.load %A[%i + 1] : memref<64xf64>
        affine.store %v, %A[%i] : memref<64xf64>
      }
      return
    }
    """
    with pytest.raises(errors.RaceFound):
        gcg.compile(text, target="cpu").race(np.zeros(64))
