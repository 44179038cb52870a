from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from bench import report
from bench.case import Case, Peer, copied
from bench.harness import GROUP, TURNS, Clock, Times, race
from bench.journal import Journal
from bench.machine import describe, facts
from bench.peers import numpy_peer
from bench.roofline import roofline
from bench.row import OURS, Failure, Limit, Row, Settings, Work, attempt
from bench.tables import TABLES, blocks, lines, tuning
from bench.tables.examples import peers_of
from examples.catalogue import PROGRAMS
from gpucodegen import cli
from gpucodegen.commands import bench as bench_command
from tests.house.readme import ROOT

QUICK = Settings(threads=1, budget=0.01)
RESULTS = ROOT / "bench" / "results"


def test_contenders_alternate() -> None:
    order: list[str] = []
    race(lambda: order.append("a"), lambda: order.append("b"), budget=0, least=3)
    assert order == ["a", "b"] * 5


def lasting(seconds: float) -> Clock:
    """A clock by which each call takes so long."""

    def clock(call: Callable[[], object]) -> float:
        call()
        return seconds

    return clock


def test_pools_settle_before_a_call_counts() -> None:
    order: list[str] = []
    a, b = (lambda: order.append("a")), (lambda: order.append("b"))
    race(a, b, budget=0, clock=lasting(1e-6), settle=1e-3)
    assert order == ["a", "b"] * 2 + (["a"] * (1 + GROUP) + ["b"] * (1 + GROUP)) * TURNS


@pytest.mark.parametrize(
    ("seconds", "calls"), [(2e-3, 1), (0.3e-3, 1 + 3), (0.0, 1 + GROUP)]
)
def test_turns_of_long_calls_have_few(seconds: float, calls: int) -> None:
    order: list[str] = []
    slow = partial(order.append, "a")
    race(slow, slow, budget=0, least=3, settle=1e-3, clock=lasting(seconds))
    assert len(order) == 2 * 2 + 2 * TURNS * calls


def test_best_and_median() -> None:
    ticks = count(1)
    ours, theirs = race(
        lambda: None, lambda: None, clock=lambda _: next(ticks), budget=0, least=3
    )
    assert (ours.best, ours.median) == (1, 3)
    assert (theirs.best, theirs.median) == (2, 4)


@pytest.mark.slow
@pytest.mark.cases("table", TABLES)
def test_lines_have_names_of_their_own(table: str) -> None:
    names = [line.name for line in lines(table)]
    assert names
    assert len(set(names)) == len(names)


def test_lines_are_found_by_a_part_of_their_names() -> None:
    assert {line.name for line in lines("matmul", "f64 1000x513x777")} == {
        "linalg f64 1000x513x777",
        "returned f64 1000x513x777",
    }


def test_every_program_has_a_line() -> None:
    programs = {line.name.partition(" ")[0] for line in lines("examples")}
    assert programs == set(PROGRAMS)


def smaller(program: str) -> Case:
    small = PROGRAMS[program]
    return Case.of(small, small.small, peers_of(small))


@pytest.mark.slow
@pytest.mark.parametrize("program", ["row_sum", "trsv", "multiply_2019"])
def test_a_program_is_checked_and_raced(program: str) -> None:
    row = smaller(program).measure(QUICK)
    assert next(iter(row.times)) == OURS
    assert all(0 < times.best <= times.median for times in row.times.values())


@pytest.mark.slow
@pytest.mark.parametrize("kind", blocks.KINDS)
def test_whole_arrays_and_blocks_agree(kind: str) -> None:
    pytest.importorskip("dask")
    row = blocks.Blocks(kind, blocks.KINDS[kind], 33).measure(QUICK)
    assert next(iter(row.times)) == OURS
    assert {*row.times} == {OURS, "gcg.dask", "NumPy on dask", "NumPy"}


def test_a_wrong_result_is_no_row() -> None:
    case = smaller("row_sum")
    with pytest.raises(AssertionError, match="row_sum"):
        case.check(case.arguments(np.random.default_rng(0)), lambda *_: None)


@pytest.mark.slow
def test_a_peer_that_fails_costs_nobody_else(capsys: Any) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no such device")

    program = PROGRAMS["trsm"]
    peers = (numpy_peer(broken, "broken"), numpy_peer(lambda *_: None, "fine"))
    row = Case.of(program, program.small, peers).measure(QUICK)
    assert list(row.times) == [OURS, "fine"]
    assert "broken is left out: no such device" in capsys.readouterr().err


def test_a_peer_without_its_package_is_left_out() -> None:
    for package in ("no_such_package", "no_such_package.runtime", "numpy.no_such_part"):
        assert not Peer("?", lambda _: lambda: None, package).is_installed
    assert Peer("?", lambda _: lambda: None, "numpy.linalg").is_installed


@pytest.mark.slow
def test_arrays_are_restored_before_a_call_that_counts() -> None:
    program, seen = PROGRAMS["trsm"], []

    def peer(_lower: Any, b: Any) -> None:
        seen.append(b.sum())
        b += 1

    case = Case.of(program, program.small, (numpy_peer(peer),), restore=True)
    case.measure(QUICK)
    assert len(set(seen[4:])) == 1


RESULT = {
    **facts(),
    "clock": "wall",
    "tables": [
        {
            "table": "matmul",
            "threads": 1,
            "ceilings": {"f32": 100.0, "copy": 10.0},
            "rows": [
                {
                    "name": "product",
                    "dtype": "f32",
                    "unit": "GFLOP/s",
                    "flops": 10**9,
                    "bytes": 10**6,
                    "ceiling": 100.0,
                    "seconds": {
                        "gpucodegen": {"best": 0.02, "median": 0.04},
                        "NumPy": {"best": 0.03, "median": 0.04},
                    },
                },
                {"name": "broken", "reason": "no memory"},
            ],
        }
    ],
}


def test_results_are_written_in_three_forms(tmp_path: Path) -> None:
    written = list(report.write(RESULT, tmp_path))
    assert [path.suffix for path in written] == [".json", ".md", ".svg"]
    assert json.loads(written[0].read_text()) == RESULT
    page = written[1].read_text()
    assert "| product | 20 ms | 50.0 GFLOP/s | 50% | 1.50 (1.00) |" in page
    assert "| broken | no memory |" in page
    assert written[2].name in page


def test_a_program_stands_below_its_roof() -> None:
    picture = ET.fromstring(roofline(RESULT))
    (dot,) = (e for e in picture.iter() if e.tag.endswith("circle") and len(e))
    roofs = [e for e in picture.iter() if e.get("class") == "order"]
    assert len(roofs) == 2
    assert float(dot.get("cy", 0)) > min(float(r.get("y2", 0)) for r in roofs)


def test_a_lost_line_is_told() -> None:
    row = Row("p", {OURS: Times(1e-3, 1e-3)}, Work(10**6), Limit.FMA)
    assert "1 ms" in report.line(row)
    assert "FAILED: nothing" in report.line(attempt("p", lambda: _fail("nothing")))


def _fail(reason: str) -> Row:
    raise RuntimeError(reason)


def test_versions_stand_beside_the_table() -> None:
    assert "numpy " in describe()


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda p: p.stem)
def test_committed_results_are_whole(path: Path) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert {"machine", "versions", "environment", "clock", "tables"} <= set(kept)
    assert not [
        row for table in kept["tables"] for row in table["rows"] if "reason" in row
    ]
    page = report.markdown(kept, f"{path.stem}.svg")
    assert path.with_suffix(".md").read_text(encoding="utf-8") == page
    assert path.with_suffix(".svg").read_text(encoding="utf-8") == roofline(kept)


@pytest.mark.slow
def test_the_subcommand_measures_in_the_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bench.py").write_text("raise RuntimeError('not this one')")
    monkeypatch.chdir(tmp_path)
    options = "--budget=0.1 --threads=1 --clock=cpu --out=results".split()
    assert cli.main(["bench", "examples", "trsv", *options]) == 0
    assert "trsv 1000" in capfd.readouterr().out
    kept = {path.suffix: path for path in (tmp_path / "results").iterdir()}
    assert set(kept) == {".json", ".md", ".svg"}
    assert json.loads(kept[".json"].read_text())["clock"] == "cpu"


@pytest.mark.slow
def test_the_subcommand_hands_on_the_exit_status(capfd: Any) -> None:
    assert cli.main(["bench", "no_such_table"]) == 2
    assert "'matmul'" in capfd.readouterr().err


def test_a_line_that_is_not_there_is_a_wrong_command_line(capfd: Any) -> None:
    assert cli.main(["bench", "matmul", "f64 1000x513x778"]) == 2
    told = capfd.readouterr().err
    assert "no line has 'f64 1000x513x778' in its name" in told
    assert "Did you mean 'linalg f64 1000x513x777'" in told


def test_the_wheel_has_no_benchmarks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_command, "CLONE", tmp_path)
    assert cli.main(["bench"]) == 1
    told = capsys.readouterr().err
    assert f"{tmp_path} holds no benchmarks" in told
    assert "Clone the repository" in told


def test_arguments_are_copied() -> None:
    given = (1.5, np.zeros(2))
    copied(given)[1][0] = 1
    assert given[1][0] == 0


@pytest.mark.slow
def test_a_tuned_program_races_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    both = {name: {"trials": 1} for name in (OURS, "full")}
    monkeypatch.setattr(tuning, "efforts", lambda _: both)
    row = tuning.Tuned("examples", smaller("row_sum")).measure(QUICK)
    assert list(row.times) == [OURS, "full", "untuned"]
    assert row.name.startswith("examples: row_sum")
    assert row.name.endswith(": default")
    assert re.match(
        r"quick [0-9.]+ times \(95 %: [0-9.]+ to [0-9.]+\), full ", row.note
    )


def test_a_run_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    row = Row("p: tile0=8", {OURS: Times(1.0, 2.0)}, Work(3, 4), Limit.FMA, note="n")
    made: list[str] = []

    def measure(found: Row | Failure) -> Row | Failure:
        made.append(found.name)
        return found

    for _ in range(2):
        journal = Journal(path, "tuning", 1)
        assert journal.row("p", lambda: measure(row)) == row
        journal.row("q", lambda: measure(Failure("q", "no memory")))
        with path.open("a") as file:
            file.write('["tuning", 1')  # the run was killed here
    for _ in range(2):
        Journal(path, "tuning", 2).row("p", lambda: measure(row))
    Journal(None, "tuning", 2).row("p", lambda: measure(row))
    assert made == [row.name, "q", "q", row.name, row.name]
