"""Import and export of tuned schedules as JSON.

The text has, for each key, its description, finished trials and winner.  Keys include
machine, versions and options, so entries of another machine have no effect.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from gpucodegen.tiling.tuning.database import (
    LARGEST,
    Winner,
    point_text,
    read_point,
    read_trial,
)
from gpucodegen.tiling.tuning.search import Status, Trial

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.store import TuningStore

FORM = "gpucodegen tuned schedules, form 1"
RUN = {Status.OK.value, Status.PREDICTED.value}
"""Statuses of trials with a time."""
KINDS: Mapping[str, type | tuple[type, ...]] = {
    "function": str,
    "target": str,
    "arguments": list,
    "call": (list, type(None)),
    "final": list,
    "finished": (int, float),
    "work": dict,
    "versions": dict,
}
"""Types of the fields of a key's description."""


def exported(store: TuningStore, keys: Iterable[str] | None = None) -> str:
    """All keys of a store, or some of them, as JSON."""
    subjects = store.subjects()
    chosen = subjects if keys is None else {key: subjects[key] for key in keys}
    entries = [_entry(store, key, about) for key, about in chosen.items()]
    return json.dumps({"form": FORM, "tuned": entries}, indent=1)


def _entry(store: TuningStore, key: str, about: dict[str, Any]) -> dict[str, Any]:
    winner = store.winner(key)
    trials = [trial.json() for trial in store.trials(key)]
    crown = winner and {
        "point": dict(winner.point),
        "gain": winner.gain,
        "since": winner.since,
    }
    return {"key": key, "about": about, "winner": crown, "trials": trials}


def merged(store: TuningStore, text: str) -> int:
    """Adds the entries of a JSON text to a store; returns the number of keys.

    Existing trials stay, and the later of two winners is kept.  Raises ValueError, and
    changes nothing, for a text that `exported` did not write.
    """
    entries = [_read(entry) for entry in _entries(text)]
    for key, about, winner, trials in entries:
        session = store.session(key)
        present = store.subjects().get(key, {})
        if present.get("finished", 0) < about.get("finished", 0) or not present:
            session.describe(about)
        for trial in trials:
            if session.claim(trial.point):
                session.remember(trial)
        decided = store.winner(key)
        latest = decided.since if decided else present.get("finished", 0.0)
        if winner and latest < winner.since:
            session.crown(winner.point, winner.gain, winner.since)
    return len(entries)


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
            _about(entry["about"]),
            _winner(entry["winner"]),
            [_trial(trial) for trial in entry["trials"]],
        )
    except (KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"an entry lacks {problem}") from problem


def _about(entry: Mapping[str, Any]) -> dict[str, Any]:
    for name, kind in KINDS.items():
        if name in entry and not isinstance(entry[name], kind):
            raise ValueError(f"'{name}' of an entry is {entry[name]!r}")
    for one in entry.get("final", ()):
        if not all(_is_seconds(one[name]) for name in ("gain", "low")):
            raise ValueError(f"no finalist: {one}")
    return dict(entry)


def _is_seconds(value: object) -> bool:
    """Whether it is a valid time, or a ratio of two."""
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and isfinite(value)
        and 0 <= value <= LARGEST
    )


def _winner(entry: dict[str, Any] | None) -> Winner | None:
    if entry is None:
        return None
    point = read_point(point_text(entry["point"]))
    if point is None:
        raise ValueError("the sizes of a winner are whole numbers of 0 or more")
    if not _is_seconds(entry["gain"]) or not _is_seconds(entry["since"]):
        raise ValueError(f"gain and time of a winner are {entry}")
    return Winner(point, float(entry["gain"]), min(float(entry["since"]), time.time()))


def _trial(entry: dict[str, Any]) -> Trial:
    text = point_text(entry["point"])
    trial = read_trial(text, entry["status"], entry["seconds"], entry["reason"])
    seconds, has_run = entry["seconds"], entry["status"] in RUN
    is_timed = has_run and _is_seconds(seconds) and seconds > 0
    if (
        trial is None
        or not isinstance(entry["reason"], str)
        or not (is_timed or (seconds is None and not has_run))
    ):
        raise ValueError(f"no trial: {entry}")
    return trial
