"""What a tuning must not lose, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.cli import main
from gpucodegen.compiling.tuned_schedules import tuning_store
from gpucodegen.tiling.tuning import leases
from gpucodegen.tiling.tuning.search import Point, Status, Trial
from gpucodegen.tuning.isolated_trials import IsolatedTrials
from gpucodegen.tuning.paired_benchmark import PairedBenchmark
from gpucodegen.tuning.subject import identity_of

SHIFT = """func.func @shift(%A: memref<48x48xf64>, %B: memref<48x48xf64>) {
  affine.for %i = 0 to 48 { affine.for %j = 0 to 48 {
    %x = affine.load %A[%j, %i] : memref<48x48xf64>
    affine.store %x, %B[%i, %j] : memref<48x48xf64>
  } }
  return
}"""
BACKWARD = """func.func @a(%A: memref<64x64xf64>) {
  affine.for %i = 1 to 64 { affine.for %j = 0 to 63 {
    %x = affine.load %A[%i - 1, %j + 1] : memref<64x64xf64>
    affine.store %x, %A[%i, %j] : memref<64x64xf64>
  } }
  return
}"""
ONLY_THREE = """func.func @only(%A: memref<48x48xf64>, %n: index) {
  %c3 = arith.constant 3 : index
  %is = arith.cmpi eq, %n, %c3 : index
  cf.assert %is, "n is three"
  affine.for %i = 0 to 48 { affine.for %j = 0 to 48 {
    %x = affine.load %A[%i, %j] : memref<48x48xf64>
    %y = arith.addf %x, %x : f64
    affine.store %y, %A[%i, %j] : memref<48x48xf64>
  } }
  return
}"""
Clock = Callable[[Point], float]
DEFAULT = {"tile0": 0, "tile1": 0, "order0": 0}
WON = {**DEFAULT, "tile0": 8}


@pytest.fixture(autouse=True)
def _empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))


@pytest.fixture
def clocked(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Callable[[Point], float]], None]:
    """Sets the seconds that points take; they run in this process."""

    def use(seconds: Clock) -> None:
        def rounds(_: PairedBenchmark, points: list[Point]) -> list[list[float]]:
            return [[seconds(point)] * 12 for point in points]

        def refuse(*_: object) -> None:
            raise TypeError("the clock is of this process")

        def timed(self: PairedBenchmark, point: Point) -> float:
            self._launch(point)
            return seconds(point)

        monkeypatch.setattr(IsolatedTrials, "of", refuse)
        monkeypatch.setattr(PairedBenchmark, "seconds", timed)
        for name in ("rounds", "repeated"):
            monkeypatch.setattr(PairedBenchmark, name, rounds)

    return use


def matrices() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(48.0 * 48).reshape(48, 48), np.zeros((48, 48))


def stored(text: str, name: str, *arguments: Any) -> Any:
    return tuning_store().session(
        identity_of(gcg.compile(text, target="cpu"), name, arguments)
    )


@pytest.mark.slow
@pytest.mark.parametrize("limits", [{"trials": 1}, {"candidates": [(16,)]}])
def test_a_winner_that_is_not_tried_again_stays(
    clocked: Any, limits: dict[str, Any]
) -> None:
    clocked(lambda point: 0.5 if point == WON else 1.0)
    session = stored(SHIFT, "shift", *matrices())
    session.crown(WON, 2.0)
    gcg.tune(SHIFT, "shift", *matrices(), **limits)
    assert session.store.winner(session.key).point == WON
    clocked(lambda point: 1.5 if point == WON else 1.0)
    gcg.tune(SHIFT, "shift", *matrices(), trials=1)
    assert session.store.winner(session.key) is None


@pytest.mark.slow
def test_no_final_is_held_while_another_process_measures_the_default(
    clocked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocked(lambda _: 1.0)
    session = stored(SHIFT, "shift", *matrices())
    session.crown(WON, 2.0)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(leases, "_host", lambda: "another machine")
        assert session.claim(DEFAULT)
    result = gcg.tune(SHIFT, "shift", *matrices(), candidates=[(16,)])
    assert "another process measures the default" in str(result)
    assert session.store.winner(session.key).point == WON


@pytest.mark.slow
def test_times_are_multiples_of_the_default_that_is_stored() -> None:
    session = stored(SHIFT, "shift", *matrices())
    session.remember(Trial(DEFAULT, Status.OK, 100.0))
    result = gcg.tune(SHIFT, "shift", *matrices(), candidates=[(16,)])
    (other,) = (trial for trial in result.trials if trial.point != DEFAULT)
    assert other.seconds is not None
    assert 1.0 < other.seconds < 10_000.0


@pytest.mark.slow
def test_a_default_that_failed_is_tried_again(clocked: Any) -> None:
    clocked(lambda _: 1.0)
    a = np.ones((48, 48))
    result = gcg.tune(ONLY_THREE, "only", a, 4, candidates=[(16,)])
    assert [trial.status for trial in result.trials] == [Status.FAILED]
    assert "did not run" in str(result)
    result = gcg.tune(ONLY_THREE, "only", a, 3, candidates=[(16,)])
    assert [trial.status for trial in result.trials] == [Status.OK, Status.OK]


def test_a_stored_schedule_that_does_not_compile_is_not_used() -> None:
    a = np.arange(64.0 * 64).reshape(64, 64)
    want = a.copy()
    gcg.compile(BACKWARD, target="cpu", tuned=False).a(want)
    stored(BACKWARD, "a", a).crown({"tile0": 8, "tile1": 8}, 2.0)
    program = gcg.compile(BACKWARD, target="cpu")
    program.a(a)
    assert np.array_equal(a, want)
    assert program["a"].executable().options.tile_sizes == ()


def test_a_function_s_name_clears_nothing_else(
    clocked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    clocked(lambda _: 1.0)
    gcg.tune(BACKWARD, "a", np.ones((64, 64)), trials=1)
    store = tuning_store()
    store.session("aaaaaaaaaaaa").describe({"function": "other"})
    assert main(["tune", "clear", "a"]) == 0
    assert list(store.subjects()) == ["aaaaaaaaaaaa"]
    assert main(["tune", "clear", "aaa"]) == 0
    assert list(store.subjects()) == ["aaaaaaaaaaaa"]
    assert main(["tune", "clear", "aaaaaaa"]) == 0
    assert store.subjects() == {}
    assert "forgot 1 tuned" in capsys.readouterr().out


@pytest.mark.slow
def test_where_leaves_points_out(clocked: Any) -> None:
    clocked(lambda _: 1.0)
    result = gcg.tune(
        SHIFT, "shift", *matrices(), trials=6, where=lambda point: point["tile0"] == 0
    )
    tried = [trial.point for trial in result.trials if trial.status is Status.OK]
    assert len(tried) > 2
    assert {point["tile0"] for point in tried} == {0}


@pytest.mark.cases(
    ("options", "name"),
    [
        ({"tile_sizes": (4,)}, "tile_sizes"),
        ({"register_tile": (4, 8)}, "register_tile"),
        ({"plan": {"rows": 4}}, "plan"),
        ({"target": "interp"}, "target"),
        ({"workers": 0}, "workers"),
        ({"timeout": -1}, "timeout"),
        ({"candidates": [{"nonsense": 3}]}, "candidates"),
        ({"candidates": [(1.5,)]}, "candidates"),
        ({"candidates": [("a",)]}, "candidates"),
        ({"candidates": [8]}, "candidates"),
        ({"candidates": [(-8,)]}, "candidates"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], name: str) -> None:
    with pytest.raises(errors.InvalidOption, match=name):
        gcg.tune(SHIFT, "shift", *matrices(), **options)


@pytest.mark.slow
def test_sizes_of_numpy_are_sizes(clocked: Any) -> None:
    clocked(lambda _: 1.0)
    result = gcg.tune(SHIFT, "shift", *matrices(), candidates=[(np.int64(8),)])
    assert result.trials[1].point == WON


def test_files_that_are_no_texts_and_pictures_of_nothing_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_bytes(b"\xff\xfe\x00")
    assert main(["tune", "import", str(broken)]) == 1
    assert str(broken) in capsys.readouterr().err
    assert main(["tune", "plot", str(tmp_path / "p.svg"), "--entry", "nope"]) == 1
    assert "nothing that was tuned fits" in capsys.readouterr().err
    assert not (tmp_path / "p.svg").exists()
