"""Tuned schedules as JSON, which travel from one store to another.

A text has all that is known of each key: what it stands for, its finished trials and
its winner.  Keys name machine, versions and options, so a text from elsewhere has no
effect but where it holds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gpucodegen.tiling.tuning.rows import Winner, point_text, read_point, read_trial
from gpucodegen.tiling.tuning.trials import Trial

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.store import TuningStore

FORM = "gpucodegen tuned schedules, form 1"


def exported(store: TuningStore, keys: Iterable[str] | None = None) -> str:
    """All of a store, or some keys of it, as JSON."""
    subjects = store.subjects()
    chosen = subjects if keys is None else {key: subjects[key] for key in keys}
    entries = [_entry(store, key, about) for key, about in chosen.items()]
    return json.dumps({"form": FORM, "tuned": entries}, indent=1)


def _entry(store: TuningStore, key: str, about: dict[str, Any]) -> dict[str, Any]:
    winner = store.winner(key)
    trials = [
        {
            "point": dict(trial.point),
            "status": trial.status.value,
            "seconds": trial.seconds,
            "reason": trial.reason,
        }
        for trial in store.trials(key)
    ]
    crown = winner and {
        "point": dict(winner.point),
        "gain": winner.gain,
        "since": winner.since,
    }
    return {"key": key, "about": about, "winner": crown, "trials": trials}


def merged(store: TuningStore, text: str) -> int:
    """Add what a text has to a store; the number of keys.

    Trials that the store has already stay, and of two winners the later one.  Raises
    ValueError for a text that `exported` did not write; then nothing is changed.
    """
    entries = [_read(entry) for entry in _entries(text)]
    for key, about, winner, trials in entries:
        session = store.session(key)
        if key not in store.subjects():
            session.describe(about)
        for trial in trials:
            if session.claim(trial.point):
                session.remember(trial)
        present = store.winner(key)
        if winner and (present is None or present.since < winner.since):
            session.crown(winner.point, winner.gain, winner.since)
    return len(entries)


def winner_in(text: str, key: str) -> Winner | None:
    """The winner that a text has for a key.  Raises ValueError as `merged` does."""
    found = (entry for entry in _entries(text) if entry.get("key") == key)
    return next((_read(entry)[2] for entry in found), None)


def _entries(text: str) -> list[dict[str, Any]]:
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("form") != FORM:
        raise ValueError(f"this is not a text of the form '{FORM}'")
    entries = document.get("tuned")
    if not isinstance(entries, list):
        raise ValueError("it has no list of what was tuned")  # noqa: TRY004
    return entries


def _read(
    entry: dict[str, Any],
) -> tuple[str, dict[str, Any], Winner | None, list[Trial]]:
    try:
        return (
            str(entry["key"]),
            dict(entry["about"]),
            _winner(entry["winner"]),
            [_trial(trial) for trial in entry["trials"]],
        )
    except (KeyError, TypeError) as problem:
        raise ValueError(f"an entry lacks {problem}") from problem


def _winner(entry: dict[str, Any] | None) -> Winner | None:
    if entry is None:
        return None
    point = read_point(point_text(entry["point"]))
    if point is None:
        raise ValueError("the sizes of a winner are whole numbers of 0 or more")
    return Winner(point, float(entry["gain"]), min(float(entry["since"]), time.time()))


def _trial(entry: dict[str, Any]) -> Trial:
    text = point_text(entry["point"])
    trial = read_trial(text, entry["status"], entry["seconds"], entry["reason"])
    if trial is None:
        raise ValueError(f"no trial: {entry}")
    return trial
