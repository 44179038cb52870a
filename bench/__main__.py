"""``python -m bench [cpu|gpu] [NAME]``: tables of programs against their peers."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from bench.harness import show
from bench.machine import describe


def main() -> int:
    """Print a table, and keep it as JSON if asked to."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("device", choices=("cpu", "gpu"), nargs="?", default="cpu")
    parser.add_argument("name", nargs="?", default="", help="part of a program's name")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds per row")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    print(describe())
    if options.device == "gpu":
        from bench import gpu as table
    else:
        from bench import cpu as table
    rows = show(table.rows(options.name, options.budget))
    if options.json:
        kept = {"machine": describe(), "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
