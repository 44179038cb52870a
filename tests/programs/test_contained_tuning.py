"""Schedules that crash, hang or compute wrong numbers do no harm to a tuning."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.cli import main
from gpucodegen.compiling.tuned_schedules import tuning_store
from gpucodegen.dialects.func import Function
from gpucodegen.tiling.tuning.exchange import exported
from gpucodegen.tiling.tuning.search import Crashed, Status
from gpucodegen.tuning import isolated_trials
from gpucodegen.tuning.paired_benchmark import PairedBenchmark, difference
from gpucodegen.tuning.result import TuneResult
from gpucodegen.tuning.subject import Subject, identity_of

ADD = """func.func @add(%A: memref<?x?xf64, strided<[?, ?]>>, %x: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %A, %c0 : memref<?x?xf64, strided<[?, ?]>>
  %m = memref.dim %A, %c1 : memref<?x?xf64, strided<[?, ?]>>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %m {
      %v = affine.load %A[%i, %j] : memref<?x?xf64, strided<[?, ?]>>
      %w = arith.addf %v, %x : f64
      affine.store %w, %A[%i, %j] : memref<?x?xf64, strided<[?, ?]>>
    }
  }
  return
}"""

BROKEN = """
import ctypes, os, time
from gpucodegen.tuning.paired_benchmark import PairedBenchmark

class Broken(PairedBenchmark):
    def _compiled(self, point):
        match point.get("tile0"):
            case 8: ctypes.string_at(0)
            case 16: time.sleep(600)
            case 32: return lambda a, x: a.fill(7)
            case 64: os._exit(3)
        return PairedBenchmark._compiled(self, point)
    def seconds(self, point):
        super().seconds(point)
        return 1.0 if point.get("tile0") else 2.0
    def rounds(self, points):
        return [[1.0 if point.get("tile0") else 2.0] * 9 for point in points]
    repeated = rounds

broken = Broken.of
"""


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Schedules whose first tile size says how they fail."""
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "broken_contest.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    found = importlib.import_module("broken_contest")
    of = Subject.of

    def made(*arguments: Any) -> Subject:
        subject = of(*arguments)
        object.__setattr__(subject, "made", found.broken)
        return subject

    monkeypatch.setattr(Subject, "of", made)
    return found


@pytest.mark.slow
def test_each_failure_is_a_trial_with_its_reason(broken: ModuleType) -> None:
    del broken
    a = np.zeros((300, 300))
    sizes = [(8,), (32,), (64,), (128,)]

    def tuned() -> TuneResult:
        return gcg.tune(ADD, "add", a, 1.0, candidates=sizes)

    first = tuned()
    found = {trial.point["tile0"]: trial for trial in first.trials}
    assert [found[n].status for n in (0, 8, 32, 64, 128)] == [
        Status.OK,
        Status.CRASHED,
        Status.WRONG,
        Status.CRASHED,
        Status.OK,
    ]
    assert found[8].reason == "the process ended by SIGSEGV"
    assert found[32].reason == (
        "value 0 is 7.0 at [0, 0], not 1.0 as the default schedule computes"
    )
    assert found[64].reason == "the process ended with status 3"
    assert first.winner == {"tile0": 128, "tile1": 0, "order0": 0}
    assert tuned().trials == first.trials


@pytest.mark.slow
def test_what_hangs_is_given_up_and_not_tried_again(broken: ModuleType) -> None:
    del broken
    a = np.zeros((300, 300))
    for timeout in (10.0, 600.0):
        found = gcg.tune(ADD, "add", a, 1.0, candidates=[(16,)], timeout=timeout)
        assert found.trials[1].status is Status.TIMEOUT
        assert found.trials[1].reason == "no answer within 10 s"


@pytest.mark.slow
def test_what_cannot_be_sent_runs_here_and_says_so() -> None:
    text = """
    func.func private @told(i32)
    func.func @f(%n: i32) {
      func.call @told(%n) : (i32) -> ()
      return
    }"""
    told: list[int] = []
    externals = {"told": lambda n: told.append(int(n))}
    result = gcg.tune(text, "f", 3, trials=1, externals=externals)
    assert set(told) == {3}
    assert "ran in this process" in str(result)


@pytest.mark.slow
@pytest.mark.parametrize("step", [slice(None), slice(None, None, 2)])
def test_strides_and_alignment_reach_the_process(step: slice) -> None:
    a = np.zeros(40 * 41 + 3)[3:].reshape(40, 41)[:, step]
    result = gcg.tune(ADD, "add", a, 1.0, trials=1)
    assert [trial.status for trial in result.trials] == [Status.OK]
    assert "in this process" not in result.note
    assert not a.any()


@pytest.mark.parametrize(
    ("element", "code", "near", "far"),
    [("bf16", 0x3F80, 0x3F81, 0x3FC0), ("f8E4M3FN", 0x38, 0x39, 0x7E)],
)
def test_codes_of_narrow_floats_are_numbers(
    element: str, code: int, near: int, far: int
) -> None:
    module = gcg.parse(f"func.func private @f(memref<4x{element}>)")
    (memref,) = Function(module.functions["f"]).type.inputs
    dtype = np.uint16 if element == "bf16" else np.uint8
    ones, others = np.full(4, code, dtype), np.full(4, near, dtype)
    assert difference([others], [ones], [memref]) == ""
    others[3] = far
    assert difference([others], [ones], [memref]).startswith("value 0 is ")


@pytest.mark.slow
def test_workers_of_an_executor_share_the_trials() -> None:
    a = np.zeros((64, 48))
    seen: list[object] = []
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        result = gcg.tune(
            ADD, "add", a, 1.0, trials=6, executor=executor, observe=seen.append
        )
    assert {trial.status for trial in result.trials} == {Status.OK}
    assert len(seen) == len(result.trials) == 6
    assert not a.any()


@pytest.mark.slow
def test_failures_in_workers_are_trials_too(broken: ModuleType) -> None:
    del broken
    with ThreadPoolExecutor(2) as executor:
        result = gcg.tune(
            *(ADD, "add", np.zeros((300, 300)), 1.0),
            candidates=[(8,), (32,), (64,), (128,)],
            executor=executor,
        )
    found = {trial.point["tile0"]: trial.status for trial in result.trials}
    assert [found[n] for n in (0, 8, 32, 64, 128)] == [
        *(Status.OK, Status.CRASHED, Status.WRONG, Status.CRASHED, Status.OK)
    ]


@pytest.mark.cases(
    ("options", "name"),
    [
        ({"effort": "some"}, "effort"),
        ({"trials": 0}, "trials"),
        ({"budget": "soon"}, "budget"),
        ({"budget": -1}, "budget"),
    ],
)
def test_unusable_limits_are_refused(options: dict[str, Any], name: str) -> None:
    with pytest.raises(errors.InvalidOption, match=name):
        gcg.tune(ADD, "add", np.zeros((4, 4)), 1.0, **options)


TUNING = """
import json, sys, numpy as np, gpucodegen as gcg
from gpucodegen.tuning.paired_benchmark import PairedBenchmark
made = []
def seconds(self, point):
    made.append(sorted(point.items()))
    return 1.0
PairedBenchmark.seconds = seconds
PairedBenchmark.rounds = lambda self, points: [[1.0] * 9 for _ in points]
gcg.tune(sys.argv[1], "add", np.zeros((300, 300)), 1.0, trials=10, isolate=False)
print(json.dumps(made))
"""


@pytest.mark.slow
def test_processes_that_tune_one_function_make_each_trial_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TUNING, ADD]
    env = {**os.environ, "GPUCODEGEN_CACHE_DIR": str(tmp_path)}
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env=env) for _ in range(4)
    ]
    made: list[str] = []
    for process in processes:
        text, _ = process.communicate()
        assert process.returncode == 0
        made += map(str, json.loads(text))
    assert len(made) == len(set(made)) >= 10


def arrays(folder: Path) -> list[str]:
    np.save(folder / "a.npy", np.zeros((64, 48)))
    (folder / "add.mlir").write_text(ADD)
    return ["--arg", str(folder / "a.npy"), "1.0"]


AGE = r"(measured|estimated) (now|\d+ \w+ ago)"
"""What `show` says of a winner's age, which goes on."""


def run(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main([str(word) for word in words]) == 0
    return capsys.readouterr().out


@pytest.mark.slow
def test_the_command_tunes_shows_exports_imports_and_forgets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path / "cache"))
    given = [tmp_path / "add.mlir", *arrays(tmp_path)]
    told = json.loads(run(capsys, "tune", *given, "--trials", 2, "--json"))
    assert (told["function"], len(told["trials"])) == ("add", 2)
    shown = run(capsys, "tune", "show", "add")
    assert "@add(64x48xfloat64, 1.0) for cpu: " in shown
    assert "default: ok" in shown
    run(capsys, "tune", "export", tmp_path / "tuned.json")
    before = tuning_store().subjects()
    run(capsys, "tune", "clear", "add")
    assert not run(capsys, "tune", "show", "add")
    run(capsys, "tune", "import", tmp_path / "tuned.json")
    again = run(capsys, "tune", "show", "add")
    assert re.sub(AGE, "", again) == re.sub(AGE, "", shown)
    assert tuning_store().subjects().keys() == before.keys()
    assert main(["tune", "import", str(tmp_path / "add.mlir")]) == 1


@pytest.mark.slow
def test_a_terminal_is_told_each_trial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(tmp_path / "add.mlir"), *arrays(tmp_path), "--trials", "2"]
    assert main(["tune", *given]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["1/2", "2/2"]
    assert "times the default" in lines[-1]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_trials_are_drawn(
    tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    arrays(tmp_path)
    gcg.tune(ADD, "add", np.load(tmp_path / "a.npy"), 1.0, trials=5, isolate=False)
    place = tmp_path / f"trials.{suffix}"
    run(capsys, "tune", "plot", place)
    assert place.stat().st_size > 1000


DASK = """
import sys, numpy as np, gpucodegen as gcg
from distributed import Client, LocalCluster

def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            result = gcg.tune(
                sys.argv[1], "add", np.zeros((64, 48)), 1.0, trials=6,
                executor=client.get_executor(), isolate=False)
    print([trial.status.value for trial in result.trials])

if __name__ == "__main__":
    main()
"""


@pytest.mark.slow
def test_workers_of_dask_make_trials(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    script = tmp_path / "tuned.py"
    script.write_text(DASK)
    done = subprocess.run(
        [sys.executable, script, ADD], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{['ok'] * 6}\n"


class EntryPoint:
    name = "my kernels"

    def __init__(self, text: str) -> None:
        self.text = text

    def load(self) -> Any:
        return lambda: self.text


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Installs packages that bring texts along; the cache is empty then."""

    def install(text: str) -> None:
        monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path / "empty"))
        found = {"gpucodegen.tuned": [EntryPoint(text)]}
        monkeypatch.setattr(metadata, "entry_points", lambda group: found[group])

    return install


def test_a_package_brings_tuned_schedules(installed: Any) -> None:
    a = np.zeros((64, 48))
    program = gcg.compile(ADD, target="cpu")
    key = identity_of(program, "add", (a, 1.0))
    session = tuning_store().session(key)
    session.describe({"function": "add"})
    session.crown({"tile0": 8, "tile1": 16}, 1.5)
    installed(exported(tuning_store(), [key]))
    again = gcg.compile(ADD, target="cpu")
    again.add(a, 1.0)
    assert again["add"].executable().options.tile_sizes == (8, 16)


def test_a_package_whose_text_is_broken_is_a_warning(installed: Any) -> None:
    installed("{}")
    with pytest.warns(errors.ShippedUnusable, match="my kernels"):
        gcg.compile(ADD, target="cpu").add(np.zeros((4, 4)), 1.0)


def test_a_package_that_fails_is_a_warning_once(
    installed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed("")
    missing = EntryPoint("")
    monkeypatch.setattr(EntryPoint, "load", lambda _: Path("missing").read_text)
    assert missing.name == "my kernels"
    with pytest.warns(errors.ShippedUnusable, match="missing"):
        gcg.compile(ADD, target="cpu").add(np.zeros((4, 4)), 1.0)
    gcg.compile(ADD, target="cpu").add(np.zeros((5, 5)), 1.0)


@pytest.mark.slow
def test_keys_are_the_same_wherever_the_package_lies(tmp_path: Path) -> None:
    package = Path(gcg.__file__).parent
    copied = tmp_path / "elsewhere" / "gpucodegen"
    shutil.copytree(package, copied, ignore=shutil.ignore_patterns("__pycache__"))
    script = (
        "import sys, numpy as np, gpucodegen as gcg\n"
        "from gpucodegen.tuning.subject import identity_of\n"
        "program = gcg.compile(sys.argv[1], target='cpu')\n"
        "print(identity_of(program, 'add', (np.zeros((64, 64)), 1.0)))"
    )

    def key(folder: Path) -> str:
        done = subprocess.run(
            [sys.executable, "-c", script, ADD],
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
        )
        return done.stdout

    assert key(copied.parent) == key(package.parent)
    with (copied / "options.py").open("a") as file:
        file.write("# another version\n")
    assert key(copied.parent) != key(package.parent)


@pytest.mark.slow
def test_no_process_stays_behind_what_cannot_be_made(
    broken: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    end = isolated_trials._Worker.end
    monkeypatch.setattr(
        isolated_trials._Worker, "end", lambda self: (end(self), ended.append(1))
    )
    subject = Subject.of(
        gcg.compile(ADD, target="cpu"), "add", (np.zeros((4, 4)), 1.0), None
    )
    object.__setattr__(subject, "made", broken.Broken)  # which wants more arguments
    with pytest.raises(TypeError):
        isolated_trials.IsolatedTrials.of(subject, 60.0)
    assert ended == [1]


def test_a_final_that_crashes_keeps_what_was_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def rounds(_: PairedBenchmark, points: object) -> list[list[float]]:
        raise Crashed(f"the process ended by SIGSEGV at {points}")

    a = np.zeros((300, 40))
    key = identity_of(gcg.compile(ADD, target="cpu"), "add", (a, 1.0))
    tuning_store().session(key).crown({"tile0": 8, "tile1": 0}, 1.5)
    monkeypatch.setattr(PairedBenchmark, "rounds", rounds)
    monkeypatch.setattr(PairedBenchmark, "seconds", lambda *_: 1.0)
    result = gcg.tune(ADD, "add", a, 1.0, candidates=[(16,)], isolate=False)
    assert result.winner is None
    assert "final was given up" in str(result)
    stored = tuning_store().winner(key)
    assert stored is not None
    assert stored.point == {"tile0": 8, "tile1": 0}
