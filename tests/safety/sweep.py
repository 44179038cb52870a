"""Runs made programs in processes that may die, and counts what became of them.

``python -m tests.safety.sweep FIRST COUNT`` prints each failure, and the counts.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator

from .programs import made

LIFE = 150
"""Programs after which a process has compiled enough."""


def verdicts(seeds: Iterable[int]) -> Iterator[tuple[int, str]]:
    """What became of the program of each seed; a process that dies is started again."""
    process: subprocess.Popen[str] | None = None
    for number, seed in enumerate(seeds):
        if process is None or number % LIFE == 0:
            _end(process)
            process = _start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{seed}\n")
        process.stdin.flush()
        answer = process.stdout.readline().rstrip("\n")
        if not answer:
            answer = f"crashed with {process.wait()}"
            process = None
        yield seed, answer
    _end(process)


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.safety.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _end(process: subprocess.Popen[str] | None) -> None:
    if process is not None:
        process.communicate()


def main(first: int, count: int) -> None:
    """Print each failure, and at the end how many programs ended how."""
    counts = Counter[str]()
    for seed, found in verdicts(range(first, first + count)):
        counts[found.partition(":")[0]] += 1
        if found not in ("right", "refused"):
            sys.stdout.write(f"{seed} {made(seed).kind}: {found}\n")
        if not sum(counts.values()) % LIFE or sum(counts.values()) == count:
            sys.stdout.write(f"{dict(counts)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
