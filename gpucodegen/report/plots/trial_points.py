"""Helpers of the plots of trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.search import Trial


def is_default(trial: Trial) -> bool:
    """Whether a trial is the default schedule."""
    return not any(trial.point.values())


def milliseconds(trial: Trial) -> float:
    """The time of a trial that ran."""
    return 1e3 * (trial.seconds or 0.0)
