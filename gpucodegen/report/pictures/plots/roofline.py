"""The default and the winner under the roof of this machine.

After Williams, Waterman, Patterson: Roofline, an insightful visual performance model
(2009).  The roof is measured when the picture is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpucodegen.report.pictures.plots.marks import is_default

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.search import Trial


@dataclass(frozen=True, slots=True)
class Placed:
    """A program: its work, and seconds of its default schedule and of the one used."""

    work: Mapping[str, Any]
    default: float
    used: float
    threads: int

    @staticmethod
    def of(about: Mapping[str, Any], trials: Sequence[Trial], gain: float) -> Placed:
        """From what the store has of a tuning.

        Raises ValueError for what has no place: no work on floats, or no default.
        """
        from gpucodegen.compiling.targets import find, names
        from gpucodegen.report.pictures.plots.roof import TYPES
        from gpucodegen.runtime.processor import thread_count

        work: Mapping[str, Any] = about.get("work", {})
        if not work.get("flops") or work.get("dtype") not in TYPES:
            raise ValueError("it has no known number of operations on f32 or f64")
        target = about.get("target")
        if target not in names() or find(target).runs_launches:
            raise ValueError("the roof is that of the CPU")
        times = [t.seconds for t in trials if t.seconds and is_default(t)]
        if not times:
            raise ValueError("its default schedule did not run")
        threads = about.get("threads") or thread_count()
        return Placed(work, times[0], times[0] / gain, threads)

    def rate(self, seconds: float) -> float:
        """GFLOP/s."""
        return self.work["flops"] / seconds / 1e9

    @property
    def intensity(self) -> float:
        """Operations for each byte that has to be moved."""
        return self.work["flops"] / max(1, self.work["bytes"])


def draw(axis: Any, placed: Placed) -> None:
    """Both dots, and the roof above them, on logarithmic axes."""
    from gpucodegen.report.pictures.plots.roof import bandwidth, peak

    top = peak(placed.work["dtype"], placed.threads)
    slope = bandwidth(placed.threads)
    ridge, here = top / slope, placed.intensity
    ends = [min(ridge, here) / 8, ridge, max(ridge, here) * 8]
    axis.plot(ends, [min(top, slope * x) for x in ends], color="0.3", linewidth=1.2)
    axis.annotate(
        f"{top:.0f} GFLOP/s of {placed.work['dtype']}",
        (ends[2], top),
        (0, 3),
        textcoords="offset points",
        ha="right",
        fontsize=7,
    )
    axis.annotate(
        f"{slope:.1f} GB/s",
        (ends[0], slope * ends[0]),
        (6, 0),
        textcoords="offset points",
        fontsize=7,
    )
    dots = {"default": (placed.default, "tab:orange", "o")}
    if placed.used < placed.default:
        dots["winner"] = (placed.used, "tab:green", "^")
    roof = min(top, slope * here)
    for name, (seconds, colour, marker) in dots.items():
        rate = placed.rate(seconds)
        label = f"{name}: {rate:.3g} GFLOP/s, {rate / roof:.0%} of the roof"
        axis.plot([here], [rate], marker, color=colour, label=label)
    axis.set_ylim(min(slope * ends[0], placed.rate(placed.default)) / 1.5, 1.6 * top)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log", base=2)
    axis.set_xlabel("operations for each byte that has to be moved")
    axis.set_ylabel("GFLOP/s")
    axis.legend(fontsize="small", loc="lower right")
