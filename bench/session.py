"""Tables measured one after the other, each in a process of its own.

Pools of threads read their size when they are loaded, and what one table leaves in
caches and pools must not meet the next.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import machine, report
from bench.ceilings import ceilings
from bench.harness import CLOCKS
from bench.journal import Journal, as_json
from bench.row import Failure, Row, Settings, attempt
from bench.tables import TABLES, lines

POOLS = (
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
)
"""Variables by which the pools of all contenders learn their size."""


def run(tables: Sequence[str], options: Namespace, out: Path | None) -> int:
    """Measure tables and print them; a folder gets the results after each table."""
    counts = options.threads or default_counts()
    print(machine.describe(), flush=True)
    about = {**machine.facts(), "clock": options.clock}
    parts: list[dict[str, Any]] = []
    written: Sequence[Path] = ()
    for part in _parts(tables, counts, options):
        parts.append(part)
        if out is not None:
            written = list(report.write(about | {"tables": parts}, out))
    for path in written:
        print(path)
    return any("reason" in row for part in parts for row in part["rows"])


def default_counts() -> tuple[int, ...]:
    """One thread, and as many as there are cores."""
    return tuple(dict.fromkeys((1, machine.cores())))


def _parts(
    tables: Sequence[str], counts: Sequence[int], options: Namespace
) -> Iterator[dict[str, Any]]:
    for threads in counts:
        for table in tables:
            yield _in_process(table, threads, options)


def _in_process(table: str, threads: int, options: Namespace) -> dict[str, Any]:
    """The rows of one table, measured by a new process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.json"
        command = [sys.executable, "-m", "bench", table, options.name]
        command += ["--threads", str(threads), "--budget", str(options.budget)]
        command += ["--clock", options.clock, "--part", str(path)]
        command += ["--resume", str(options.resume)] if options.resume else []
        pools = dict.fromkeys(POOLS, str(threads))
        subprocess.run(command, env=os.environ | pools, check=False)
        if path.exists():
            return json.loads(path.read_text(encoding="utf-8"))
    lost = Failure(table, "The process that measured this table died")
    return {"table": table, "threads": threads, "rows": [asdict(lost)]}


def part(options: Namespace) -> int:
    """Measure one table in this process, and keep its rows."""
    (threads,) = options.threads
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    settings = Settings(threads, options.budget, CLOCKS[options.clock])
    chosen = lines(options.table, options.name)
    if chosen:
        print(f"\n{TABLES[options.table]}; threads: {threads}")
    journal = Journal(options.resume, options.table, threads)
    measured = (
        journal.row(x.name, lambda x=x: attempt(x.name, lambda: x.measure(settings)))
        for x in chosen
    )
    rows = report.show(measured)
    found: dict[str, Any] = {
        "table": options.table,
        "threads": threads,
        "rows": [as_json(row) for row in rows],
    }
    if any(isinstance(row, Row) and row.ceiling for row in rows):
        found["ceilings"] = ceilings(settings)
    options.part.write_text(json.dumps(found), encoding="utf-8")
    return 0
