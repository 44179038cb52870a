"""Pictures of a search: the trials in their order, and the best so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from gpucodegen.tiling.tuning.trials import Trial

INCHES = (7.0, 2.6)
"""Width, and height of each function's part."""


def plotted(titled: Mapping[str, Sequence[Trial]], place: Path) -> None:
    """Draw the trials of each function, a part for each, into an SVG or PNG file.

    On the left the times, the fastest first, with the default marked; on the right,
    where two sizes varied, a map of the times over them.  Raises ImportError without
    matplotlib.
    """
    size = INCHES[0], INCHES[1] * max(1, len(titled))
    figure: Any = import_module("matplotlib.figure").Figure(size, layout="constrained")
    axes = figure.subplots(max(1, len(titled)), 2, squeeze=False)
    for (title, trials), (left, right) in zip(titled.items(), axes, strict=False):
        _times(left, title, trials)
        _map(right, trials)
    figure.savefig(place)


def _times(axis: Any, title: str, trials: Sequence[Trial]) -> None:
    timed = sorted((t.seconds, not any(t.point.values())) for t in trials if t.seconds)
    colours = ["tab:orange" if is_default else "tab:blue" for _, is_default in timed]
    axis.bar(range(len(timed)), [1e3 * s for s, _ in timed], color=colours)
    axis.set_title(title, fontsize="small", loc="left")
    axis.set_ylabel("ms (orange: default)")
    axis.set_xticks([])


def _map(axis: Any, trials: Sequence[Trial]) -> None:
    """Times over the two sizes that took the most values."""
    timed = [trial for trial in trials if trial.seconds]
    names = sorted(
        {name for trial in timed for name in trial.point},
        key=lambda name: -len({trial.point[name] for trial in timed}),
    )[:2]
    if len(names) < 2:
        axis.set_axis_off()
        return
    values = [sorted({trial.point[name] for trial in timed}) for name in names]
    best: dict[tuple[int, int], float] = {}
    for trial in timed:
        x, y = (v.index(trial.point[n]) for n, v in zip(names, values, strict=True))
        best[x, y] = min(best.get((x, y), float("inf")), trial.seconds or 0.0)
    xs, ys = zip(*best, strict=True)
    dots = axis.scatter(xs, ys, c=[1e3 * s for s in best.values()], marker="s", s=90)
    axis.figure.colorbar(dots, ax=axis, label="ms")
    for name, sizes, place in zip(names, values, "xy", strict=True):
        labels = [str(size or "default") for size in sizes]
        getattr(axis, f"set_{place}ticks")(range(len(sizes)), labels, fontsize="small")
        getattr(axis, f"set_{place}label")(name)
