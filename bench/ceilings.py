"""What the machine can do at best: measured, not looked up.

Comes in: a limit, an element type, a number of threads.  Goes out: the most
multiply-adds per second that a kernel without memory reaches, or the most bytes per
second that copies of arrays beyond all caches move (read and write counted once each).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import gpucodegen as gcg
from bench.harness import SETTLE, Clock, settled
from bench.row import Limit, Settings
from gpucodegen.report.plots.roofline import COPY, TYPES, chained_work, chains

COPIED = 1 << 28
"""Bytes of each array of a copy."""
ROUNDS = 9


def ceiling(limit: Limit, dtype: str, settings: Settings) -> float:
    """GFLOP/s or GB/s that this machine was measured to reach; 0 without a limit."""
    if limit is Limit.FMA:
        return peak(dtype, settings) if dtype in TYPES else 0.0
    return bandwidth(settings) if limit is Limit.COPY else 0.0


def ceilings(settings: Settings) -> dict[str, float]:
    """All of them: GFLOP/s by element type, and GB/s of a ``copy``."""
    found = {dtype: peak(dtype, settings) for dtype in TYPES}
    return found | {"copy": bandwidth(settings)}


@cache
def peak(dtype: str, settings: Settings) -> float:
    """GFLOP/s of multiply-adds in registers."""
    threads = settings.threads
    program = gcg.compile(chains(dtype, threads), target="cpu", threads=threads)
    source = np.full(128, 0.5, TYPES[dtype])
    launch = program.chains.bind(source, np.empty((threads, 128), TYPES[dtype]))
    return chained_work(dtype, threads) / _best(launch, settings.clock) / 1e9


@cache
def bandwidth(settings: Settings) -> float:
    """GB/s of the fastest copy of long arrays among ours, NumPy's and torch's."""
    source = np.ones(COPIED // 4, np.float32)
    target = np.zeros_like(source)
    program = gcg.compile(COPY, target="cpu", threads=settings.threads)
    contenders: list[Callable[[], object]] = [
        program.copy.bind(source, target),
        lambda: np.copyto(target, source),
    ]
    if find_spec("torch") is not None:
        torch: Any = import_module("torch")
        theirs, result = torch.from_numpy(source), torch.from_numpy(target)
        contenders.append(lambda: result.copy_(theirs))
    fastest = min(_best(call, settings.clock) for call in contenders)
    return 2 * COPIED / fastest / 1e9


def _best(call: Callable[[], object], clock: Clock) -> float:
    """Seconds of the fastest call of some turns."""
    call()
    return min(min(settled(call, clock, SETTLE)) for _ in range(ROUNDS))
