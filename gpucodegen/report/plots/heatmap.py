"""Heatmap of times over the two knobs with the most values."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from gpucodegen.report.plots.trial_points import is_default, milliseconds

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.search import Trial


def draw(axis: Any, trials: Sequence[Trial]) -> None:
    """The least time of each pair of values; untried pairs stay white.

    Raises ValueError where there are no two knobs.
    """
    tried = {name: _values(trials, name) for trial in trials for name in trial.point}
    names = sorted(tried, key=lambda name: -len(tried[name]))[:2]
    if len(names) < 2:
        raise ValueError("fewer than two knobs were tried")
    columns, rows = names
    cells = [[nan] * len(tried[columns]) for _ in tried[rows]]
    for trial in sorted(trials, key=lambda one: -milliseconds(one)):
        row = tried[rows].index(trial.point[rows])
        cells[row][tried[columns].index(trial.point[columns])] = milliseconds(trial)
    shown = axis.imshow(cells, cmap="viridis_r", aspect="auto", origin="lower")
    axis.figure.colorbar(shown, ax=axis, label="ms")
    _numbers(axis, cells)
    for name, place in ((columns, "x"), (rows, "y")):
        labels = [str(size or "default") for size in tried[name]]
        getattr(axis, f"set_{place}ticks")(range(len(labels)), labels)
        getattr(axis, f"set_{place}label")(name)
    for trial in filter(is_default, trials):
        at = [tried[name].index(trial.point[name]) for name in names]
        axis.scatter(*at, s=420, marker="s", facecolors="none", edgecolors="tab:orange")


def _values(trials: Sequence[Trial], name: str) -> list[int]:
    return sorted({trial.point[name] for trial in trials if name in trial.point})


def _numbers(axis: Any, cells: Sequence[Sequence[float]]) -> None:
    """The milliseconds in each cell, if there is room, light on dark cells."""
    if max(len(cells), len(cells[0])) > 12:
        return
    known = [time for row in cells for time in row if not isnan(time)]
    middle = (min(known) + max(known)) / 2
    for y, row in enumerate(cells):
        for x, time in enumerate(row):
            if not isnan(time):
                colour = "white" if time > middle else "black"
                text = f"{time:.3g}"
                axis.text(
                    x, y, text, ha="center", va="center", fontsize=7, color=colour
                )
