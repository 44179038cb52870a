"""``python -m bench [cpu|gpu|polybench] [NAME]``: programs against their peers."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from bench.harness import Failure, show
from bench.machine import describe

TABLES = ("cpu", "gpu", "polybench")
POOLS = (
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
)


def main() -> int:
    """Print a table, and keep it as JSON if asked to; 1 if a row failed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("table", choices=TABLES, nargs="?", default=TABLES[0])
    parser.add_argument("name", nargs="?", default="", help="part of a program's name")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds per row")
    parser.add_argument("--threads", type=int, help="threads of both contenders")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    if options.threads:
        # Pools read their size when they are loaded, which the table does below.
        os.environ |= dict.fromkeys(POOLS, str(options.threads))
    print(describe())
    table = import_module(f"bench.{options.table}")
    rows = show(table.rows(options.name, options.budget))
    if options.json:
        kept = {"machine": describe(), "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    return any(isinstance(row, Failure) for row in rows)


if __name__ == "__main__":
    sys.exit(main())
