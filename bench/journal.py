"""Rows as JSON, and a file of them from which an interrupted run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.harness import Times
from bench.row import Failure, Limit, Row, Work


@dataclass(frozen=True, slots=True)
class Journal:
    """The rows that an earlier run measured, a line each; those of one table count.

    ``path``: None for a run that keeps nothing.  Lines that failed are measured again.
    """

    path: Path | None
    table: str
    threads: int

    def row(self, name: str, measure: Callable[[], Row | Failure]) -> Row | Failure:
        """The row of a line: the one that is known, or one that is kept from now on."""
        known = next((r for place, r in self._lines() if place == self._at(name)), None)
        if known is not None:
            return from_json(known)
        made = measure()
        if self.path is not None and isinstance(made, Row):
            with self.path.open("a", encoding="utf-8") as file:
                text = json.dumps([*self._at(name), as_json(made)])
                file.write(f"\n{text}\n")  # what is there may end in half a line
        return made

    def _at(self, name: str) -> tuple[str, int, str]:
        return self.table, self.threads, name

    def _lines(self) -> Iterator[tuple[tuple[str, int, str], dict[str, Any]]]:
        """What the file has; its last line may be half written."""
        if self.path is None or not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                table, threads, name, row = json.loads(line)
            except ValueError:
                continue
            yield (table, threads, name), row


def as_json(row: Row | Failure) -> dict[str, Any]:
    """A row as it is kept.

    >>> as_json(Failure("matmul", "no memory"))
    {'name': 'matmul', 'reason': 'no memory'}
    """
    if isinstance(row, Failure):
        return asdict(row)
    return {
        "name": row.name,
        "dtype": row.dtype,
        "unit": row.limit.value,
        "flops": row.work.flops,
        "bytes": row.work.bytes,
        "ceiling": row.ceiling,
        "seconds": {name: asdict(times) for name, times in row.times.items()},
        **({"note": row.note} if row.note else {}),
    }


def from_json(kept: dict[str, Any]) -> Row:
    """A row again.

    >>> row = Row("p", {"gpucodegen": Times(1.0, 2.0)}, Work(3, 4), Limit.FMA, note="n")
    >>> from_json(as_json(row)) == row
    True
    """
    return Row(
        kept["name"],
        {name: Times(**times) for name, times in kept["seconds"].items()},
        Work(kept["flops"], kept["bytes"]),
        Limit(kept["unit"]),
        kept["dtype"],
        kept["ceiling"],
        kept.get("note", ""),
    )
