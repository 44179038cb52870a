"""Progress of a tuning on standard error.

With rich on a terminal, a bar shows the best time so far, its speedup over the default,
and the time left; otherwise each trial is a line.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpucodegen.records import dataclass
from gpucodegen.tuning.result import shown

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.search import Trial

Observe = Callable[["Trial"], object]


@contextmanager
def progress(trials: int) -> Generator[Observe, None, None]:
    """An observer of at most ``trials`` trials.

    The last line tells the best schedule so far, after Ctrl-C too.
    """
    watched = sys.stderr.isatty() and importlib.util.find_spec("rich") is not None
    best = _Best()
    with (_bar if watched else _lines)(trials, best) as observe:
        try:
            yield observe
        except KeyboardInterrupt:
            sys.stderr.write(f"so far {best}\n")
            raise


@dataclass(slots=True)
class _Best:
    """The fastest trial so far, and the default, which is the first."""

    fastest: Trial | None = None
    default: float = 0.0

    def update(self, trial: Trial) -> None:
        """Updates the best with one more trial."""
        if trial.seconds is None:
            return
        self.default = self.default or trial.seconds
        if self.fastest is None or trial.seconds < (self.fastest.seconds or 0.0):
            self.fastest = trial

    def __str__(self) -> str:
        if self.fastest is None or not self.fastest.seconds:
            return "no schedule ran"
        seconds, gain = self.fastest.seconds, self.default / self.fastest.seconds
        what = (
            shown(self.fastest.point) if any(self.fastest.point.values()) else "default"
        )
        return f"best {seconds * 1e3:.3f} ms, {gain:.2f} times the default ({what})"


@contextmanager
def _lines(trials: int, best: _Best) -> Generator[Observe, None, None]:
    made = 0

    def observe(trial: Trial) -> None:
        nonlocal made
        made += 1
        best.update(trial)
        sys.stderr.write(f"{made}/{trials} {trial.status.value}; {best}\n")

    yield observe


@contextmanager
def _bar(trials: int, best: _Best) -> Generator[Observe, None, None]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("the default schedule", total=trials)

        def observe(trial: Trial) -> None:
            best.update(trial)
            bar.update(task, advance=1, description=str(best))

        yield observe
