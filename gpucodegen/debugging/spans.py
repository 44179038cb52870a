"""Timing spans: a table when the outermost span ends, and a trace file.

The file is in the Trace Event Format: https://docs.google.com/document/d/
1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. Perfetto and Chrome's tracing open it.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from gpucodegen.debugging.levels import Debug, current, show
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A span: start, duration in ``seconds``, and nesting depth ``inside``."""

    name: str
    kind: str
    start: float
    seconds: float
    inside: int


@dataclass(slots=True)
class _Thread(threading.local):
    ended: list[Span] = field(default_factory=list[Span])
    depth: int = 0


_HERE = _Thread()
_TRACED: list[dict[str, object]] = []
"""Events of this process's trace file."""


@contextmanager
def span(name: str, kind: str) -> Generator[None]:
    """Measure a span if timing is enabled."""
    asked = current()
    if not asked.is_timing:
        yield
        return
    start = time.perf_counter()
    _HERE.depth += 1
    try:
        yield
    finally:
        _HERE.depth -= 1
        seconds = time.perf_counter() - start
        _HERE.ended.append(Span(name, kind, start, seconds, _HERE.depth))
        if not _HERE.depth:
            _told(asked, _HERE.ended)
            _HERE.ended.clear()


def _told(asked: Debug, spans: Sequence[Span]) -> None:
    if asked.level >= 2:
        show(table(spans))
    if asked.trace:
        _TRACED.extend(map(_event, spans))
        text = json.dumps({"traceEvents": _TRACED, "displayTimeUnit": "ms"})
        file = asked.trace.replace("{pid}", str(os.getpid()))
        Path(file).write_text(text, encoding="utf-8")


def table(spans: Sequence[Span]) -> str:
    """Times by kind and name, longest first; negligible ones are summed up.

    >>> spans = Span("tile", "pass", 0, 0.25, 1), Span("f", "function", 0, 0.5, 0)
    >>> print(table(spans))
       ms  share  times  what
    500.0   100%      1  function f
    250.0    50%      1  pass tile
    """
    whole = sum(one.seconds for one in spans if not one.inside) or 1.0
    rows: dict[tuple[str, str], list[float]] = {}
    for one in spans:
        rows.setdefault((one.kind, one.name), []).append(one.seconds)
    ordered = sorted(rows.items(), key=lambda row: -sum(row[1]))
    shown = [row for row in ordered if sum(row[1]) >= SHORTEST]
    lines = ["   ms  share  times  what"]
    lines += [
        f"{_ms(sum(times))}  {sum(times) / whole:>4.0%}  {len(times):>5}  {kind} {name}"
        for (kind, name), times in shown
    ]
    left = len(ordered) - len(shown)
    if left:
        lines.append(f"{'':>17}{left} more took less than {SHORTEST * 1e3:g} ms each")
    return "\n".join(lines)


SHORTEST = 1e-3
"""Seconds from which a span has a row of its own."""


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:5.1f}"


def _event(one: Span) -> dict[str, object]:
    """A complete event; times are in microseconds."""
    return {
        "name": one.name,
        "cat": one.kind,
        "ph": "X",
        "ts": one.start * 1e6,
        "dur": one.seconds * 1e6,
        "pid": os.getpid(),
        "tid": threading.get_native_id(),
    }
