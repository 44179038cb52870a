"""Schedules are compiled by several processes at once and measured by one, alone."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.runtime.storage.cache import cache_directory
from gpucodegen.tiling.tuning.search import Crashed, Status, Trial
from gpucodegen.tuning import task
from gpucodegen.tuning.compile_pool import CompilePool, Compiling
from gpucodegen.tuning.isolated_trials import IsolatedTrials
from gpucodegen.tuning.paired_benchmark import PairedBenchmark

SHIFT = """func.func @shift(%A: memref<48x52xf64>, %B: memref<52x48xf64>) {
  affine.for %i = 0 to 48 { affine.for %j = 0 to 52 {
    %x = affine.load %A[%i, %j] : memref<48x52xf64>
    affine.store %x, %B[%j, %i] : memref<52x48xf64>
  } }
  return
}"""
Point = Mapping[str, int]


class Worker:
    """Writes down what it is asked for; compiles of a group wait for one another."""

    def __init__(
        self, name: str, log: list[tuple[str, str, int]], together: int
    ) -> None:
        self.name, self.log = name, log
        self.meeting = threading.Barrier(together)
        self.ended = False

    def prepare(self, point: Point) -> None:
        self.log.append(("begins", self.name, point["i"]))
        if point["i"] == 13:
            raise Crashed("the process ended by SIGSEGV")
        if point["i"] == 14:
            raise ValueError("does not compile")
        self.log.append(("compiled", self.name, point["i"]))

    def trial(self, point: Point) -> Trial:
        self.log.append(("measured", self.name, point["i"]))
        return Trial(point, Status.OK, 1.0)

    def close(self) -> None:
        self.ended = True


def crew(log: list[tuple[str, str, int]]) -> CompilePool:
    workers = [cast("Any", Worker(name, log, 3)) for name in "abc"]
    return CompilePool(workers[0], workers[1:])


def test_nothing_is_compiled_while_anything_is_measured() -> None:
    log: list[tuple[str, str, int]] = []
    made = [*crew(log).trials([{"i": n} for n in range(5)])]
    assert [trial.point["i"] for trial in made] == [*range(5)]
    kinds = [kind for kind, _, _ in log]
    assert set(kinds[: kinds.index("measured")]) == {"begins", "compiled"}
    assert set(kinds[kinds.index("measured") :]) == {"measured"}
    assert {who for kind, who, _ in log if kind == "measured"} == {"a"}
    compiled = {(who, n) for kind, who, n in log if kind == "compiled"}
    assert compiled == {("a", 0), ("b", 1), ("c", 2), ("a", 3), ("b", 4)}


def test_one_point_needs_no_crew() -> None:
    log: list[tuple[str, str, int]] = []
    assert len([*crew(log).trials([{"i": 1}])]) == 1
    assert log == [("measured", "a", 1)]


def test_what_ends_a_process_that_compiles_is_the_trial() -> None:
    log: list[tuple[str, str, int]] = []
    made = [*crew(log).trials([{"i": n} for n in (1, 13, 14)])]
    assert [trial.status for trial in made] == [Status.OK, Status.CRASHED, Status.OK]
    assert made[1].reason == "the process ended by SIGSEGV"
    assert ("measured", "a", 13) not in log


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))
    return cache_directory()


def kept(place: Path) -> set[str]:
    return {str(f) for kind in ("object", "program") for f in (place / kind).glob("*")}


@pytest.mark.slow
def test_what_is_prepared_lies_on_disk_for_the_process_that_measures(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUCODEGEN_DIRECT", "0")  # whose checks every call compiles
    program = gcg.compile(SHIFT, target="cpu", tuned=False)
    a, b = np.ones((48, 52)), np.zeros((52, 48))
    point = {"tile0": 8, "tile1": 16}
    Compiling(program, "shift", (a, b)).prepare(point)
    assert not b.any()
    contest = PairedBenchmark.of(program, "shift", (a, b))
    contest.check({})
    before = kept(place)
    contest.check(point)
    assert kept(place) == before
    contest.prepare({"tile0": 16})
    assert kept(place) > before
    assert not any(copies[1].any() for copies in contest.rotation.sets[1:])


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "helpers"), [(None, 0), (3, 2)])
def test_a_tuning_has_as_many_processes_as_it_may(
    workers: int | None, helpers: int, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del place
    started: list[object] = []
    start = IsolatedTrials.start

    def counted(self: IsolatedTrials) -> Any:
        if self.worker is None:
            started.append(self)
        return start(self)

    monkeypatch.setattr(task, "processors", lambda: 8)
    monkeypatch.setattr(IsolatedTrials, "start", counted)
    arrays = np.ones((48, 52)), np.zeros((52, 48))
    found = gcg.tune(SHIFT, "shift", *arrays, trials=task.MANY, workers=workers)
    assert len(found.trials) == task.MANY
    assert {trial.status for trial in found.trials} == {Status.OK}
    assert len(set(map(id, started))) == 1 + helpers
    assert all(cast("IsolatedTrials", one).worker is None for one in started)


def test_few_trials_begin_no_more_processes(place: Path) -> None:
    del place
    arrays = np.ones((48, 52)), np.zeros((52, 48))
    given = task.Task.of(SHIFT, "shift", arrays, task.Asked(), {})
    assert given.crew(4, task.MANY - 1) == 1
    assert given.crew(1, 400) == 1
