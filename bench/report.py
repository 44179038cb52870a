"""Rows as text on the screen, and results as files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bench.roofline import roofline
from bench.row import Failure, Row

HEADER = f"{'program':<38}{'time':>10}{'rate':>16}{'share':>7}  faster than"


def show(rows: Iterable[Row | Failure]) -> list[Row | Failure]:
    """Print rows as they come, and keep them."""
    kept: list[Row | Failure] = []
    for row in rows:
        if not kept:
            print(HEADER)
        print(line(row), flush=True)
        kept.append(row)
    return kept


def line(row: Row | Failure) -> str:
    """One row as text: our best time, and how much faster we are than each peer.

    >>> from bench.harness import Times
    >>> from bench.row import Limit, Work
    >>> times = {"gpucodegen": Times(0.5, 1.0), "NumPy": Times(1.0, 1.0)}
    >>> print(line(Row("p", times, Work(10**9), Limit.FMA, ceiling=4.0)).lstrip("p "))
    500 ms       2.0 GFLOP/s    50%  NumPy 2.00 (1.00)
    """
    if isinstance(row, Failure):
        return f"{row.name:<38}FAILED: {row.reason}"
    rate = f"{row.rate:.1f} {row.limit.value}" if row.rate else ""
    share = f"{row.share:.0%}" if row.share else ""
    peers = "  ".join(
        f"{peer} {best:.2f} ({median:.2f})"
        for peer, (best, median) in row.ratios.items()
    )
    note = f"\n    {row.note}" if row.note else ""
    time = duration(row.ours.best)
    return f"{row.name:<38}{time:>10}{rate:>16}{share:>7}  {peers}{note}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> duration(1.234e-6), duration(0.25), duration(12.3)
    ('1.23 us', '250 ms', '12.3 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def write(results: dict[str, Any], folder: Path) -> Iterator[Path]:
    """The results as JSON, as Markdown and as a roofline plot."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{slug(results['machine']['target'])}-{results['date']}"
    texts = {
        "json": json.dumps(results, indent=1) + "\n",
        "md": markdown(results, f"{name}.svg"),
        "svg": roofline(results),
    }
    for suffix, text in texts.items():
        path = folder / f"{name}.{suffix}"
        path.write_text(text, encoding="utf-8")
        yield path


def slug(text: str) -> str:
    """A part of a file name.

    >>> slug("Ice Lake (server)")
    'ice-lake-server'
    """
    return re.sub(r"\W+", "-", text.lower()).strip("-")


def markdown(results: dict[str, Any], picture: str) -> str:
    """The page of one run: the machine, then a table per subject and thread count."""
    machine, versions = results["machine"], results["versions"]
    caches = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
    listed = ", ".join(f"{name} {number}" for name, number in versions.items())
    given = ", ".join(f"{k}={v}" for k, v in results["environment"].items()) or "-"
    lines = [
        f"# {machine['processor']}, {results['date']}\n",
        f"- {machine['cores']} cores, {machine['vector_bits']}-bit vectors, {caches}",
        f"- {machine['system']}, {listed}",
        f"- Environment: {given}; clock: {results['clock']}\n",
        f"![Roofline]({picture})",
    ]
    for table in results["tables"]:
        if table["rows"]:
            lines += ["", f"## {table['table']}, threads: {table['threads']}\n"]
            lines += _table(table["rows"])
    return "\n".join(lines) + "\n"


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    measured = [row for row in rows if "seconds" in row]
    peers = list(dict.fromkeys(p for row in measured for p in list(row["seconds"])[1:]))
    yield f"| program | time | rate | share | {' | '.join(peers)} |"
    yield f"|---|--:|--:|--:|{'--:|' * len(peers)}"
    for row in rows:
        yield _cells(row, peers)


def _cells(row: dict[str, Any], peers: list[str]) -> str:
    if "reason" in row:
        return f"| {row['name']} | {row['reason']} | | |{' |' * len(peers)}"
    ours, *_ = row["seconds"].values()
    work = row["flops"] if row["unit"] == "GFLOP/s" else row["bytes"]
    rate = work / ours["best"] / 1e9 if row["unit"] else 0.0
    share = f"{rate / row['ceiling']:.0%}" if row["ceiling"] else ""
    cells = [row["name"], duration(ours["best"])]
    cells += [f"{rate:.1f} {row['unit']}" if rate else "", share]
    for peer in peers:
        theirs = row["seconds"].get(peer)
        cells.append(
            f"{theirs['best'] / ours['best']:.2f} "
            f"({theirs['median'] / ours['median']:.2f})"
            if theirs
            else ""
        )
    return f"| {' | '.join(cells)} |"
