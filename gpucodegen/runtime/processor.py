"""The processor that programs run on: its vectors, caches and threads.

Nothing heavy at import.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SECOND = 1 << 20
FIRST = 1 << 15
"""Bytes of caches that nobody tells the size of."""
THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")
"""Variables that say on how many threads programs run; the first that is set does."""


@dataclass(frozen=True, slots=True)
class Caches:
    """Bytes of the caches of data: two levels of a core, and that which cores share."""

    first: int = FIRST
    second: int = SECOND
    shared: int = 0


@dataclass(frozen=True, slots=True)
class Cpu:
    """The processor as Numba compiles for it.

    ``word_parts``: bits of the narrowest integers that are multiplied several in a word
    of 32 bits.
    """

    name: str
    features: frozenset[str]
    vector_bits: int
    vector_registers: int
    word_parts: int
    caches: Caches
    threads: int

    def __str__(self) -> str:
        return (
            f"{self.name}, {self.vector_registers} vector registers of"
            f" {self.vector_bits} bits, {self.threads} threads"
        )


@cache
def cpu() -> Cpu:
    """The host's processor."""
    from gpucodegen.intrinsics.host import cpu_features, cpu_name, register_bytes
    from gpucodegen.intrinsics.words import word_parts

    features = cpu_features()
    many = "avx512f" in features or "neon" in features
    return Cpu(
        cpu_name(),
        features,
        8 * register_bytes(),
        32 if many else 16,
        word_parts(),
        caches(),
        thread_count(),
    )


def host_name() -> str:
    """The processor and its vector width, for keys of what was measured here."""
    host = cpu()
    return f"{host.name}-{host.vector_bits}x{host.threads}"


@cache
def caches() -> Caches:
    """Sizes that the system tells, else usual ones; no shared cache where it does not.

    >>> 0 < caches().first < caches().second
    True
    """
    data, second, shared = map(_cache_bytes, (0, 2, 3))
    return Caches(data or FIRST, second or SECOND, shared)


def _cache_bytes(index: int) -> int:
    """Of the caches as Linux counts them: data, instructions, then the other levels."""
    with suppress(OSError, ValueError):
        place = Path(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size")
        return int(place.read_text("ascii").strip().removesuffix("K")) << 10
    return 0


def thread_count() -> int:
    """Threads that a parallel kernel runs on, unless a program asks for others."""
    for name in THREADS:
        chosen = os.environ.get(name, "").partition(",")[0].strip()
        if chosen.isdigit() and int(chosen) > 0:
            return int(chosen)
    return processors()


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
