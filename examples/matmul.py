"""The main job: a matrix product written as MLIR text, proven, compiled and measured.

Reads ``matmul.mlir`` beside this file, prints what the analysis proves, checks the
compiled program against NumPy in float64 and times it against NumPy in turn, so that
both see the same machine.
"""

from __future__ import annotations

import platform
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import gpucodegen as gcg

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 1024
ROUNDS = 10
GROUP = 5
PAUSE = 0.25


def main() -> int:
    """Run the job; the exit status is 1 if the result is wrong."""
    path = Path(__file__).with_name("matmul.mlir")
    text = path.read_text(encoding="utf-8")
    print(gcg.analyze(gcg.parse(text, filename=str(path))))

    rng = np.random.default_rng(0)
    a = rng.standard_normal((SIZE, SIZE), dtype=np.float32)
    b = rng.standard_normal((SIZE, SIZE), dtype=np.float32)
    c = np.zeros((SIZE, SIZE), dtype=np.float32)

    start = time.perf_counter()
    program = gcg.compile(path, target="cpu")
    program.matmul(a, b, c)
    print(f"text to first result: {time.perf_counter() - start:.2f} s")

    reference = a.astype(np.float64) @ b.astype(np.float64)
    error = float(np.abs(c - reference).max() / np.abs(reference).max())
    print(f"largest error against NumPy float64: {error:.1e} of the largest value")

    ours, theirs = race(program.matmul.bind(a, b, c), lambda: np.matmul(a, b, out=c))
    print(f"Python {platform.python_version()}, NumPy {np.__version__}")
    print(
        f"f32 {SIZE}^3, NumPy time / gpucodegen time: "
        f"best {min(theirs) / min(ours):.2f}, "
        f"median {statistics.median(theirs) / statistics.median(ours):.2f} "
        f"({2 * SIZE**3 / min(ours) / 1e9:.0f} GFLOP/s)"
    )
    return 0 if error < 1e-5 else 1


def race(
    first: Callable[[], object], second: Callable[[], object]
) -> tuple[list[float], list[float]]:
    """Seconds of calls in alternating groups.

    Both libraries keep threads that spin for a while after a call; each group begins
    when the other's have gone to sleep, with one call that is not counted.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for call, seconds in zip((first, second), times, strict=True):
            time.sleep(PAUSE)
            call()
            for _ in range(GROUP):
                start = time.perf_counter()
                call()
                seconds.append(time.perf_counter() - start)
    return times


if __name__ == "__main__":
    sys.exit(main())
