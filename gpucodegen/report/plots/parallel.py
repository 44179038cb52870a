"""Parallel coordinates plot: an axis per knob and one for the time, a line per trial.

After Inselberg, The plane with parallel coordinates (1985).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpucodegen.report.plots.trial_points import is_default, milliseconds

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.search import Trial

PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.8}
"""Under a number that lines cross."""


def draw(axis: Any, trials: Sequence[Trial]) -> None:
    """Fast trials are dark and above slow ones; the default is dashed.

    Raises ValueError where no knob took two values.
    """
    names = list(dict.fromkeys(name for trial in trials for name in trial.point))
    values = {name: sorted({t.point.get(name, 0) for t in trials}) for name in names}
    if max(map(len, values.values()), default=0) < 2:
        raise ValueError("no knob took two values")
    times = list(map(milliseconds, trials))
    least, most = min(times), max(times)
    colours = import_module("matplotlib").colormaps["viridis"]
    for trial in sorted(trials, key=lambda t: (is_default(t), -milliseconds(t))):
        share = _share(milliseconds(trial), least, most)
        heights = [
            _share(
                values[name].index(trial.point.get(name, 0)), 0, len(values[name]) - 1
            )
            for name in names
        ]
        style = "--" if is_default(trial) else "-"
        colour = "tab:orange" if is_default(trial) else colours(0.95 * share)
        axis.plot([*heights, share], style, color=colour, linewidth=1.4)
    _axes(axis, values, least, most)


def _share(value: float, least: float, most: float) -> float:
    """The position of a value between two others.

    >>> _share(3, 1, 5), _share(1, 1, 1)
    (0.5, 0.5)
    """
    return (value - least) / (most - least) if most > least else 0.5


def _axes(axis: Any, values: dict[str, list[int]], least: float, most: float) -> None:
    """A vertical axis for each knob, with its values."""
    for x, sizes in enumerate(values.values()):
        axis.axvline(x, color="0.6", linewidth=0.8)
        for n, size in enumerate(sizes):
            height = _share(n, 0, len(sizes) - 1)
            text = str(size or "default")
            place = x - 0.03, height
            axis.text(*place, text, fontsize=7, ha="right", va="center", bbox=PAPER)
    axis.axvline(len(values), color="0.6", linewidth=0.8)
    for height, time in ((0, least), (1, most)):
        axis.text(len(values) + 0.03, height, f"{time:.3g} ms", fontsize=7, va="center")
    axis.set_xticks(range(len(values) + 1), [*values, "time"])
    axis.set_yticks([])
    axis.set_xlim(-0.3, len(values) + 0.3)
    for side in ("top", "left", "right", "bottom"):
        axis.spines[side].set_visible(False)
