"""``python -m bench [TABLE [NAME]]``: programs against their peers on this machine.

Without a table, or with ``all``, every table is measured, each in a process of its own
for each number of threads, and the results are written to ``--out`` as JSON, Markdown
and a roofline plot.  ``gpu`` is not among them: it is measured in one process, on the
GPU of this machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import session
from bench.harness import CLOCKS
from bench.tables import GPU, TABLES, lines
from gpucodegen.errors import did_you_mean, one_of

RESULTS = Path(__file__).parent / "results"
ALL = "all"


def main() -> int:
    """Print tables; 1 if a line failed."""
    parser = _parser()
    options = parser.parse_args()
    if options.part:
        return session.part(options)
    if options.table in GPU:
        from bench.gpu import session as on_gpu

        return on_gpu.run(options, options.out or RESULTS)
    tables = tuple(TABLES) if options.table == ALL else (options.table,)
    if options.name and not any(lines(table, options.name) for table in tables):
        parser.error(_no_line(tables, options.name))
    out = options.out or (RESULTS if options.table == ALL else None)
    return session.run(tables, options, out)


def _parser() -> argparse.ArgumentParser:
    tables = TABLES | GPU
    known = "\n".join(f"  {name:<13}{what}" for name, what in tables.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=f"{__doc__}\ntables:\n{known}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = (ALL, *tables)
    parser.add_argument("table", choices=names, nargs="?", default=ALL, metavar="TABLE")
    parser.add_argument("name", nargs="?", default="", help="part of the lines' names")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds per line")
    parser.add_argument(
        "--threads", type=_counts, default=None, help="as in 1,2: of every contender"
    )
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--out", type=Path, help="folder for JSON, Markdown and plot")
    parser.add_argument(
        "--resume", type=Path, help="file of rows: those it has are not measured again"
    )
    parser.add_argument("--part", type=Path, help=argparse.SUPPRESS)
    return parser


def _no_line(tables: Sequence[str], name: str) -> str:
    known = [line.name for table in tables for line in lines(table)]
    advice = did_you_mean(name, known, f"There are {one_of(known)}", cutoff=0.4)
    return f"no line has {name!r} in its name. {advice}"


def _counts(text: str) -> tuple[int, ...]:
    counts = tuple(int(part) for part in text.split(","))
    if min(counts) < 1:
        raise argparse.ArgumentTypeError("Pass numbers of at least 1")
    return counts


if __name__ == "__main__":
    sys.exit(main())
