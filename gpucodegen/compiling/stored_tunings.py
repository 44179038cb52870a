"""Stored tunings in readable form, for `tune show`, `explain` and `report`.

Input: the store of tuned schedules. Output: one line per tuning with the winner, its
confidence interval, whether it was measured, and its age.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpucodegen.records import dataclass
from gpucodegen.tiling.tuning.calibration import Gain
from gpucodegen.tiling.tuning.search import shown

if TYPE_CHECKING:
    from gpucodegen.compiling.executable import Specialization
    from gpucodegen.options import Options
    from gpucodegen.program_text import Source
    from gpucodegen.tiling.tuning.database import Winner
    from gpucodegen.tiling.tuning.search import Trial
    from gpucodegen.tiling.tuning.store import TuningStore

UNITS = (("days", 86400), ("hours", 3600), ("minutes", 60), ("seconds", 1))


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored tuning: description, winner if there is one, and trials in order.

    >>> from gpucodegen.tiling.tuning.database import Winner
    >>> about = {"arguments": ["64x48xfloat64"], "target": "cpu"}
    >>> winner = Winner({"tile0": 8}, 1.234, since=time.time() - 7200)
    >>> print(Stored(about, winner))
    (64x48xfloat64) for cpu: tile0=8, 1.23 times the default's speed, measured 2 hours \
ago, 0 trials
    """

    about: Mapping[str, Any]
    winner: Winner | None
    trials: tuple[Trial, ...] = ()

    @staticmethod
    def of(store: TuningStore, key: str, about: Mapping[str, Any]) -> Stored:
        return Stored(about, store.winner(key), store.trials(key, in_order=True))

    def __str__(self) -> str:
        how = "estimated" if self.about.get("predicted_for") else "measured"
        trials = f"{len(self.trials)} trials"
        if self.winner is None:
            state = "" if "finished" in self.about else ", not finished"
            return f"{self.call}: the default stays, {how}, {trials}{state}"
        when = f"{how} {ago(time.time() - self.winner.since)}"
        point = shown(self.winner.point)
        return f"{self.call}: {point}, {self._gain} speed, {when}, {trials}"

    @property
    def call(self) -> str:
        about = self.about
        arguments = ", ".join(map(str, about.get("arguments", ())))
        target = about.get("target")
        if about.get("predicted_for"):
            target = f"{about['predicted_for']}, predicted"
        elif about.get("device"):
            target = f"{target} on {about['device']}"
        shapes = " and their bucket" if about.get("shapes") == "bucket" else ""
        passes = f" by '{about['pipeline']}'" if about.get("pipeline") else ""
        return f"({arguments}){shapes} for {target}{passes}"

    @property
    def _gain(self) -> str:
        """The speedup, with its interval if the store has one."""
        assert self.winner is not None
        for one in self.about.get("final", ()):
            if one["point"] == self.winner.point:
                return f"{Gain(one['gain'], one['low'], one['high'])} the default's"
        return f"{self.winner.gain:.2f} times the default's"


def in_use(source: Source, name: str, options: Sequence[Options]) -> Iterator[Stored]:
    """The tunings of a function that `compile` uses, each with one of these options.

    Tunings of other texts, versions or machines are excluded.
    """
    from gpucodegen.compiling.tuned_schedules import is_there, tuning_store

    if not is_there():
        return
    store = tuning_store()
    for key, about in store.subjects().items():
        if about.get("function") == name and not about.get("pipeline"):
            keys = {_key(source, name, about, chosen) for chosen in options}
            if key in keys:
                yield Stored.of(store, key, about)


def _key(
    source: Source, name: str, about: Mapping[str, Any], options: Options
) -> str | None:
    """The key of a tuning, if it is of this program."""
    from gpucodegen.compiling.tuned_schedules import Scope, tuning_identity

    call = read_call(about.get("call"))
    if call is None or call[0] != options.target:
        return None
    scope = Scope(about.get("shapes", "exact"), about.get("predicted_for", ""))
    return tuning_identity(source, name, call, options, scope)


def call_of(key: Specialization) -> list[Any]:
    """The arguments and target of a key as JSON."""
    return [key[0], [known and list(known) for known in key[1]]]


def read_call(call: Any) -> Specialization | None:
    """The inverse of `call_of`; None for anything else.

    >>> from gpucodegen.runtime.host.arguments import Known
    >>> key = "cpu", (Known((3, 4), None, 64), None)
    >>> read_call(call_of(key)) == key, read_call(None)
    (True, None)
    """
    from gpucodegen.runtime.host.arguments import Known

    if not call:
        return None
    target, every = call

    def numbers(told: Any) -> tuple[int, ...] | None:
        return None if told is None else tuple(map(int, told))

    return target, tuple(
        known and Known(numbers(known[0]), numbers(known[1]), int(known[2]))
        for known in every
    )


def ago(seconds: float) -> str:
    """An age in words.

    >>> ago(2 * 86400 + 5), ago(90.0), ago(0.2)
    ('2 days ago', '1 minutes ago', 'now')
    """
    for name, unit in UNITS:
        if seconds >= unit:
            return f"{int(seconds // unit)} {name} ago"
    return "now"
