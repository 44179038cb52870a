"""What users see of a tuning: pipelines with holes, ready-made operations, reports."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.cli import main
from gpucodegen.compiling.stored_tunings import Stored
from gpucodegen.compiling.tuned_schedules import tuning_store
from gpucodegen.kernels.calls import How
from gpucodegen.report.gpu.report import report
from gpucodegen.tiling.tuning.calibration import gain
from gpucodegen.tiling.tuning.search import Status, Trial
from gpucodegen.tuning.clocks import Rotation
from gpucodegen.tuning.final_comparison import final, winner
from gpucodegen.tuning.isolated_trials import IsolatedTrials
from gpucodegen.tuning.paired_benchmark import HOPELESS, PairedBenchmark, Point

SHIFT = """func.func @{name}(%A: memref<?x?xf64>, %B: memref<?x?xf64>) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %A, %c0 : memref<?x?xf64>
  affine.for %i = 0 to %n {{
    affine.for %j = 0 to %n {{
      %x = affine.load %A[%i, %j] : memref<?x?xf64>
      affine.store %x, %B[%j, %i] : memref<?x?xf64>
    }}
  }}
  return
}}"""
DIAGONAL = """func.func @diagonal(%A: memref<200x200xf32>) {
  affine.for %i = 0 to 199 {
    affine.for %j = 2 to 200 {
      %x = affine.load %A[%i + 1, %j - 2] : memref<200x200xf32>
      affine.store %x, %A[%i, %j] : memref<200x200xf32>
    }
  }
  return
}"""


def squares(n: int = 48) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).random((n, n)), np.zeros((n, n))


@pytest.fixture
def clocked(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Callable[[Point], float]], None]:
    """Sets the seconds that points take, everywhere, and runs them in this process."""

    def use(seconds: Callable[[Point], float]) -> None:
        def rounds(_: PairedBenchmark, points: list[Point]) -> list[list[float]]:
            return [[seconds(point)] * 12 for point in points]

        def timed(self: PairedBenchmark, point: Point) -> float:
            self._launch(point)
            return seconds(point)

        def refuse(*_: object) -> None:
            raise TypeError("the clock is of this process")

        monkeypatch.setattr(IsolatedTrials, "of", refuse)
        monkeypatch.setattr(PairedBenchmark, "seconds", timed)
        for name in ("rounds", "repeated"):
            monkeypatch.setattr(PairedBenchmark, name, rounds)

    return use


@pytest.mark.slow
def test_holes_of_a_pipeline_are_knobs(clocked: Any) -> None:
    clocked(lambda point: 0.5 if point.get("a") == 16 else 1.0)
    text, (a, b) = SHIFT.format(name="holes"), squares()
    values = {"a": [8, 16], "b": [4]}
    given = {"pipeline": "tile{sizes=[$a,$b]}", "values": values}
    result = gcg.tune(text, "holes", a, b, **given)
    assert result.trials[0].point == result.default == {"a": 0, "b": 0}
    assert [trial.status for trial in result.trials] == [Status.OK] * 3
    assert result.pipeline == "tile{sizes=[16,4]}"
    assert result.pipeline in str(result)
    assert not b.any()
    other = gcg.tune(
        text, "holes", a, b, **(given | {"pipeline": "tile{sizes=[$b,$a]}"})
    )
    assert other.pipeline == "tile{sizes=[4,16]}"
    kept = [about.get("pipeline") for about in tuning_store().subjects().values()]
    assert {"tile{sizes=[$a,$b]}", "tile{sizes=[$b,$a]}"} <= set(kept)
    gcg.compile(text, target="cpu").holes(a, b)
    assert np.array_equal(b, a.T)


@pytest.mark.slow
def test_illegal_fillings_are_listed_with_their_witness(clocked: Any) -> None:
    clocked(lambda _: 1.0)
    result = gcg.tune(
        DIAGONAL,
        "diagonal",
        np.zeros((200, 200), "f4"),
        pipeline="skew{factors=[$skew]}",
        values={"skew": [1, 2]},
    )
    found = {tuple(t.point.values()): t for t in result.trials}
    assert found[0,].status is found[2,].status is Status.OK
    assert found[1,].status is Status.ILLEGAL
    assert "A[" in found[1,].reason


@pytest.mark.slow
def test_a_schedule_that_computes_other_numbers_is_wrong() -> None:
    text = "func.func @f(%x: memref<8xf32>) {{ {} return }}"
    more = """affine.for %i = 0 to 8 {
      %v = affine.load %x[%i] : memref<8xf32>
      %w = arith.addf %v, %v : f32
      affine.store %w, %x[%i] : memref<8xf32>
    }"""
    contest = PairedBenchmark.of(
        gcg.compile(text.format(more), target="cpu"), "f", [np.ones(8, "f4")]
    )
    contest.seconds({})
    contest.program = gcg.compile(
        text.format(more.replace("addf", "subf")), target="cpu"
    )
    trial = contest.trial({"tile0": 4})
    assert (trial.status, trial.seconds) == (Status.WRONG, None)
    assert "not 2.0 as the default" in trial.reason


@pytest.mark.cases(
    ("pipeline", "values", "name"),
    [
        ("tile{sizes=[$a]}", None, "values"),
        ("tile{sizes=[$a]}", {"b": [8]}, "values"),
        ("tile{sizes=[$a]}", {"a": [0]}, "values"),
        ("tile{sizes=[8]}", {"a": [8]}, "values"),
        ("", {"a": [8]}, "values"),
        ("tile{size=[$a]}", {"a": [8]}, "size"),
        ("tilt{sizes=[$a]}", {"a": [8]}, "tilt"),
    ],
)
def test_holes_without_values_are_refused(
    pipeline: str, values: Any, name: str
) -> None:
    given = {"pipeline": pipeline, "values": values}
    with pytest.raises(errors.Error, match=name):
        gcg.tune(SHIFT.format(name="f"), "f", *squares(), **given)


def test_arguments_are_rotated_past_the_last_cache() -> None:
    one = np.ones((64, 128))[:, ::2]
    sets = Rotation.of([one, 3], 10 * one.nbytes).sets
    assert sum(array.nbytes for array, _ in sets) > 10 * one.nbytes
    assert len({array.ctypes.data for array, _ in sets}) == len(sets) == 11
    assert {(array.strides, array.ctypes.data % 64) for array, _ in sets} == {
        (one.strides, one.ctypes.data % 64)
    }
    used: list[int] = []
    text = SHIFT.format(name="rotated")
    contest = PairedBenchmark.of(
        gcg.compile(text, target="cpu"), "rotated", squares(256)
    )
    contest._timed(lambda a, *_: used.append(a.ctypes.data), 5)
    assert len(set(used)) == 5


@pytest.mark.slow
def test_a_hopeless_schedule_is_timed_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    contest = PairedBenchmark.of(
        gcg.compile(SHIFT.format(name="slow"), target="cpu"), "slow", squares()
    )
    asked: list[float] = []

    def timed(_: PairedBenchmark, launch: object, calls: int) -> float:
        del calls
        is_default = launch is contest._launch({})
        asked.append(1e-5 if is_default else 1.1e-5 * HOPELESS)
        return asked[-1]

    monkeypatch.setattr(PairedBenchmark, "_timed", timed)
    assert contest.seconds({"tile0": 8}) == pytest.approx(1.1e-5 * HOPELESS)
    assert len(asked) == 8  # one of each to begin with, then three in turn


class Clock:
    """Rounds of points whose first size is their seconds."""

    def __init__(self, warm: float) -> None:
        self.warm = warm

    def rounds(self, points: list[Point]) -> list[list[float]]:
        return [[float(point["size"])] * 12 for point in points]

    def repeated(self, points: list[Point]) -> list[list[float]]:
        return [[1.0] * 12, [self.warm] * 12][: len(points)]


def test_what_loses_where_caches_hold_its_arguments_is_not_stored() -> None:
    trials = [Trial({"size": n}, Status.OK, float(n)) for n in (4, 3, 2)]
    best = winner(final({"size": 4}, trials, Clock(warm=0.9)))  # type: ignore[arg-type]
    assert best is not None
    assert (best.point, best.gain.median) == ({"size": 2}, 2.0)
    lost = final({"size": 4}, trials, Clock(warm=1.2))  # type: ignore[arg-type]
    assert winner(lost) is None
    assert "caches hold" in lost[0].objection


@pytest.mark.parametrize(("seconds", "stays"), [(3.95, True), (4.5, False)])
def test_a_stored_winner_stays_unless_it_is_slower(seconds: float, stays: bool) -> None:
    trials = [Trial({"size": n}, Status.OK, n) for n in (4.0, seconds)]
    kept = {"size": seconds}
    clock: Any = Clock(warm=1.0)
    assert winner(final({"size": 4.0}, trials, clock)) is None
    best = winner(final({"size": 4.0}, trials, clock, kept))
    assert (best is not None and best.point == kept) is stays


def test_the_interval_holds_the_true_gain_as_often_as_it_says() -> None:
    noise = np.random.default_rng(3).lognormal(0.0, 0.2, (400, 2, 15))
    inside = [
        found.low <= 1.25 <= found.high
        for own, other in noise
        for found in [gain(own, 1.25 * other)]
    ]
    assert np.mean(inside) > 0.94


def test_every_ready_made_operation_can_be_tuned() -> None:
    functions = [getattr(gcg.kernels, name) for name in gcg.kernels.__all__]
    given = [{*inspect.signature(f).parameters} for f in functions]
    assert all({"tune", "how"} & names for names in given)
    assert {"tune", "schedule"} == {*How.__annotations__}


@pytest.mark.slow
def test_the_first_call_of_a_shape_tunes_it(
    clocked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocked(lambda point: 0.5 if point.get("tile0") else 1.0)
    tuned: list[str] = []
    from gpucodegen.tuning import tune as module

    search = module.tune

    def told(source: Any, name: str, *arguments: Any, **options: Any) -> Any:
        tuned.append(name)
        return search(source, name, *arguments, trials=3, **options)

    monkeypatch.setattr(module, "tune", told)
    x = np.random.default_rng(0).random((37, 53)).astype("f4")
    for _ in range(2):
        assert np.array_equal(gcg.kernels.transpose(x, target="cpu", tune=True), x.T)
    assert tuned == ["transpose"]
    from gpucodegen.kernels.elementwise.movement import TRANSPOSE

    TRANSPOSE.known.clear()  # as a new process has it
    TRANSPOSE.last.clear()
    assert np.array_equal(gcg.kernels.transpose(x, target="cpu", tune=True), x.T)
    assert tuned == ["transpose"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "precision"), [("cpu", "ieee"), ("cpu", "tf32"), ("sim", "ieee")]
)
def test_what_was_tuned_is_not_tuned_again(
    target: str, precision: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the options of the call, measured or predicted."""
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))
    from gpucodegen.kernels.calls import tune_once
    from gpucodegen.tuning import tune as module

    tuned: list[str] = []
    search = module.tune

    def told(source: Any, name: str, *arguments: Any, **options: Any) -> Any:
        tuned.append(options["precision"])
        return search(source, name, *arguments, trials=1, isolate=False, **options)

    monkeypatch.setattr(module, "tune", told)
    text = SHIFT.format(name="once")
    for _ in range(2):
        program = gcg.compile(text, target=target, precision=precision)
        tune_once(program.once, squares())
    assert tuned == [precision]


@pytest.mark.slow
def test_a_target_that_is_not_named_is_tuned_too() -> None:
    """As calls of ready-made operations have it."""
    given = SHIFT.format(name="automatic"), "automatic", *squares()
    result = gcg.tune(*given, trials=1, target="auto")
    assert result.about["target"] == "cpu"


def crowned(text: str, name: str, *arguments: Any, **options: Any) -> str:
    """A winner in the store, and its key."""
    gcg.tune(text, name, *arguments, trials=1, **options)
    store = tuning_store()
    (key,) = (k for k, about in store.subjects().items() if about["function"] == name)
    store.session(key).crown({"tile0": 8, "tile1": 16}, 1.5, since=time.time() - 7200)
    return key


WON = "tile0=8, tile1=16, 1.50 times the default's speed, measured 2 hours ago"


@pytest.mark.slow
def test_explain_names_the_schedule_in_use(clocked: Any) -> None:
    clocked(lambda _: 1.0)
    text = SHIFT.format(name="explained")
    crowned(text, "explained", *squares())
    found = gcg.explain(text)
    assert f"(48x48xfloat64, 48x48xfloat64) for cpu: {WON}" in found.text()
    assert WON in found.html().replace("&#x27;", "'")
    assert WON not in gcg.explain(text, targets=["cuda"]).text()
    changed = text.replace("%j, %i", "%i, %j")
    assert "tuned" not in gcg.explain(changed).text()


@pytest.mark.slow
def test_report_names_the_schedule_in_use() -> None:
    text = SHIFT.format(name="reported").replace("?", "64")
    given = squares(64)
    key = crowned(text, "reported", *given, target="sim", arch="sm_90a")
    stored = tuning_store().subjects()[key]
    made = report(text)
    assert "  tuned" in made.text()
    assert str(stored["predicted_for"] or "measured") in made.text()
    assert json.loads(made.json())["functions"][0]["tuned"]
    assert "tile0=8" in made.html()


@pytest.mark.slow
def test_pages_have_the_pictures_of_a_tuning(clocked: Any) -> None:
    pytest.importorskip("matplotlib")
    clocked(lambda point: 1e-3 * (1 + sum(point.values()) % 7))
    text = SHIFT.format(name="pictured")
    gcg.tune(text, "pictured", *squares(), candidates=[(8, 8), (8, 16)])
    page = gcg.explain(text).html()
    for kind in ("trials", "heatmap", "parallel"):
        assert f'alt="{kind} of @pictured(48x48xfloat64, 48x48xfloat64)' in page
    assert page.count('src="data:image/svg+xml;base64,') == 3


@pytest.mark.slow
def test_show_tells_what_was_stored_and_how_surely(
    clocked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    clocked(lambda point: 0.5 if point.get("tile0") == 8 else 1.0)
    text = SHIFT.format(name="shown")
    result = gcg.tune(text, "shown", *squares(), candidates=[(8, 8)])
    interval = "2.00 times (95 %: 2.00 to 2.00) the default's speed"
    assert f"stored: tile0=8, tile1=8, order0=0: {interval}, in {result.place}" in str(
        result
    )
    assert main(["tune", "show", "shown"]) == 0
    assert f"{interval}, measured now" in capsys.readouterr().out
    assert main(["tune", "show", "shown", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["tuned"]
    assert entry["about"]["final"][0]["low"] == 2.0
    assert entry["about"]["work"]["bytes"] == 2 * 48 * 48 * 8
    assert entry["winner"]["gain"] == 2.0
    assert {trial["status"] for trial in entry["trials"]} == {"ok"}
    assert str(Stored(entry["about"], None)).endswith("measured, 0 trials")


AT_A_TERMINAL = """
import signal, sys
# a job in the background has no handler
signal.signal(signal.SIGINT, signal.default_int_handler)
from gpucodegen.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT")
def test_an_interrupted_tuning_prints_its_table_and_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "f.mlir").write_text(SHIFT.format(name="interrupted"))
    command = [sys.executable, "-c", AT_A_TERMINAL, "tune", str(tmp_path / "f.mlir")]
    process = subprocess.Popen(
        [*command, "--sizes", "96", "--effort", "full"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "GPUCODEGEN_CACHE_DIR": str(tmp_path / "cache")},
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("3/"):
            break
    process.send_signal(signal.SIGINT)
    table, told = process.communicate(timeout=120)
    assert process.returncode == 130
    lines = table.splitlines()
    assert lines[0].startswith("@interrupted: ")
    assert any("default: ok" in line for line in lines)
    assert str(tmp_path / "cache") in told
    assert "interrupted: these trials are kept" in told


@pytest.mark.slow
def test_pictures_of_a_tuning(tmp_path: Path, clocked: Any) -> None:
    pytest.importorskip("matplotlib")
    clocked(lambda point: 1e-3 * (1 + sum(point.values()) % 7))
    result = gcg.tune(SHIFT.format(name="drawn"), "drawn", *squares(), trials=6)
    for kind in ("trials", "heatmap", "parallel", "roofline"):
        for suffix, begins in {"svg": b"<?xml", "png": b"\x89PNG"}.items():
            place = tmp_path / f"{kind}.{suffix}"
            result.plot(place, kind)
            assert place.read_bytes().startswith(begins), place.name
    with pytest.raises(errors.InvalidOption, match="kind"):
        result.plot(place, "pie")
