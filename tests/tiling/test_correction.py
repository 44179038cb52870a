"""What trials teach the model of a machine: it ranks better, or as before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import exp
from pathlib import Path
from random import Random

import pytest

from gpucodegen.tiling.machine.plan_space import PlanSpace
from gpucodegen.tiling.tuning.calibration import (
    MOST_TUNINGS,
    Correction,
    Tried,
    keep,
    rank_correlation,
    recorded_tunings,
)
from gpucodegen.tiling.tuning.knobs import Knob
from gpucodegen.tiling.tuning.search import Status, Trial
from gpucodegen.tiling.tuning.store import TuningStore

Features = Mapping[str, float]
Truth = Callable[[Features], float]
ROWS, COLUMNS = (1, 2, 4, 6, 8), (16, 32, 48, 64)


def wrong_about(errors: Mapping[str, float]) -> Truth:
    """Seconds for each clock, by what a point chooses."""
    return lambda features: exp(sum(errors.get(name, 0.0) for name in features))


def tuning(seed: int, truth: Truth, noise: float = 0.05) -> list[Tried]:
    """Trials of one call: clocks by a model, seconds by what is true, and noise."""
    random = Random(seed)
    scale, found = random.uniform(1e-4, 1e-2), list[Tried]()
    for rows in ROWS:
        for columns in COLUMNS:
            features = {f"rows={rows}": 1.0, f"columns={columns}": 1.0}
            clocks = random.uniform(0.8, 1.6)
            error = truth(features) * exp(random.gauss(0.0, noise))
            found.append(Tried(features, clocks, scale * clocks * error))
    return found


def ranks(trials: list[Tried], correction: Correction) -> float:
    found = rank_correlation(
        [one.clocks * correction.factor(one.features) for one in trials],
        [one.seconds for one in trials],
    )
    assert found is not None
    return found


ERRORS = {"rows=8": 0.6, "rows=1": -0.3, "columns=48": 0.4}


def test_what_the_model_is_wrong_about_is_learnt_from_other_calls() -> None:
    truth = wrong_about(ERRORS)
    found = Correction.of([tuning(seed, truth) for seed in range(4)])
    fresh = tuning(99, truth)
    assert ranks(fresh, found) > ranks(fresh, Correction()) + 0.1
    assert ranks(fresh, found) > 0.9
    best = min(fresh, key=lambda one: one.clocks * found.factor(one.features))
    assert best.seconds < 1.1 * min(one.seconds for one in fresh)


def test_few_outliers_do_not_decide() -> None:
    truth = wrong_about(ERRORS)
    tunings = [tuning(seed, truth) for seed in range(4)]
    for n, each in enumerate(tunings):
        slow = each[5 * n]
        each[5 * n] = Tried(slow.features, slow.clocks, 50 * slow.seconds)
    fresh = tuning(99, truth)
    assert ranks(fresh, Correction.of(tunings)) > ranks(fresh, Correction()) + 0.1


@pytest.mark.cases("seed", range(5))
def test_noise_teaches_nothing_that_harms(seed: int) -> None:
    """Where calls have nothing in common, the model stays nearly as it is."""
    truth = wrong_about({})
    tunings = [tuning(10 * seed + n, truth, noise=0.5) for n in range(5)]
    found = Correction.of(tunings)
    fresh = tuning(10 * seed + 9, truth, noise=0.01)
    assert ranks(fresh, found) > ranks(fresh, Correction()) - 0.1


def test_calls_that_contradict_one_another_teach_nothing() -> None:
    tunings = [
        tuning(n, wrong_about({"rows=8": error}))
        for n, error in enumerate((0.6, -0.6, 0.6, -0.6))
    ]
    assert Correction.of(tunings) == Correction()


def test_few_tunings_and_empty_ones_teach_nothing() -> None:
    truth = wrong_about(ERRORS)
    assert Correction.of([]) == Correction()
    assert Correction.of([tuning(n, truth) for n in (1, 2)]) == Correction()
    one = [Tried({}, 1.0, 1.0)]
    assert Correction.of([one] * 4) == Correction()


def test_a_feature_that_was_seen_once_hardly_counts() -> None:
    truth = wrong_about({**ERRORS, "rare": 0.8})
    tunings = [tuning(seed, truth) for seed in range(4)]
    tunings[0].append(Tried({"rare": 1.0}, 1.0, tunings[0][0].seconds * 9))
    found = Correction.of(tunings)
    assert 1.0 < found.factor({"rare": 1.0}) < found.factor({"rows=8": 1.0})
    assert found.factor({"never": 1.0}) == 1.0


def test_a_point_chooses_the_plan_that_is_nearest_of_each_kernel() -> None:
    menus = (
        PlanSpace(({"a": 1}, {"a": 2}), (30.0, 10.0), "f32: "),
        PlanSpace(({"b": 4}, {"b": 8}), (30.0, 90.0)),
    )
    knob = Knob("plan", {"a": (0, 1, 2), "b": (0, 4, 8), "other": (0, 5)}, {}, menus)
    assert knob.features({}) == {"f32: a=2": 0.25, "b=4": 0.75}
    assert knob.features({"a": 1, "b": 0, "other": 5}) == {
        "f32: a=1": 0.5,
        "b=4": 0.5,
        "other=5": 1.0,
    }


@pytest.mark.slow
def test_the_store_keeps_what_trials_teach(tmp_path: Path) -> None:
    store = TuningStore(tmp_path / "t.sqlite")
    for n in range(MOST_TUNINGS + 3):
        session = store.session(f"key {n}")
        for size, status in ((0, Status.OK), (8, Status.FAILED), (4, Status.OK)):
            seconds = 1.0 + size if status is Status.OK else None
            session.remember(Trial({"i": size}, status, seconds))
        points = [({"i": size}, {f"i={size}": 1.0}, 2.0 + n) for size in (0, 4, 8, 16)]
        keep(session, "here" if n else "elsewhere", points)
    found = recorded_tunings(store, "here", besides="key 5")
    assert len(found) == MOST_TUNINGS - 1
    assert found[0][0].clocks >= 5.0
    assert [(one.features, one.seconds) for one in found[0]] == [
        ({"i=0": 1.0}, 1.0),
        ({"i=4": 1.0}, 5.0),
    ]
    assert recorded_tunings(store, "nowhere", besides="") == []
    store.forget("key 9")
    assert len(recorded_tunings(store, "here", besides="key 5")) == MOST_TUNINGS - 1


@pytest.mark.parametrize("text", ["", "4", '{"i": "x"}', '{"i": NaN}', "[]"])
def test_strange_rows_teach_nothing(text: str, tmp_path: Path) -> None:
    store = TuningStore(tmp_path / "t.sqlite")
    session = store.session("key")
    session.remember(Trial({"i": 8}, Status.OK, 1.0))
    keep(session, "here", [({"i": 8}, {"i=8": 1.0}, 2.0)])
    with store.connection() as database:
        database.execute("update expectation set features = ?", (text,))
    assert recorded_tunings(store, "here", besides="") == [[]]
