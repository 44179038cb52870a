from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from math import inf, nan
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tiling_samples import nest

from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.model.scop import loops
from gpucodegen.tiling.proof.dependences import dependences
from gpucodegen.tiling.proof.legality import check_tiling
from gpucodegen.tiling.tuning import leases
from gpucodegen.tiling.tuning.exchange import exported, merged
from gpucodegen.tiling.tuning.lookup import tuning_key
from gpucodegen.tiling.tuning.search import (
    Measure,
    Outcome,
    Point,
    Search,
    Space,
    Status,
    Trial,
    after,
    given,
    local_search,
    one_by_one,
    sampled,
)
from gpucodegen.tiling.tuning.store import TuningStore

SIZES = (8, 16, 32, 64, 128)


def bowl(point: Point) -> float:
    return 1.0 + sum(abs(SIZES.index(size) - 3) for size in point.values())


def search(
    space: Space, measure: Measure, seeds: Sequence[Point] = (), **limits: Any
) -> Outcome:
    found = Search(space, one_by_one(measure), **limits)
    return found.run(local_search(space, seeds))


def test_local_search_finds_the_minimum_of_a_bowl():
    space = Space(dict.fromkeys("ijk", SIZES))
    found = search(space, bowl, budget=40)
    assert found.best is not None
    assert set(found.best.point.values()) == {64}
    assert len(found.trials) <= 40


def test_illegal_points_are_never_measured():
    scop = nest("for i in 0..64\n  for j in 1..64\n    A[i,j] = A[i + 1,j - 1]")
    found = dependences(model(scop))
    chain = list(loops(scop.body))

    def objection(point: Point) -> object | None:
        is_tiled = point["i"] > 1 and point["j"] < 64
        return check_tiling(found, chain) if is_tiled else None

    measured: list[Point] = []

    def measure(point: Point) -> float:
        measured.append(point)
        return 1.0 / point["j"]

    space = Space({"i": (1, 2, 4), "j": (1, 64)}, objection)
    result = search(space, measure, seeds=[{"i": 4, "j": 1}])
    refused = result.trials[0]
    assert refused.status is Status.ILLEGAL
    assert "points backward" in refused.reason
    assert "reads A[" in refused.reason
    assert {(p["i"], p["j"]) for p in measured} == {(1, 1), (1, 64), (2, 64), (4, 64)}


def test_failures_are_not_times():
    def measure(point: Point) -> float:
        if point["i"] > 16:
            raise MemoryError("too much shared memory")
        return float(point["i"])

    outcome = search(Space({"i": SIZES}), measure)
    failed = [t for t in outcome.trials if t.status is Status.FAILED]
    assert failed[0].reason == "MemoryError: too much shared memory"
    assert outcome.best is not None
    assert outcome.best.point == {"i": 8}


def test_an_impossible_space_ends():
    assert search(Space({"i": SIZES}, lambda _: "no"), bowl) == Outcome(())


def test_budget_counts_measurements():
    outcome = search(Space(dict.fromkeys("ijkl", SIZES)), bowl, budget=7)
    assert len(outcome.trials) == 7


def test_random_points_are_legal():
    space = Space({"i": SIZES, "j": SIZES}, lambda p: p["i"] > p["j"] or None)
    random = Random(1)
    points = [space.sample(random) for _ in range(20)]
    assert all(point and point["i"] <= point["j"] for point in points)


def test_a_second_search_recalls_the_first(tmp_path: Path):
    session = TuningStore(tmp_path / "t.sqlite").session("key")
    space = Space({"i": SIZES})
    first = search(space, bowl, memory=session)
    again = TuningStore(tmp_path / "t.sqlite").session("key")

    def never(point: Point) -> float:
        raise AssertionError(point)

    second = search(space, never, memory=again)
    assert second.best == first.best


def test_only_a_proven_winner_is_used(tmp_path: Path):
    store = TuningStore(tmp_path / "t.sqlite")
    session = store.session("key")
    session.remember(Trial({"i": 8}, Status.OK, 1.0))
    assert store.winner("key") is None
    session.crown({"i": 8})
    winner = store.winner("key")
    assert winner is not None
    assert (winner.point, store.winner("other")) == ({"i": 8}, None)
    session.crown(None)
    assert store.winner("key") is None


def test_forgetting_a_key_keeps_the_others(tmp_path: Path):
    store = TuningStore(tmp_path / "t.sqlite")
    for key in "ab":
        store.session(key).remember(Trial({"i": 8}, Status.OK, 1.0))
        store.session(key).crown({"i": 8})
    store.forget("a")
    assert (store.trials("a"), store.winner("a")) == ((), None)
    winner = store.winner("b")
    assert winner is not None
    assert (len(store.trials("b")), winner.point) == (1, {"i": 8})


def test_stale_claims_are_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    session = TuningStore(tmp_path / "t.sqlite").session("key")
    assert session.claim({"i": 8})
    assert not session.claim({"i": 8})
    assert session.recall({"i": 8}) is None
    monkeypatch.setattr(leases, "_host", lambda: "another machine")
    assert not session.claim({"i": 8})
    later = time.time() + leases.STALE_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert session.claim({"i": 8})


@pytest.mark.parametrize("content", [b"not a database at all" * 99, b""])
def test_damaged_files_are_begun_anew(tmp_path: Path, content: bytes):
    path = tmp_path / "t.sqlite"
    path.write_bytes(content)
    TuningStore(path).session("key").remember(Trial({"i": 8}, Status.OK, 1.0))
    assert len(TuningStore(path).trials("key")) == 1


def test_other_versions_and_strange_rows_are_not_trusted(tmp_path: Path):
    path = tmp_path / "t.sqlite"
    store = TuningStore(path)
    store.session("key").remember(Trial({"i": 8}, Status.OK, 1.0))
    store.session("key").crown({"i": 8})
    with sqlite3.connect(path) as database:
        for table in ("trial", "winner"):
            database.execute(f'update {table} set point = \'{{"i": "8; drop"}}\'')
    assert (store.trials("key"), store.winner("key")) == ((), None)
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma user_version = 99")
    assert store.trials("key") == ()
    assert path.with_name("t.sqlite.damaged").exists()


def test_what_the_first_version_called_best_is_not_used(tmp_path: Path):
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "create table trial (key, point, status, seconds, reason, process, since);"
            """insert into trial values ('key', '{"i":8}', 'ok', 0.1, '', 1, 1);"""
            "pragma user_version = 1;"
        )
    assert TuningStore(path).winner("key") is None
    assert TuningStore(path).trials("key") == ()


def test_given_points_are_tried_and_no_others():
    points = [{"i": 8}, {"i": 64}]
    found = Search(Space({"i": SIZES}), one_by_one(bowl)).run(given(points))
    assert [trial.point for trial in found.trials] == points


def test_keys_depend_on_every_part():
    keys = {tuning_key(ir="x", device=d) for d in ("a", "b")}
    assert len(keys) == 2


def _claim_all(path: Path, results: multiprocessing.Queue[int]) -> None:
    session = TuningStore(path).session("key")
    mine = 0
    for size in range(60):
        if session.claim({"i": size}):
            mine += 1
            session.remember(Trial({"i": size}, Status.OK, float(size)))
    results.put(mine)


@pytest.mark.slow
def test_processes_share_the_points_without_overlap(tmp_path: Path):
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[int] = context.Queue()
    path = tmp_path / "t.sqlite"
    workers = [
        context.Process(target=_claim_all, args=(path, results)) for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    claimed = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert sum(claimed) == 60
    assert len(TuningStore(path).trials("key")) == 60
    assert min((t.seconds or inf) for t in TuningStore(path).trials("key")) >= 0


def test_the_best_of_neighbours_that_are_tried_together_is_moved_to():
    space = Space(dict.fromkeys("ijk", SIZES))
    groups: list[int] = []

    def measure(asked: Iterable[Point]) -> list[Trial]:
        points = list(asked)
        groups.append(len(points))
        return [Trial(p, Status.OK, bowl(p)) for p in reversed(points)]

    found = Search(space, measure, budget=60).run(local_search(space, width=4))
    assert found.best is not None
    assert set(found.best.point.values()) == {64}
    assert max(groups) == 4


def test_no_measurement_begins_when_the_time_is_over():
    made: list[Point] = []
    measure = one_by_one(lambda point: made.append(point) or bowl(point))
    space = Space(dict.fromkeys("ij", SIZES))
    Search(space, measure, is_late=lambda: len(made) > 2).run(local_search(space))
    assert len(made) == 3


def test_an_interrupted_search_goes_on_as_if_it_had_not_been(tmp_path: Path):
    space = Space(dict.fromkeys("ijk", SIZES))

    def interrupted(point: Point) -> float:
        if len(session.store.trials("key")) == 5:
            raise KeyboardInterrupt
        return bowl(point)

    session = TuningStore(tmp_path / "t.sqlite").session("key")
    with pytest.raises(KeyboardInterrupt):
        search(space, interrupted, memory=session, budget=12)
    assert len(session.store.trials("key")) == 5
    resumed = search(space, bowl, memory=session, budget=12)
    assert resumed == search(space, bowl, budget=12)
    assert len(session.store.trials("key")) == 12


KILLED = """
import sys, time
from pathlib import Path
from gpucodegen.tiling.tuning.store import TuningStore
session = TuningStore(Path(sys.argv[1])).session("key")
session.claim({"i": 8})
print("claimed", flush=True)
time.sleep(600)
"""


def test_the_claim_of_a_killed_process_is_taken_over_at_once(tmp_path: Path):
    path = tmp_path / "t.sqlite"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"claimed\n"
    session = TuningStore(path).session("key")
    assert not session.claim({"i": 8})
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert session.claim({"i": 8})


def test_a_store_travels_as_json(tmp_path: Path):
    here = TuningStore(tmp_path / "here.sqlite")
    session = here.session("key")
    session.describe({"function": "f"})
    session.remember(Trial({"i": 8}, Status.OK, 1.0))
    session.remember(Trial({"i": 16}, Status.CRASHED, None, "SIGSEGV"))
    session.crown({"i": 8}, gain=1.5)
    text = exported(here)
    there = TuningStore(tmp_path / "there.sqlite")
    there.session("key").remember(Trial({"i": 8}, Status.OK, 2.0))
    assert merged(there, text) == 1
    assert there.winner("key") == here.winner("key")
    assert [trial.seconds for trial in there.trials("key")] == [2.0, None]
    assert there.subjects() == {"key": {"function": "f"}}
    assert merged(there, text) == 1
    assert exported(there) == exported(there)


def test_an_older_winner_does_not_take_the_place_of_a_newer(tmp_path: Path):
    here = TuningStore(tmp_path / "here.sqlite")
    here.session("key").describe({})
    here.session("key").crown({"i": 8}, 1.5, since=100.0)
    there = TuningStore(tmp_path / "there.sqlite")
    there.session("key").crown({"i": 16}, 1.2, since=200.0)
    merged(there, exported(here))
    winner = there.winner("key")
    assert winner is not None
    assert winner.point == {"i": 16}


FORM = '{"form": "gpucodegen tuned schedules, form 1", "tuned": '
TRIAL = {"point": {"i": 8}, "status": "ok", "seconds": 1.0, "reason": ""}


def entry_with(**part: object) -> str:
    """A text of one entry, sound but for some part."""
    entry = {"key": "k", "about": {}, "winner": None, "trials": [TRIAL], **part}
    return f"{FORM}{json.dumps([entry])}}}"


BROKEN = [
    ("[]", "not a text of the form"),
    ("{", "Expecting property name"),
    (FORM + "1}", "no list"),
    (FORM + "[{}]}", "lacks 'key'"),
    *[
        (entry_with(**part), reason)
        for part, reason in [
            ({"trials": [{**TRIAL, "seconds": "abc"}]}, "no trial"),
            ({"trials": [{**TRIAL, "seconds": -1.0}]}, "no trial"),
            ({"trials": [{**TRIAL, "seconds": [1]}]}, "no trial"),
            ({"trials": [{**TRIAL, "seconds": None}]}, "no trial"),
            ({"trials": [{**TRIAL, "reason": None}]}, "no trial"),
            ({"trials": [{**TRIAL, "point": {"i": 2**80}}]}, "no trial"),
            ({"winner": {"point": {"i": 8}, "gain": nan, "since": 0.0}}, "gain"),
            ({"winner": {"point": {"i": 2**80}, "gain": 2.0, "since": 0.0}}, "sizes"),
            ({"about": {"arguments": 5}}, "'arguments'"),
            ({"about": {"final": 5}}, "'final'"),
            ({"about": {"final": [{"gain": 1.0}]}}, "lacks 'low'"),
            ({"about": {"call": 5}}, "'call'"),
            ({"about": 5}, "lacks"),
        ]
    ],
]


@pytest.mark.parametrize(("text", "reason"), BROKEN)
def test_other_texts_are_refused_and_change_nothing(
    tmp_path: Path, text: str, reason: str
):
    store = TuningStore(tmp_path / "t.sqlite")
    with pytest.raises(ValueError, match=reason):
        merged(store, text)
    assert store.subjects() == {}


def test_a_winner_that_lost_since_does_not_come_back(tmp_path: Path):
    here = TuningStore(tmp_path / "here.sqlite")
    here.session("key").describe({"finished": 100.0})
    here.session("key").crown({"i": 8}, 1.5, since=100.0)
    text = exported(here)
    there = TuningStore(tmp_path / "there.sqlite")
    there.session("key").describe({"finished": 200.0, "final": []})
    merged(there, text)
    assert there.winner("key") is None
    assert there.subjects()["key"]["finished"] == 200.0


def test_what_was_said_of_a_key_stays_when_it_is_tuned_again(tmp_path: Path):
    session = TuningStore(tmp_path / "t.sqlite").session("key")
    session.describe({"function": "f", "finished": 100.0})
    session.describe({"function": "f", "machine": "m"})
    assert session.store.subjects()["key"]["finished"] == 100.0


def test_a_failure_can_be_forgiven(tmp_path: Path):
    session = TuningStore(tmp_path / "t.sqlite").session("key")
    session.remember(Trial({"i": 0}, Status.FAILED, reason="its arguments"))
    session.remember(Trial({"i": 8}, Status.OK, 1.0))
    for point in ({"i": 0}, {"i": 8}):
        session.forgive(point)
    assert session.recall({"i": 0}) is None
    assert session.recall({"i": 8}) is not None
    assert session.claim({"i": 0})


def test_nothing_is_tried_behind_a_default_that_does_not_run():
    def measure(point: Point) -> float:
        raise ValueError(f"{point} needs another argument")

    space = Space({"i": (0, 8, 16)})
    order = after({"i": 0}, local_search(space, [{"i": 0}]))
    found = Search(space, one_by_one(measure)).run(order)
    assert [trial.point for trial in found.trials] == [{"i": 0}]


def test_a_sampler_that_repeats_itself_ends():
    optuna = pytest.importorskip("optuna")
    space = Space({"i": (8, 16)})
    strategy = sampled(space, [{"i": 8}], optuna.samplers.RandomSampler(seed=1))
    found = Search(space, one_by_one(bowl), budget=10).run(strategy)
    assert len(found.trials) == 2


def test_a_sampler_of_optuna_leads_the_search():
    optuna = pytest.importorskip("optuna")
    space = Space(dict.fromkeys("ij", SIZES))
    sampler = optuna.samplers.RandomSampler(seed=1)
    strategy = sampled(space, [{"i": 8, "j": 8}], sampler)
    found = Search(space, one_by_one(bowl), budget=20).run(strategy)
    assert found.trials[0].point == {"i": 8, "j": 8}
    assert found.best is not None
    assert found.best.seconds is not None
    assert found.best.seconds < bowl({"i": 8, "j": 8})


def test_neighbours_are_tried_in_the_order_of_the_model() -> None:
    """From the middle, (32, 32): the model expects most of larger j, then of i."""
    asked: list[tuple[int, ...]] = []

    def measure(point: Point) -> float:
        asked.append(tuple(point.values()))
        return 1.0

    def expected(point: Point) -> float:
        return 10.0 * abs(point["j"] - 128) + abs(point["i"] - 128)

    space = Space({"i": SIZES, "j": SIZES})
    start = {"i": 32, "j": 32}
    strategy = local_search(space, [start], model=expected)
    Search(space, one_by_one(measure), budget=5).run(strategy)
    assert asked == [(32, 32), (32, 64), (64, 32), (16, 32), (32, 16)]
