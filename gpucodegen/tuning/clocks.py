"""Clocks for calls on host and GPU, and rotation of arguments past the caches.

On the host the wall clock runs, and arguments are rotated past the last-level cache;
calls on CuPy arrays are timed by events of the current stream, and rotated past twice
the L2 cache. A short kernel ends before the host has queued the next one, so the device
is held until the host has queued all calls: otherwise host time would be measured. A
`Rotation` has sets of arguments with equal layouts, taken in turn, so that none is
found in a cache.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any

from gpucodegen.records import dataclass
from gpucodegen.tuning.arguments import copied

MOST_SETS = 256
"""The most sets: with small arguments they do not exceed a large cache."""
SHARE_OF_MEMORY = 0.25
"""Part of the memory that is free which all sets together may take."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """The arguments of a call, and sets of copies in memory of their own.

    >>> import numpy as np
    >>> rotation = Rotation.of([np.ones(1024), 3], 1 << 16)
    >>> len(rotation.sets), rotation.sets[0][1]
    (9, 3)
    >>> rotation.sets[8][0][:] = 7
    >>> rotation.reset()
    >>> int(rotation.sets[8][0].sum())
    1024
    """

    arguments: Sequence[Any]
    sets: tuple[tuple[Any, ...], ...]

    @staticmethod
    def of(arguments: Sequence[Any], cache: int) -> Rotation:
        """Sets whose arrays together exceed ``cache`` bytes, as far as memory allows.

        One set where ``cache`` is 0.
        """
        size = max(1, sum(getattr(one, "nbytes", 0) for one in arguments))
        room = int(SHARE_OF_MEMORY * _free_memory()) // size
        count = max(1, min(cache // size + 1 if cache else 1, room, MOST_SETS))
        return Rotation(
            arguments, tuple(tuple(map(copied, arguments)) for _ in range(count))
        )

    def reset(self, count: int | None = None) -> None:
        """Restores the first contents of sets; the last one is then nearest in caches.

        ``count``: only that many sets.
        """
        for copies in self.sets[:count]:
            for copy, argument in zip(copies, self.arguments, strict=True):
                if copy is not argument:
                    copy[...] = argument

    def changed(self, position: int) -> bool:
        """Whether a call may change the argument at a position."""
        return self.sets[0][position] is not self.arguments[position]


def _free_memory() -> int:
    """Free memory in bytes, as the system reports it; a large number otherwise."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 33


HOLD = r"""
extern "C" __global__ void hold(long long nanoseconds) {
    long long now, end;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    for (end = now + nanoseconds; now < end;)
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
}
"""
"""A kernel that keeps the device waiting while the host queues what is timed."""
SHORTEST, LONGEST = 1e-4, 0.05
"""The least and most seconds that it waits."""


@dataclass(slots=True)
class DeviceClock:
    """Times calls on the current stream of CuPy's current device by two events.

    ``held``: seconds to hold the device; the last call determines them. A call that
    waits for the device is timed as it is.
    """

    cupy: Any
    held: float = SHORTEST
    hold: Any = field(init=False, default=None)

    def __call__(self, call: Callable[[], object]) -> float:
        """Seconds of the device for a call."""
        while True:
            seconds, taken = self._timed(call)
            if taken < self.held or self.held >= LONGEST:
                break
            self.held = min(2 * taken, LONGEST)
        self.held = min(max(2 * taken, SHORTEST), LONGEST)
        return seconds

    def _timed(self, call: Callable[[], object]) -> tuple[float, float]:
        """Seconds of the device, and seconds of the host to queue the call."""
        self.hold = self.hold or self.cupy.RawKernel(HOLD, "hold")
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        self.hold((1,), (1,), (int(self.held * 1e9),))
        start.record()
        before = time.perf_counter()
        call()
        taken = time.perf_counter() - before
        end.record()
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(start, end) / 1e3, taken


Clock = Callable[[Callable[[], object]], float]
"""Runs a call once and returns its seconds."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A clock, and the bytes of arguments that exceed the caches."""

    clock: Clock
    cache: int

    @staticmethod
    def of(arguments: Sequence[Any], target: str) -> Watch:
        """The watch for the arrays of a call and its target.

        >>> Watch.of([], "sim").cache, Watch.of([], "cpu").cache > 0
        (0, True)
        """
        from gpucodegen.compiling.targets.registry import find
        from gpucodegen.runtime.processor import cpu

        if any(type(one).__module__.startswith("cupy") for one in arguments):
            cupy = import_module("cupy")
            properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
            return Watch(DeviceClock(cupy), 2 * int(properties["l2CacheSize"]))
        if find(target).has_own_memory:  # each call copies them there
            return Watch(wall, 0)
        caches = cpu().caches
        return Watch(wall, max(caches.shared, caches.second))


def wall(call: Callable[[], object]) -> float:
    """Seconds of the wall clock."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
