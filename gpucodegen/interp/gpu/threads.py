"""Threads of a block: each runs alone until it meets others, who then run in turn."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from gpucodegen import errors
from gpucodegen.dialects.gpu.communication.meetings import WARP
from gpucodegen.ir.operation import Operation

Point = tuple[int, int, int]
"""Along x, y and z."""
STACK = 1 << 20
"""Bytes that the stack of each thread may take."""


class Stopped(Exception):
    """Another thread of the block has failed."""


@dataclass(slots=True, eq=False)
class Thread:
    """Who a thread is, and what it waits for."""

    number: int
    ids: Mapping[str, Point]
    shared: dict[Any, Any]
    values: dict[Any, Any] = field(default_factory=dict[Any, Any])
    waits: tuple[Operation, Any, bool] | None = None
    """The operation, what the thread brings, and whether the warp alone meets."""
    asks: Callable[[], bool] | None = None
    """Whether it may go on, where it waits for others without meeting them."""
    brought: dict[int, Any] = field(default_factory=dict[int, Any])
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    back: threading.Semaphore | None = None
    failure: BaseException | None = None
    stopped: bool = False
    ended: bool = False

    @property
    def lane(self) -> int:
        """Its place in its warp."""
        return self.number % WARP

    @property
    def warp(self) -> int:
        """Its warp in the block."""
        return self.number // WARP

    def meet(self, op: Operation, value: Any, *, of_warp: bool) -> dict[int, Any]:
        """What all that meet have brought, by the numbers of their threads."""
        if self.back is None:
            return {self.number: value}
        self.waits = op, value, of_warp
        self.back.release()
        self.turn.acquire()
        if self.stopped:
            raise Stopped
        return self.brought

    def until(self, op: Operation, over: Callable[[], bool]) -> None:
        """Let others go on until something is so.  Raises BarrierMissed."""
        if self.back is None and not over():
            raise _missed(op, 1, 1)
        while not over():
            self.asks = over
            self.meet(op, None, of_warp=False)


Body = Callable[[Thread], None]


def points(size: Sequence[int]) -> Iterator[Point]:
    """All places, x first.

    >>> list(points((2, 1, 1)))
    [(0, 0, 0), (1, 0, 0)]
    """
    x, y, z = size
    for k, j, i in product(range(z), range(y), range(x)):
        yield i, j, k


def run_block(threads: Sequence[Thread], body: Body, *, meet: bool) -> None:
    """All threads of a block; one after the other, if they never meet."""
    if not meet or len(threads) == 1:
        for thread in threads:
            body(thread)
        return
    before = threading.stack_size(STACK)
    try:
        _in_turn(threads, body)
    finally:
        threading.stack_size(before)


def _in_turn(threads: Sequence[Thread], body: Body) -> None:
    back = threading.Semaphore(0)

    def life(thread: Thread) -> None:
        thread.turn.acquire()
        try:
            if not thread.stopped:
                body(thread)
        except Stopped:
            pass
        except BaseException as failure:  # noqa: BLE001 - raised by the scheduler
            thread.failure = failure
        thread.ended = True
        back.release()

    workers = [threading.Thread(target=life, args=(t,), daemon=True) for t in threads]
    for thread, worker in zip(threads, workers, strict=True):
        thread.back = back
        worker.start()
    try:
        _schedule(threads, back)
    finally:
        for thread, worker in zip(threads, workers, strict=True):
            thread.stopped = True
            thread.turn.release()
            worker.join()


def _schedule(threads: Sequence[Thread], back: threading.Semaphore) -> None:
    """Everyone who can goes on, then those who have met."""
    ready = list(threads)
    while ready:
        for thread in ready:
            thread.waits = thread.asks = None
            thread.turn.release()
            back.acquire()
            if thread.failure is not None:
                raise thread.failure
        ready = _released(threads)


def _released(threads: Sequence[Thread]) -> list[Thread]:
    """Those who have met: warps first.  Raises BarrierMissed."""
    waiting = [t for t in threads if not t.ended]
    free = [t for t in waiting if t.asks is not None and t.asks()]
    if free:
        return free
    waiting = [t for t in waiting if t.asks is None] or waiting
    groups: dict[tuple[int, Operation], list[Thread]] = defaultdict(list)
    for thread in waiting:
        assert thread.waits is not None
        op, _, of_warp = thread.waits
        if of_warp:
            groups[thread.warp, op].append(thread)
    if not groups and waiting:
        groups[0, _common(threads, waiting)] = waiting
    for group in groups.values():
        brought = {t.number: t.waits[1] for t in group if t.waits is not None}
        for thread in group:
            thread.brought = brought
    return [thread for group in groups.values() for thread in group]


def _common(threads: Sequence[Thread], waiting: Sequence[Thread]) -> Operation:
    """The operation at which a whole block meets."""
    places = {t.waits[0] for t in waiting if t.waits is not None}
    op = next(iter(places))
    if any(t.asks is not None for t in waiting):
        raise _missed(op, len(waiting), len(threads))
    kinds = {place.name for place in places}
    is_plain = kinds <= {"gpu.barrier", "nvvm.barrier0", "nvvm.barrier"}
    if len(waiting) != len(threads) or (len(places) > 1 and not is_plain):
        raise _missed(op, len(waiting), len(threads))
    return op


def _missed(op: Operation, waiting: int, count: int) -> errors.BarrierMissed:
    return errors.BarrierMissed(
        op.location, waiting=waiting, count=count, operation=op.name
    )
