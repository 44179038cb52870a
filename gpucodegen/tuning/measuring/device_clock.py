"""Seconds that a GPU takes for calls, without what the host takes to ask for them.

A short kernel is over before the host has queued the next one, so between two events
the device would mostly wait.  Here the device is held until the host has queued all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

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
"""Seconds that it waits at least and at most."""


@dataclass(slots=True)
class DeviceClock:
    """Times calls on the current stream of CuPy's current device by two events.

    ``held``: seconds that the device is to be held; those that the last call asks for.
    A call that waits for the device is timed as it is.
    """

    cupy: Any
    held: float = SHORTEST
    hold: Any = field(init=False, default=None)

    def __call__(self, call: Callable[[], object]) -> float:
        """Seconds of the device in a call."""
        while True:
            seconds, taken = self._timed(call)
            if taken < self.held or self.held >= LONGEST:
                break
            self.held = min(2 * taken, LONGEST)
        self.held = min(max(2 * taken, SHORTEST), LONGEST)
        return seconds

    def _timed(self, call: Callable[[], object]) -> tuple[float, float]:
        """Seconds of the device, and those of the host to queue the call."""
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
