"""What times calls, and how much memory makes their arguments' caches forget them.

Comes in: the arguments of a call.  On the host the wall clock runs, and arguments are
rotated past the last cache; arrays of CuPy are timed by events of its current stream
while the host is ahead, and rotated past twice the L2 cache of its device.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from gpucodegen.tuning.measuring.device_clock import DeviceClock

Clock = Callable[[Callable[[], object]], float]
"""Runs a call once and tells the seconds it takes."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A clock, and bytes of arguments that a call finds in no cache."""

    clock: Clock
    cache: int

    @staticmethod
    def of(arguments: Sequence[Any], target: str) -> Watch:
        """What fits the arrays of a call and its target.

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
