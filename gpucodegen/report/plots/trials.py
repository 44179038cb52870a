"""Plot of the trials in order, with the best so far."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from gpucodegen.report.plots.trial_points import is_default, milliseconds

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.search import Trial


def draw(axis: Any, trials: Sequence[Trial]) -> None:
    """Dots for trials, a line for the best, and a dashed one for the default."""
    times = list(map(milliseconds, trials))
    numbers = range(1, len(times) + 1)
    axis.scatter(numbers, times, s=18, color="tab:blue", label="trials")
    axis.step(
        numbers,
        list(accumulate(times, min)),
        where="post",
        color="tab:green",
        label="best so far",
    )
    for trial in filter(is_default, trials):
        axis.axhline(
            milliseconds(trial), color="tab:orange", linestyle="--", label="default"
        )
    axis.set_ylim(bottom=0)
    axis.set_xlabel("trial")
    axis.set_ylabel("ms")
    axis.legend(fontsize="small")
