"""Trials in the workers of an executor: what is sent to them, and when."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen.tiling.tuning.search import Status, Trial
from gpucodegen.tuning.remote_trials import Sent
from tests.programs.test_contained_tuning import ADD

WORKERS = 2


class Post(ThreadPoolExecutor):
    """Workers; keeps what is sent, and how many trials were under way at a time."""

    def __init__(self) -> None:
        super().__init__(WORKERS)
        self.sent: list[Sent] = []
        self.asked: list[Future[Any]] = []
        self.most = 0

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        self.sent.append(args[0])
        self.asked.append(super().submit(fn, *args, **kwargs))
        self.most = max(self.most, sum(not future.done() for future in self.asked))
        return self.asked[-1]


@pytest.fixture(autouse=True)
def nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUCODEGEN_CACHE_DIR", str(tmp_path))


def tuned(post: Post, **options: Any) -> list[Trial]:
    """The trials of a nest."""
    given = np.zeros((64, 48)), 1.0
    found = gcg.tune(ADD, "add", *given, executor=post, isolate=False, **options)
    return list(found.trials)


@pytest.mark.slow
def test_a_worker_is_sent_the_arguments_once() -> None:
    points = [(rows, columns) for rows in (1, 2, 4) for columns in (4, 8, 16)]
    with Post() as post:
        made = tuned(post, candidates=points, workers=WORKERS)
    assert [trial.status for trial in made] == [Status.OK] * 10
    whole = [sent for sent in post.sent if sent.pickled is not None]
    subjects = {sent.name for sent in whole}  # with the default's time, and without it
    assert len(subjects) <= 2
    assert len(whole) <= WORKERS * len(subjects)
    assert len(post.sent) <= 10 + len(whole)


@pytest.mark.slow
def test_so_many_trials_are_under_way_as_there_are_workers() -> None:
    points = [(rows, columns) for rows in (1, 2, 4) for columns in (4, 8, 16)]
    with Post() as post:
        tuned(post, candidates=points, workers=WORKERS)
    assert post.most == WORKERS


def test_no_trial_begins_when_the_time_is_over() -> None:
    points = [(rows, columns) for rows in (1, 2, 4) for columns in (4, 8, 16)]
    with Post() as post:
        made = tuned(post, candidates=points, workers=WORKERS, budget=1e-3)
    assert len(made) <= 1  # the default, if there was time for it


def test_dask_tells_subjects_apart_without_reading_them() -> None:
    sent = Sent("name", 1.0, b"much" * 100)
    told = sent.__dask_tokenize__()
    assert told == Sent("name", 1.0, b"other").__dask_tokenize__()
    assert told != Sent("name", 1.0).__dask_tokenize__()
    assert told != Sent("another", 1.0, b"much").__dask_tokenize__()
