"""Streams and events of an emulated device, and races between streams.

Every operation runs at once: one of the orders that streams allow. The other orders
give the same result unless two operations touch the same bytes, one of them writes, and
neither a stream nor an event orders them; such pairs are errors.  Each stream has a
vector clock: how many operations of every stream precede its next one.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from typing import Any, NamedTuple, Self
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from gpucodegen import errors
from gpucodegen.records import dataclass
from gpucodegen.runtime.devices.protocol import stream_pointer

Clock = dict[int, int]
"""The number of operations of each stream that precede an operation."""
Runs = npt.NDArray[np.int64]
"""Ranges of memory in order: each row holds the first address and the end."""
REMEMBERED = 512
"""The latest unsynchronised operations, with which later ones are compared."""


class Operation(NamedTuple):
    """The bytes that an operation reads and writes, and its place in its stream."""

    name: str
    stream: int
    time: int
    reads: Runs
    writes: Runs

    def clashes(self, other: Operation) -> bool:
        """Whether both touch a byte and one of them writes it."""
        return (
            _meet(self.writes, other.writes)
            or _meet(self.writes, other.reads)
            or _meet(self.reads, other.writes)
        )


@dataclass(frozen=True, slots=True)
class EmulatedEvent:
    """A point in the order of a stream."""

    stream: EmulatedStream
    clock: Clock

    @property
    def done(self) -> bool:
        """True: operations are done when they are issued."""
        return True

    def synchronize(self) -> None:
        """Orders all later operations after it."""
        self.stream.streams.wait(self.clock)


@dataclass(eq=False, slots=True, weakref_slot=True)
class EmulatedStream:
    """Operations in order; stream 0 is the default one.

    The default stream is ordered with every stream that is not ``non_blocking``.
    """

    streams: Streams
    ptr: int
    non_blocking: bool = False

    def record(self) -> EmulatedEvent:
        """An event behind the operations so far."""
        return EmulatedEvent(self, dict(self.streams.before(self)))

    def wait_event(self, event: EmulatedEvent) -> None:
        """Orders later operations after an event."""
        _join(self.streams.before(self), event.clock)

    def synchronize(self) -> None:
        """Orders later operations of all streams after those so far."""
        self.streams.wait(self.streams.before(self))

    def __enter__(self) -> Self:
        self.streams.entered.stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.streams.entered.stack.pop()

    def __del__(self) -> None:
        self.streams.forget(self)


class Entered(local):
    """The stack of streams that a thread has made current."""

    def __init__(self) -> None:
        self.stack: list[EmulatedStream] = []


class Streams:
    """The streams of one device; ``raise_fault`` raises its kept fault."""

    def __init__(self, name: str, raise_fault: Callable[[], None]) -> None:
        self.name, self._raise_fault = name, raise_fault
        self._known: WeakValueDictionary[int, EmulatedStream] = WeakValueDictionary()
        self._clocks: dict[int, Clock] = {}
        self._gone: dict[bool, Clock] = {False: {}, True: {}}
        self._waited: Clock = {}
        self._past: list[Operation] = []
        self.entered = Entered()
        self._last = 0
        self.default = self._added(0)

    @property
    def current(self) -> EmulatedStream:
        """The current stream of the thread."""
        stack = self.entered.stack
        return stack[-1] if stack else self.default

    def new(self, *, non_blocking: bool = False) -> EmulatedStream:
        self._last += 1
        return self._added(self._last, non_blocking)

    def _added(self, ptr: int, non_blocking: bool = False) -> EmulatedStream:
        made = self._known[ptr] = EmulatedStream(self, ptr, non_blocking)
        self._clocks[ptr] = {}
        return made

    def meant(self, given: object) -> EmulatedStream:
        """The stream that a caller names.  Raises UnknownStream."""
        pointer = stream_pointer(given)
        found = None if pointer is None else self._known.get(pointer)
        if found is None or (isinstance(given, EmulatedStream) and given is not found):
            raise errors.UnknownStream(given=repr(given)[:60], device=self.name)
        return found

    def forget(self, stream: EmulatedStream) -> None:
        """Removes a dead stream; its operations stay pending."""
        _join(self._gone[stream.non_blocking], self._clocks.pop(stream.ptr, {}))

    @property
    def is_one(self) -> bool:
        """Whether only the default stream is used, which orders everything."""
        return len(self._clocks) == 1 and all(p.stream == 0 for p in self._past)

    def before(self, stream: EmulatedStream) -> Clock:
        """The clock of the operations before the next one of a stream."""
        clock = self._clocks[stream.ptr]
        _join(clock, self._waited)
        if stream.ptr == 0:
            _join(clock, self._gone[False])
        for other in list(self._known.values()):
            pair = (stream, other) if stream.ptr == 0 else (other, stream)
            if pair[0].ptr == 0 and not pair[1].non_blocking:
                _join(clock, self._clocks[other.ptr])
        return clock

    def wait(self, clock: Clock | None = None) -> None:
        """Orders all later operations after this clock, or after everything so far."""
        every = [*self._clocks.values(), *self._gone.values()]
        for each in every if clock is None else [clock]:
            _join(self._waited, each)
        if clock is None:
            self._gone = {False: {}, True: {}}
        waited = self._waited
        self._past = [p for p in self._past if waited.get(p.stream, 0) < p.time]
        self._raise_fault()

    def note(
        self, name: str, reads: Runs, writes: Runs, stream: EmulatedStream | None = None
    ) -> errors.UnorderedStreams | None:
        """Records an operation of a stream; returns an error if its order is open."""
        stream = stream or self.current
        clock = self.before(stream)
        clock[stream.ptr] = time = clock.get(stream.ptr, 0) + 1
        new = Operation(name, stream.ptr, time, reads, writes)
        open_order = (p for p in self._past if clock.get(p.stream, 0) < p.time)
        other = next((p for p in open_order if p.clashes(new)), None)
        self._past = [*self._past[1 - REMEMBERED :], new]
        if other is None:
            return None
        return errors.UnorderedStreams(
            one=f"{other.name} on stream {other.stream}",
            other=f"{name} on stream {stream.ptr}",
            device=self.name,
        )


def _join(clock: Clock, other: Clock) -> None:
    for stream, time in other.items():
        if clock.get(stream, 0) < time:
            clock[stream] = time


CHUNK = 1 << 22
"""Cells that are looked at together: most of a large array is not touched at all."""
NOTHING: Runs = np.zeros((0, 2), np.int64)


def runs(touched: npt.NDArray[Any], start: int, size: int = 1) -> Runs:
    """Runs of touched cells of ``size`` bytes, as address ranges.

    >>> runs(np.array([0, 1, 1, 0, 1], bool), 100, 4).tolist()
    [[104, 112], [116, 120]]
    """
    found = [NOTHING]
    for first in range(0, len(touched), CHUNK):
        part = touched[first : first + CHUNK]
        if part.any():
            padded = np.zeros(len(part) + 2, np.int8)
            padded[1:-1] = part
            edges = first + np.flatnonzero(np.diff(padded))
            found.append(start + size * edges.reshape(-1, 2))
    return np.concatenate(found)


def _meet(one: Runs, other: Runs) -> bool:
    """Whether two lists of ranges have a byte in common."""
    if not len(one) or not len(other):
        return False
    after = np.searchsorted(one[:, 1], other[:, 0], "right")
    found = after < len(one)
    return bool((one[after[found], 0] < other[found, 1]).any())
