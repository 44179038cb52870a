"""Tuning for a GPU that is not here: predictions, which measurements replace."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.cli import main
from gpucodegen.compiling import tuned_schedules
from gpucodegen.runtime.devices import inventory
from gpucodegen.runtime.devices.inventory import Gpu
from gpucodegen.tiling.tuning.search import Status, Trial
from gpucodegen.tuning import task
from gpucodegen.tuning.forecast import Forecast, reduced
from gpucodegen.tuning.schedules import schedules
from gpucodegen.tuning.subject import Subject
from gpucodegen.tuning.task import Task
from tests.made.tuned import PROGRAMS, Tuned, convolution, matmul, sums

Point = Mapping[str, int]
H200 = Gpu("H200", (9, 0), 141 << 30, 132, 13000)
LARGE = {
    "row sum": sums(16, 1 << 18),
    "matmul f32": matmul(256, 256, 256),
    "matmul f16": matmul(256, 256, 256, "f16"),
    "convolution": convolution(32, 16, 32),
}
RELU = PROGRAMS["relu"]
WIDE = {"stream.width": 4}
"""What these tests have win; any plan will do."""


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", list(LARGE))
@pytest.mark.drawn(2)
def test_the_chosen_plan_is_twice_as_good_as_the_worst_legal_one(name: str) -> None:
    """By the report's estimate, of executed counters.

    A point leaves some fields to the model, so the last one need not be the worst.
    """
    program = LARGE[name]
    asked = {"target": "sim", "arch": "sm_90a", **program.options}
    compiled = gcg.compile(program.text, **asked)
    worst = schedules(compiled, "f", program.arguments()).knob.ranked()[-3:]
    result = gcg.tune(
        *(program.text, "f", *program.arguments()),
        target="cuda",
        arch="sm_90a",
        candidates=worst,
        **program.options,
    )
    assert result.best is not None
    assert [trial.status for trial in result.trials] == [Status.PREDICTED] * 4
    seconds = [trial.seconds for trial in result.trials if trial.seconds]
    assert result.best.seconds is not None
    assert max(seconds) >= 2 * result.best.seconds


class Fake:
    """Estimates and times of points: one beats all others."""

    def __init__(self, best: Point, status: Status) -> None:
        self.best, self.status = best, status

    def _seconds(self, point: Point) -> float:
        own = {name: size for name, size in point.items() if size}
        return 0.5 if own == self.best else 1.0

    def trial(self, point: Point) -> Trial:
        return Trial(point, self.status, self._seconds(point))

    def rounds(self, points: Sequence[Point]) -> list[list[float]]:
        return [[self._seconds(point)] * 24 for point in points]

    repeated = rounds

    def told(self) -> str:
        return ""

    def close(self) -> None:
        pass


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Has a point win; on a GPU, if one is named.  Nothing was tuned before."""
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("GPUCODEGEN_DEVICE", "gpu")

    def use(best: Point, gpu: Gpu | None = None) -> None:
        def timing(*_: object, **__: object) -> tuple[Fake, str]:
            status = Status.PREDICTED if gpu is None else Status.OK
            return Fake(best, status), ""

        monkeypatch.setattr(Task, "timing", timing)
        monkeypatch.setattr(inventory, "gpus", lambda: (gpu,) if gpu else ())
        monkeypatch.setattr(inventory, "current_gpu", lambda: gpu)

    return use


def tuned(program: Tuned = RELU, target: str = "cuda", **options: Any) -> Any:
    given = program.text, "f", *program.arguments()
    chosen: dict[str, Any] = {"trials": 4, **options}
    return gcg.tune(*given, target=target, **chosen)


def used(program: Tuned = RELU, target: str = "cuda", **options: Any) -> object:
    """The winner that a call finds, and for what it was predicted."""
    function = gcg.compile(program.text, target=target, **options)["f"]
    key = function.key_for(program.arguments())
    found = tuned_schedules.winner_of(function.source, "f", key, function.options)
    return found and (dict(found.point), found.predicted_for)


def full(point: Point, program: Tuned = RELU) -> dict[str, int]:
    compiled = gcg.compile(program.text, target="sim")
    default = schedules(compiled, "f", program.arguments()).default
    return {**default, **point}


@pytest.mark.slow
def test_a_prediction_is_used_until_the_device_was_measured(
    fake: Callable[..., None],
) -> None:
    fake(WIDE)
    result = tuned(arch="sm_90a", candidates=[WIDE])
    assert result.winner == full(WIDE)
    assert "stored as a prediction for sm_90a" in str(result)
    assert used(target="sim") is None
    assert used(target="sim", arch="sm_90a") == (full(WIDE), "sm_90")

    narrow = {"stream.width": 1}
    fake(narrow, H200)
    assert used() == (full(WIDE), "sm_90")
    measured = tuned(candidates=[narrow])
    assert measured.predicted_for == ""
    assert used() == (full(narrow), "")
    assert used(target="sim", arch="sm_90a") == (full(WIDE), "sm_90")


@pytest.mark.slow
def test_a_measured_default_beats_a_predicted_winner(fake: Callable[..., None]) -> None:
    fake(WIDE)
    tuned(candidates=[WIDE])
    fake({}, H200)
    assert tuned(candidates=[WIDE]).winner is None
    assert used() is None
    fake(WIDE, H200)
    tuned(candidates=[WIDE], arch="sm_90a")
    assert used() is None


def test_what_was_predicted_is_what_calls_compile(fake: Callable[..., None]) -> None:
    fake({"stream.width": 2})
    tuned(target="sim", candidates=[{"stream.width": 2}])
    compiled = gcg.compile(RELU.text, target="sim")
    given = RELU.arguments()
    compiled.f(*given)
    assert compiled.f.executable().options.plan == (("stream.width", 2),)
    np.testing.assert_array_equal(given[-1], RELU.expected().astype("f4"))


def test_a_prediction_is_for_its_architecture(fake: Callable[..., None]) -> None:
    fake(WIDE)
    tuned(candidates=[WIDE], arch="sm_80")
    assert used(target="sim") is None


@pytest.mark.parametrize("change", ["name", "driver"])
def test_another_device_or_driver_has_results_of_its_own(
    change: str, fake: Callable[..., None]
) -> None:
    fake(WIDE, H200)
    tuned(candidates=[WIDE])
    assert used() == (full(WIDE), "")
    other = {
        "name": Gpu("H100", (9, 0), 80 << 30, 132, 13000),
        "driver": Gpu("H200", (9, 0), 141 << 30, 132, 13010),
    }[change]
    fake(WIDE, other)
    assert used() is None


def test_a_schedule_of_wrong_numbers_is_never_predicted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The estimate of one is made better, and its numbers another's."""
    program = PROGRAMS["relu"]
    compiled = gcg.compile(program.text, target="sim", tuned=False)
    forecast = Forecast.of(compiled, "f", program.arguments(), arch="sm_90")
    wrong = program.text.replace("arith.addf %x, %x", "arith.mulf %x, %x")
    other = gcg.compile(wrong, target="sim", tuned=False)

    def estimated(self: Forecast, point: Point) -> float:
        self.instructions = 1.0
        return 0.5 if point else 1.0

    monkeypatch.setattr(Forecast, "_estimate", estimated)
    assert forecast.trial({}).status is Status.PREDICTED
    assert forecast.trial(WIDE).status is Status.PREDICTED
    assert forecast.checked == "its arguments"
    assert forecast.contest is not None
    forecast.contest.program = other
    assert forecast.trial({"stream.width": 2}).status is Status.WRONG


CRASHING = """
import os, time
from gpucodegen.tuning.forecast import Forecast

class Crashing(Forecast):
    def _estimate(self, point):
        match point.get("stream.width"):
            case 1: os._exit(3)
            case 2: time.sleep(600)
        return 1.0

def crashing(program, name, arguments):
    return Crashing(program, name, arguments, "sm_90")
"""


@pytest.mark.slow
def test_an_estimate_that_crashes_or_hangs_is_a_trial(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))
    (tmp_path / "crashing_forecast.py").write_text(CRASHING)
    monkeypatch.syspath_prepend(tmp_path)
    crashing = importlib.import_module("crashing_forecast").crashing
    of = Subject.of
    monkeypatch.setattr(
        Subject, "of", lambda *given: replace(of(*given), made=crashing)
    )
    monkeypatch.setattr(task, "EMULATION", 1.0)
    widths = [{"stream.width": width} for width in (1, 2, 4)]
    found = tuned(target="sim", candidates=widths, timeout=10.0)
    assert [trial.status for trial in found.trials] == [
        *(Status.PREDICTED, Status.CRASHED, Status.TIMEOUT, Status.PREDICTED)
    ]
    assert found.trials[1].reason == "the process ended with status 3"


def test_on_what_numbers_were_compared_is_told() -> None:
    compiled = gcg.compile(RELU.text, target="sim", tuned=False)
    forecast = Forecast.of(compiled, "f", RELU.arguments(), arch="sm_90")
    assert not forecast.told()
    forecast.checked = "smaller arguments"
    assert "on the emulated device, with smaller arguments" in forecast.told()


def test_large_arguments_are_made_smaller_where_types_allow() -> None:
    text = RELU.text.replace("128x128", "?x?").replace("0 to 128", "0 to %n")
    text = text.replace(
        "affine.for %i",
        "%c = arith.constant 0 : index\n"
        "%n = memref.dim %A, %c : memref<?x?xf32>\naffine.for %i",
    )
    arrays = np.ones((4096, 4096), "f4"), np.zeros((4096, 4096), "f4")
    small = reduced(gcg.compile(text, target="sim"), "f", arrays)
    assert small is not None
    assert {array.shape for array in small} == {(181, 181)}
    fixed = gcg.compile(RELU.text, target="sim")
    assert reduced(fixed, "f", RELU.arguments()) is None


@pytest.mark.slow
def test_the_command_predicts_and_show_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fake: Callable[..., None]
) -> None:
    fake(WIDE)
    place = tmp_path / "relu.mlir"
    place.write_text(RELU.text, "utf-8")
    wanted = ["--target", "cuda", "--arch", "sm_90", "--trials", "40"]
    assert main(["tune", str(place), *wanted]) == 0
    assert "predicted" in capsys.readouterr().out
    assert main(["tune", "show", "f"]) == 0
    assert "for sm_90, predicted" in capsys.readouterr().out


def test_only_gpus_have_architectures() -> None:
    with pytest.raises(errors.InvalidOption, match="target='cuda'"):
        tuned(target="cpu", arch="sm_90")
    with pytest.raises(errors.InvalidOption, match="sm_90a"):
        tuned(arch="sm_3")
