"""Programs of the other tables, tuned, against themselves as they are by default."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import gpucodegen as gcg
from bench.case import Case, copied, restoring
from bench.ceilings import ceiling
from bench.harness import SETTLE, Clock, Times, settled
from bench.row import OURS, Row, Settings
from gpucodegen.tiling.tuning.calibration import gain
from gpucodegen.tuning.result import TuneResult, shown

FULL = 150.0
"""Seconds of a full tuning for each second of a row's budget."""
ROUNDS = range(11, 49)
"""Rounds of a race, in which each schedule has a turn: the fewest and the most."""
UNTUNED = "untuned"
TABLES = (
    "matmul",
    "integers",
    "convolution",
    "layers",
    "epilogues",
    "streams",
    "examples",
    "rows",
    "stencils",
    "polybench",
)
"""Where the programs come from."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """A program that is tuned and then races its default schedule."""

    table: str
    case: Case

    @property
    def name(self) -> str:
        """The table and its line."""
        return f"{self.table}: {self.case.name}"

    def measure(self, settings: Settings) -> Row:
        """Tune in an empty cache, quickly and then in full, check and race.

        Where nothing is stored, schedules run the same code, and their times show the
        noise.  The note tells how many times as fast as the default each is.
        """
        case, clock = self.case, settings.clock
        given = case.arguments(np.random.default_rng(0))
        options: dict[str, Any] = {
            "target": "cpu",
            "threads": settings.threads,
            **case.options,
        }
        arguments = copied(given)
        calls: dict[str, Any] = {}
        stored: list[str] = []
        agreement: float | None = None
        with _empty_cache():
            for name, limits in efforts(settings).items():
                found = gcg.tune(case.source, case.entry, *given, **limits, **options)
                calls[name] = _bound(case, arguments, tuned=True, **options)
                point, agreement = found.winner, found.agreement
                stored.append("default" if point is None else shown(point))
            calls[UNTUNED] = _bound(case, arguments, tuned=False, **options)
        if case.restore:
            clock = restoring(given, [(arguments, c) for c in calls.values()], clock)
        seconds = _raced(calls, clock, settings)
        base = seconds[UNTUNED]
        tuned = {name: gain(own, base) for name, own in seconds.items()}
        return Row(
            f"{self.name}: {stored[0]}",
            {name: Times.of(own) for name, own in seconds.items()},
            case.work,
            case.limit,
            case.dtype,
            ceiling(case.limit, case.dtype, settings),
            f"quick {tuned[OURS]}, full {tuned['full']} the default's speed"
            f"; full: {stored[1]}; {_agreement(agreement)}",
        )


def _agreement(found: float | None) -> str:
    """How well the model's order of schedules agrees with that of their times."""
    if found is None:
        return "no model ranks them"
    return f"rank correlation of the model with times {found:.2f}"


def efforts(settings: Settings) -> dict[str, dict[str, Any]]:
    """The limits of both tunings; the second goes on where the first one ended."""
    return {
        OURS: {"effort": "quick"},
        "full": {"effort": "full", "budget": FULL * settings.budget},
    }


def _raced(
    calls: dict[str, Any], clock: Clock, settings: Settings
) -> dict[str, list[float]]:
    """Seconds of each in the same rounds, in one order and then in the other."""
    settle = SETTLE if settings.threads > 1 else 0.0
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    end = time.perf_counter() + settings.budget
    for done in range(ROUNDS.stop):
        if done >= ROUNDS.start and time.perf_counter() > end:
            break
        for name in list(calls)[:: 1 if done % 2 else -1]:
            turn = (
                settled(calls[name], clock, settle) if settle else [clock(calls[name])]
            )
            seconds[name].append(statistics.median(turn))
    return seconds


def _bound(case: Case, arguments: tuple[Any, ...], **options: Any) -> Any:
    """A call on arrays that all contenders share: where they lie makes a difference.

    A schedule that leaves another answer than the case's is an error.
    """
    compiled = gcg.compile(case.source, **options)[case.entry]
    case.check(case.arguments(np.random.default_rng(0)), compiled)
    return compiled.bind(*arguments)


@contextmanager
def _empty_cache() -> Generator[None, None, None]:
    """Where nothing was tuned, and nothing stays for other tables."""
    variable = "GPUCODEGEN_CACHE_DIR"
    before = os.environ.get(variable)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ[variable] = folder
        try:
            yield
        finally:
            os.environ.pop(variable)
            if before is not None:
                os.environ[variable] = before


def _programs() -> Iterator[Tuned]:
    """Each program once, for each of its types, at its smallest size."""
    least: dict[tuple[object, ...], Tuned] = {}
    for table in TABLES:
        for line in import_module(f"bench.tables.{table}").LINES:
            if not isinstance(line, Case):
                continue
            words = [w for w in line.name.split() if not any(map(str.isdigit, w))]
            key = (line.entry, line.dtype, *words)
            if key not in least or _size(line) < _size(least[key].case):
                least[key] = Tuned(table, line)
    yield from least.values()


def _size(case: Case) -> tuple[int, int]:
    return case.work.flops, case.work.bytes


@dataclass(frozen=True, slots=True)
class Spread:
    """How much sooner the same trials are made by two workers of Dask than by one.

    The peer is one worker; times are those from the first trial's end to the last's.
    """

    name: str = "dask: trials of two workers"

    def measure(self, settings: Settings) -> Row:
        """Tune twice, each time in an empty cache and a cluster of its own."""
        del settings
        seconds = {name: _spread(workers) for name, workers in WORKERS.items()}
        times = {name: Times(took, took) for name, took in seconds.items()}
        ratio = seconds[OURS] / seconds["one worker"]
        return Row(self.name, times, note=f"{ratio:.2f} of the time of one worker")


@dataclass(frozen=True, slots=True)
class Taught:
    """How well a product's schedules are ranked after others were tuned here.

    The time is that of all tunings.
    """

    name: str = "model: corrected by trials of other products"

    def measure(self, settings: Settings) -> Row:
        """Tune products of several shapes, one after the other in one cache."""
        random, begun = np.random.default_rng(0), time.perf_counter()
        limits: dict[str, Any] = {
            "effort": "full",
            "budget": FULL / 3 * settings.budget,
        }

        def tuned(rows: int, columns: int, steps: int) -> TuneResult:
            a = random.random((rows, steps), np.float32)
            b = random.random((steps, columns), np.float32)
            c = np.zeros((rows, columns), np.float32)
            return gcg.tune(PRODUCT, "f", a, b, c, threads=settings.threads, **limits)

        with _empty_cache():
            *_, found = (tuned(*extents) for extents in PRODUCTS)
        took = time.perf_counter() - begun
        corrected = found.corrected
        after = (
            "no better by any correction" if corrected is None else f"{corrected:.2f}"
        )
        note = f"{_agreement(found.agreement)}, corrected {after}"
        return Row(self.name, {OURS: Times(took, took)}, note=note)


PRODUCTS = (
    (256, 256, 256),
    (384, 200, 300),
    (512, 512, 128),
    (100, 500, 700),
    (300, 300, 300),
    (200, 600, 150),
)
"""Rows, columns and steps; what the last one's schedules take is foretold."""
WORKERS = {OURS: 2, "one worker": 1}
SPREAD = """
import os, sys, time
import numpy as np
import gpucodegen as gcg
from distributed import Client, LocalCluster

def main(workers):
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count()))
    ends = []
    with LocalCluster(n_workers=workers, threads_per_worker=1,
                      dashboard_address=":0") as cluster:
        with Client(cluster) as client:
            a, b = np.ones((2, 700, 700), "f4")
            points = [(r, c) for r in range(1, 7) for c in (8, 16, 24, 32, 48)]
            gcg.tune(
                sys.argv[2], "f", a, b, np.zeros_like(a), candidates=points,
                executor=client.get_executor(), workers=workers, threads=1,
                isolate=False, budget="1h",
                observe=lambda _: ends.append(time.perf_counter()))
    print(ends[-1] - ends[0])

if __name__ == "__main__":
    main(int(sys.argv[1]))
"""
PRODUCT = """
func.func @f(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>)
                outs(%c : memref<?x?xf32>)
  return
}"""


def _spread(workers: int) -> float:
    """Seconds of the trials by so many workers; a new process starts them."""
    with _empty_cache(), tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "spread.py"
        script.write_text(SPREAD, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, script, str(workers), PRODUCT],
            capture_output=True,
            text=True,
            check=True,
        )
    return float(done.stdout.split()[-1])


LINES = (*_programs(), Taught(), *([Spread()] if find_spec("distributed") else []))
