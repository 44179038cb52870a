"""Rows of a GPU as text on the screen, and results as files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.gpu.measuring import Check, Lost, Measured
from bench.report import duration, slug
from bench.row import OURS

Row = Measured | Lost


def line(row: Row) -> str:
    """One row as text: our best time, the estimate's part of it, and how much faster.

    >>> from bench.harness import Times
    >>> times = {OURS: Times(2e-3, 3e-3), "cuBLAS": Times(1e-3, 3e-3)}
    >>> print(line(Measured("mm", "product", 4 * 10**9, 0, times, 1e-3)).lstrip("m "))
    2 ms  2.0 TFLOP/s  estimate 1 ms  cuBLAS 0.50 (1.00)
    """
    if isinstance(row, Lost):
        return f"{row.name:<22}FAILED: {row.reason}"
    ours = row.seconds[OURS]
    parts = [f"{row.name:<22}{duration(ours.best):>9}", rate(row)]
    if row.estimate:
        parts.append(f"estimate {duration(row.estimate)}")
    parts += [
        f"{peer} {best:.2f} ({middle:.2f})"
        for peer, (best, middle) in ratios(row).items()
    ]
    parts += [f"{peer}: {reason}" for peer, reason in row.left_out.items()]
    return "  ".join(parts)


def rate(row: Measured) -> str:
    """What we do a second at our best."""
    seconds = row.seconds[OURS].best
    if row.kind in ("product", "convolution") and row.flops:
        return f"{row.flops / seconds / 1e12:.1f} TFLOP/s"
    return f"{row.bytes / seconds / 1e9:.0f} GB/s" if row.bytes else ""


def ratios(row: Measured) -> dict[str, tuple[float, float]]:
    """Best and median time of every peer over ours: above 1 we are faster."""
    ours = row.seconds[OURS]
    return {
        name: (times.best / ours.best, times.median / ours.median)
        for name, times in row.seconds.items()
        if name != OURS
    }


def write(
    about: Mapping[str, Any],
    checks: Sequence[Check],
    rows: Sequence[Row],
    classes: Mapping[str, Mapping[str, float]],
    folder: Path,
) -> Iterator[Path]:
    """The results as JSON and as Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{slug(about['device']['device'])}-{about['date']}"
    found = {
        **about,
        "checks": [asdict(check) for check in checks],
        "rows": [asdict(row) for row in rows],
        "calibration": classes,
    }
    texts = {
        "json": json.dumps(found, indent=1) + "\n",
        "md": "\n".join(markdown(about, checks, rows, classes)) + "\n",
    }
    for suffix, text in texts.items():
        path = folder / f"{name}.{suffix}"
        path.write_text(text, encoding="utf-8")
        yield path


def markdown(
    about: Mapping[str, Any],
    checks: Sequence[Check],
    rows: Sequence[Row],
    classes: Mapping[str, Mapping[str, float]],
) -> Iterator[str]:
    """The page of one run."""
    yield f"# {about['device']['device']}, {about['date']}\n"
    for facts in (about["device"], about["versions"]):
        yield "- " + ", ".join(f"{name} {value}" for name, value in facts.items())
    wrong = [check for check in checks if check.reason]
    yield f"- {len(checks) - len(wrong)} of {len(checks)} programs are right\n"
    yield from (f"- {check.name}: {check.reason}" for check in wrong)
    yield "\n## Kernels\n"
    yield "Peers: their best (median) time over ours.\n"
    yield "| kernel | time | rate | estimate | peers |"
    yield "|---|--:|--:|--:|---|"
    yield from map(_cells, rows)
    yield "\n## Time over estimate, by kind\n"
    yield "| kind | median | kernels |"
    yield "|---|--:|--:|"
    for kind, found in classes.items():
        yield f"| {kind} | {found['ratio']:.2f} | {found['rows']:.0f} |"


def _cells(row: Row) -> str:
    if isinstance(row, Lost):
        return f"| {row.name} | failed: {row.reason} | | | |"
    peers = [
        f"{name} {best:.2f} ({middle:.2f})"
        for name, (best, middle) in ratios(row).items()
    ]
    peers += [f"{name}: {reason}" for name, reason in row.left_out.items()]
    estimate = duration(row.estimate) if row.estimate else ""
    time = duration(row.seconds[OURS].best)
    return f"| {row.name} | {time} | {rate(row)} | {estimate} | {', '.join(peers)} |"
