"""Processes of trials are forked from a warm one."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from gpucodegen.tiling.tuning.search import Status, Trial
from gpucodegen.tuning.compile_pool import CompilePool
from gpucodegen.tuning.fork_server import ForkServer
from gpucodegen.tuning.isolated_trials import IsolatedTrials

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="other systems start each process by itself"
)

SUBJECTS = """
import os
from dataclasses import dataclass, field

from gpucodegen.tiling.tuning.search import Status, Trial

@dataclass
class Contest:
    warm: int = 0
    def trial(self, point):
        if point["i"] == 13:
            os._exit(3)
        return Trial(point, Status.PREDICTED, float(os.getppid()), str(self.warm))
    def told(self):
        return str(os.getpid())
    def close(self):
        pass

@dataclass
class Subject:
    shares: bool = True
    ends: bool = False
    def contest(self):
        return Contest()
    def warmed(self):
        if self.ends:
            os._exit(5)
        return Contest(os.getpid()) if self.shares else None
"""


@pytest.fixture
def subjects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "forked_subjects.py").write_text(SUBJECTS)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return __import__("forked_subjects")


def test_a_process_that_ends_is_replaced_by_another_fork(subjects: Any) -> None:
    """Each holds the benchmark of the server, and sends its status when it ends."""
    trials = IsolatedTrials.of(subjects.Subject(), 60.0)
    assert isinstance(trials.server, ForkServer)
    server = trials.server.process.pid
    try:
        before = trials.told()
        assert trials.trial({"i": 1}) == Trial(
            {"i": 1}, Status.PREDICTED, server, str(server)
        )
        ended = trials.trial({"i": 13})
        assert (ended.status, ended.reason) == (
            Status.CRASHED,
            "the process ended with status 3",
        )
        assert trials.trial({"i": 2}).seconds == server
        assert trials.told() != before
    finally:
        process = trials.server.process
        trials.close()
    assert process.returncode is not None


def test_a_subject_that_is_not_shared_is_sent(subjects: Any) -> None:
    trials = IsolatedTrials.of(subjects.Subject(shares=False), 60.0)
    try:
        assert trials.server is not None
        assert trials.trial({"i": 1}).reason == "0"
    finally:
        trials.close()


def test_without_a_server_each_process_starts_by_itself(subjects: Any) -> None:
    """Warming may end the server: the trial of the default tells what is wrong."""
    trials = IsolatedTrials.of(subjects.Subject(ends=True), 60.0)
    try:
        assert trials.server is None
        assert trials.trial({"i": 1}).status is Status.PREDICTED
    finally:
        trials.close()


def test_processes_of_one_server_predict_side_by_side(subjects: Any) -> None:
    subject = subjects.Subject()
    timer = IsolatedTrials.of(subject, 60.0)
    pool = CompilePool.of(timer, subject, 1)
    try:
        made = [*pool.predictions({"i": n} for n in (1, 13, 2, 3))]
        assert [trial.point["i"] for trial in made] == [1, 13, 2, 3]
        assert [trial.status is Status.CRASHED for trial in made] == [0, 1, 0, 0]
        assert len({trial.seconds for trial in made if trial.seconds}) == 1
        assert len({one.told() for one in (timer, *pool.helpers)}) == 2
    finally:
        pool.close()
        timer.close()


def test_an_error_of_the_server_is_raised(subjects: Any) -> None:
    broken = pickle.dumps(subjects.Subject()).replace(b"Subject", b"Missing")
    with pytest.raises(AttributeError):
        IsolatedTrials.begun(broken, 60.0)
