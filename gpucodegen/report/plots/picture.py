"""Plots of tunings: into files, or as parts of an HTML page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.records import dataclass
from gpucodegen.report import plots
from gpucodegen.report.pictures.svg import Element
from gpucodegen.report.plots import KINDS

if TYPE_CHECKING:
    from pathlib import Path

    from gpucodegen.compiling.stored_tunings import Stored
    from gpucodegen.tiling.tuning.search import Trial


def tuning_pictures(stored: Sequence[Stored]) -> list[Element]:
    """All plots of some tunings; none without matplotlib."""
    if find_spec("matplotlib") is None:
        return []
    return [picture for one in stored for picture in _pictures(one)]


def _pictures(stored: Stored) -> Iterator[Element]:

    for kind in KINDS:
        figure, (axis,) = figure_of(1)
        title = f"{kind} of @{stored.about.get('function')}{stored.call}"
        axis.set_title(title, fontsize="small", loc="left")
        try:
            draw(axis, Tuned.of(stored), kind)
        except ValueError:
            continue
        data = BytesIO()
        figure.savefig(data, format="svg")
        source = f"data:image/svg+xml;base64,{b64encode(data.getvalue()).decode()}"
        yield Element("img", {"src": source, "alt": title})


SUFFIXES = ".png", ".svg"
INCHES = (7.0, 3.2)
"""Width, and height of each function's part."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """The plotted data of a tuning: its trials in order, and facts for a roofline.

    ``about``: the stored description.  ``gain``: of the winner; 1 without one.
    """

    trials: Sequence[Trial]
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    gain: float = 1.0

    @staticmethod
    def of(stored: Stored) -> Tuned:
        """The stored data of a tuning."""
        winner = stored.winner
        gain = 1.0 if winner is None else winner.gain
        return Tuned(stored.trials, stored.about, gain)


def plotted(titled: Mapping[str, Tuned], place: Path, kind: str) -> None:
    """Draws tunings by their titles into an SVG or PNG file.

    Raises InvalidOption for another kind or file; ImportError without matplotlib.
    """
    if kind not in KINDS:
        hint = f"Pass {errors.one_of(KINDS)}"
        raise errors.InvalidOption(name="kind", value=kind, hint=hint)
    if place.suffix not in SUFFIXES:
        hint = f"Name a file that ends with {errors.one_of(SUFFIXES)}"
        raise errors.InvalidOption(name="place", value=str(place), hint=hint)
    figure, axes = figure_of(len(titled))
    for (title, tuned), axis in zip(titled.items(), axes, strict=False):
        axis.set_title(title, fontsize="small", loc="left")
        try:
            draw(axis, tuned, kind)
        except ValueError as problem:
            axis.set_axis_off()
            axis.text(0.5, 0.5, f"no picture: {problem}", ha="center")
    figure.savefig(place)


def draw(axis: Any, tuned: Tuned, kind: str) -> None:
    """One tuning.  Raises ValueError if it has no such plot."""
    drawn = import_module(f"{plots.__name__}.{kind}").draw
    timed = [trial for trial in tuned.trials if trial.seconds]
    if not timed:
        raise ValueError("no trial has a time")
    if kind == "roofline":
        from gpucodegen.report.plots.roofline import Placed

        drawn(axis, Placed.of(tuned.about, timed, tuned.gain))
    else:
        drawn(axis, timed)


def figure_of(parts: int) -> tuple[Any, list[Any]]:
    """A figure with ``parts`` axes, one under the other."""
    rows = max(1, parts)
    size = INCHES[0], INCHES[1] * rows
    figure = import_module("matplotlib.figure").Figure(size, layout="constrained")
    return figure, list(figure.subplots(rows, 1, squeeze=False)[:, 0])
