from __future__ import annotations

import subprocess
import sys
from itertools import count

import pytest

from bench import cpu, polybench
from bench.harness import Row, race
from bench.machine import describe
from examples.catalogue import PROGRAMS
from tests.house.readme import ROOT


def test_contenders_alternate() -> None:
    order: list[str] = []
    race(lambda: order.append("a"), lambda: order.append("b"), budget=0, least=3)
    assert order == ["a", "b"] * 5


def test_pools_settle_before_a_call_counts() -> None:
    order: list[str] = []
    a, b = (lambda: order.append("a")), (lambda: order.append("b"))
    race(a, b, budget=0, least=3, settle=1e-6)
    assert order == ["a", "b"] * 2 + ["a"] * 9 + ["b"] * 9


def test_best_and_median() -> None:
    ticks = count(1)
    ours, theirs = race(
        lambda: None, lambda: None, clock=lambda _: next(ticks), budget=0, least=3
    )
    assert (ours.best, ours.median) == (1, 3)
    assert (theirs.best, theirs.median) == (2, 4)


@pytest.mark.parametrize("case", cpu.CASES, ids=lambda case: case.name)
def test_every_peer_can_run(case: cpu.Case) -> None:
    program = PROGRAMS[case.program]
    _, call = case.peer(program, program.arguments())
    call()


def test_every_program_has_a_row() -> None:
    assert {case.program for case in cpu.CASES} == set(PROGRAMS)


def test_versions_stand_beside_the_table() -> None:
    assert "numpy " in describe()


def test_kernels_are_checked_and_timed() -> None:
    analysis, run = polybench.rows("trisolv", budget=0.1)
    assert isinstance(analysis, Row)
    assert isinstance(run, Row)
    assert run.peer == "numba.njit"


def test_command_prints_a_table() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "cpu", "trsv", "--budget", "0.1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "trsv 1000" in done.stdout
