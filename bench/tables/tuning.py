"""Programs of the other tables, tuned, against themselves as they are by default."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import gpucodegen as gcg
from bench.case import Case, copied, restoring
from bench.ceilings import ceiling
from bench.harness import SETTLE, race
from bench.row import OURS, Row, Settings
from gpucodegen.tuning.result import shown

TRIALS = 8
"""Schedules that each tuning times."""
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
        """Tune in an empty cache, check what is stored, and race.

        Where nothing is, both run the same code, and their times show the noise.
        """
        case, clock = self.case, settings.clock
        given = case.arguments(np.random.default_rng(0))
        options: dict[str, Any] = {
            "target": "cpu",
            "threads": settings.threads,
            **case.options,
        }
        with _empty_cache():
            found = gcg.tune(case.source, case.entry, *given, trials=TRIALS, **options)
            arguments = copied(given)
            calls = {
                name: _bound(case, arguments, tuned=tuned, **options)
                for name, tuned in ((OURS, True), ("untuned", False))
            }
        if case.restore:
            clock = restoring(given, [(arguments, c) for c in calls.values()], clock)
        times = race(
            *calls.values(),
            clock=clock,
            budget=settings.budget,
            settle=SETTLE if settings.threads > 1 else 0.0,
        )
        most = ceiling(case.limit, case.dtype, settings)
        named = dict(zip(calls, times, strict=True))
        stored = "default" if found.winner is None else shown(found.winner)
        name = f"{self.name}: {stored}"
        return Row(name, named, case.work, case.limit, case.dtype, most)


def _bound(case: Case, arguments: tuple[Any, ...], **options: Any) -> Any:
    """A call on arrays that both contenders share: where they lie makes a difference.

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


LINES = tuple(_programs())
