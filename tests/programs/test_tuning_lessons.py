"""What was timed on this machine ranks the schedules of the next call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.compiling.tuned_schedules import machine_identity
from gpucodegen.tiling.tuning.calibration import FEWEST
from gpucodegen.tiling.tuning.knobs import Knob
from gpucodegen.tiling.tuning.search import Point
from gpucodegen.tuning.isolated_trials import IsolatedTrials
from gpucodegen.tuning.paired_benchmark import PairedBenchmark
from gpucodegen.tuning.result import TuneResult
from gpucodegen.tuning.schedules import schedules

PRODUCT = """
func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>)
                outs(%c : memref<?x?xf32>)
  return
}"""
SHAPES = (90, 100, 120), (70, 130, 110), (140, 90, 130), (80, 110, 150), (130, 70, 140)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its model is wrong: tiles narrower than the default's take 0.4 of its clocks."""
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))
    knobs: dict[int, tuple[PairedBenchmark, Knob]] = {}

    def seconds(self: PairedBenchmark, point: Point) -> float:
        arguments = self.rotation.arguments
        if id(self) not in knobs:
            knob = schedules(self.program, self.name, arguments).knob
            knobs[id(self)] = self, knob  # an object that is kept keeps its id
        knob = knobs[id(self)][1]
        (plans,) = knob.menus
        plan, default = (plans.points[plans.nearest(p)] for p in (point, {}))
        narrow = plan["columns"] < default["columns"]
        wrong = (0.4 if narrow else 1.0) * (2.0 if plan["rows"] < 3 else 1.0)
        return 1e-9 * wrong * (knob.clocks(point) or 0.0)

    def refuse(*_: object) -> None:
        raise TypeError("the clock is of this process")

    def rounds(self: PairedBenchmark, points: list[Point]) -> list[list[float]]:
        return [[seconds(self, point)] * 9 for point in points]

    monkeypatch.setattr(IsolatedTrials, "of", refuse)
    monkeypatch.setattr(PairedBenchmark, "seconds", seconds)
    monkeypatch.setattr(PairedBenchmark, "rounds", rounds)
    monkeypatch.setattr(PairedBenchmark, "repeated", rounds)


def tuned(shape: tuple[int, int, int], trials: int = 20) -> TuneResult:
    m, n, k = shape
    arrays = (np.zeros(s, "f4") for s in ((m, k), (k, n), (m, n)))
    return gcg.tune(PRODUCT, "f", *arrays, trials=trials, budget="1h")


@pytest.mark.slow
def test_later_calls_are_ranked_better_and_the_result_says_so() -> None:
    *first, last = SHAPES
    for n, shape in enumerate(first):
        assert (tuned(shape).corrected is None) == (n < FEWEST)
    found = tuned(last, trials=6)
    assert found.gain > 1.2
    assert found.agreement is not None
    assert found.corrected is not None
    assert found.corrected >= found.agreement
    assert found.json()["corrected"] == found.corrected
    assert tuned(last, trials=40).gain < 1.1 * found.gain


def test_a_machine_is_its_processor_its_threads_and_this_package() -> None:
    assert machine_identity("cpu", 1) != machine_identity("cpu", 2)
    assert machine_identity("cpu", 1) == machine_identity("cpu", 1)
    assert machine_identity("cpu", 1) != machine_identity("sim", 1)
