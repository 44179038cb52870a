"""The emulated GPU: which thread runs, its memory, and who touched which element.

Blocks run one after another and the threads of a block in turns from barrier to
barrier, so a *phase* is what lies between two barriers.  Two accesses of one element,
one of them a write, race if they come from different threads in one phase, or from
different blocks.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, NoReturn

import numpy as np

from gpucodegen import errors
from gpucodegen.intrinsics.sim.transfers import Transfers

Triple = tuple[int, int, int]


@dataclass(slots=True)
class Dim3:
    """``threadIdx`` and its like."""

    x: int = 0
    y: int = 0
    z: int = 0

    def __str__(self) -> str:
        return f"({self.x}, {self.y}, {self.z})"


class _Cuda:
    """The name ``cuda`` in a kernel."""

    __slots__ = ("blockDim", "blockIdx", "gridDim", "threadIdx")

    def __init__(self) -> None:
        self.threadIdx = self.blockIdx = Dim3()
        self.blockDim = self.gridDim = Dim3(1, 1, 1)

    def syncthreads(self) -> NoReturn:
        """A barrier below a kernel's own statements, which cannot pause the thread."""
        raise errors.DivergentBarrier(
            block=self.blockIdx, problem="a barrier is hidden in a function"
        )


cuda = _Cuda()


@dataclass(slots=True)
class Touch:
    """The accesses of one element that a later access may conflict with.

    Numbers are stamps: phase times threads plus thread.  ``other`` is a second reader
    that differs from ``reader`` in its block, or else in its thread.
    """

    writer: int = -1
    reader: int = -1
    other: int = -1


@dataclass(slots=True)
class Machine:
    """One running kernel."""

    block: Triple = (1, 1, 1)
    threads: int = 1
    thread: int = 0
    phase: int = 0
    first_phase: int = 0
    """The first phase of the running block."""
    touched: dict[int, Touch] = field(default_factory=dict)
    """By address, in global memory."""
    shared: list[Memory] = field(default_factory=list)
    allocations: list[int] = field(default_factory=list)
    """How many shared arrays each thread has named."""
    transfers: Transfers = field(default_factory=Transfers)
    blocks: list[str] = field(default_factory=list)
    block_starts: list[int] = field(default_factory=list)

    def conflicts(self, stamp: int) -> bool:
        """Whether an earlier access is unordered with one by the running thread."""
        if stamp < 0:
            return False
        phase, thread = divmod(stamp, self.threads)
        if phase < self.first_phase:
            return True
        return phase == self.phase and thread != self.thread

    def name(self, stamp: int) -> str:
        """The thread that left a stamp."""
        phase, number = divmod(stamp, self.threads)
        width, height, _ = self.block
        z, rest = divmod(number, width * height)
        y, x = divmod(rest, width)
        if phase >= self.first_phase:
            return f"thread ({x}, {y}, {z})"
        from bisect import bisect_right

        block = self.blocks[bisect_right(self.block_starts, phase) - 1]
        return f"thread ({x}, {y}, {z}) of block {block}"

    def begin_block(self, index: Dim3) -> None:
        """Fresh shared memory, and a phase that no earlier access shares."""
        self.shared.clear()
        self.allocations = [0] * self.threads
        self.phase += 1
        self.first_phase = self.phase
        self.blocks.append(str(index))
        self.block_starts.append(self.phase)

    def barrier(self) -> None:
        """All threads have met: transfers that all waited for become visible."""
        self.transfers.complete(self.threads)
        self.phase += 1


machine = Machine()
"""The running kernel; `running` replaces it."""

_LOCK = RLock()


@contextmanager
def running(block: Triple, grid: Triple) -> Generator[Machine]:
    """A fresh machine for one launch; launches do not overlap."""
    global machine  # noqa: PLW0603 - the intrinsics of this face have no argument for it
    with _LOCK, np.errstate(all="ignore"):
        previous, machine = machine, Machine(block, block[0] * block[1] * block[2])
        cuda.blockDim, cuda.gridDim = Dim3(*block), Dim3(*grid)
        try:
            yield machine
        finally:
            machine = previous


class Memory:
    """Elements in a row with a name, bounds and a record of who touched them.

    ``space`` is "global", "shared" or "private"; only the first two are watched.
    """

    __slots__ = ("address", "cells", "name", "origin", "size", "space", "touched")

    def __init__(
        self, cells: np.ndarray, name: str, space: str, origin: int | None = None
    ) -> None:
        self.cells = cells
        self.name = name
        self.space = space
        self.size = cells.itemsize
        self.address = int(cells.__array_interface__["data"][0])
        self.origin = self.address if origin is None else origin
        is_global = space == "global"
        self.touched: dict[int, Touch] = machine.touched if is_global else {}

    def check(self, index: int) -> None:
        """Refuse an index outside."""
        if not 0 <= index < len(self.cells):
            raise errors.IndexOutOfBounds(
                index=index, buffer=self.name, shape=self.cells.shape
            )

    def key(self, index: int) -> int:
        """The address of an element."""
        return self.address + index * self.size

    def note_read(self, index: int) -> None:
        """Watch a read by the running thread."""
        self.check(index)
        if self.space == "private":
            return
        key = self.key(index)
        machine.transfers.check_read(self, index, key)
        stamp = machine.phase * machine.threads + machine.thread
        touch = self.touched.get(key)
        if touch is None:
            self.touched[key] = Touch(reader=stamp)
            return
        if machine.conflicts(touch.writer):
            self._race(index, f"write by {machine.name(touch.writer)}", "read")
        if machine.conflicts(touch.reader):
            keeps_foreign = 0 <= touch.other < machine.first_phase * machine.threads
            if not keeps_foreign:
                touch.other = touch.reader
        touch.reader = stamp

    def note_write(self, index: int, *, atomic: bool = False) -> None:
        """Watch a write by the running thread; atomics do not conflict."""
        self.check(index)
        if self.space == "private":
            return
        key = self.key(index)
        machine.transfers.check_write(self, index, key)
        if atomic:
            return
        stamp = machine.phase * machine.threads + machine.thread
        touch = self.touched.get(key)
        if touch is None:
            self.touched[key] = Touch(writer=stamp)
            return
        for earlier, verb in (
            (touch.writer, "write"),
            (touch.reader, "read"),
            (touch.other, "read"),
        ):
            if machine.conflicts(earlier):
                self._race(index, f"{verb} by {machine.name(earlier)}", "write")
        touch.writer = stamp

    def _race(self, index: int, first: str, second: str) -> NoReturn:
        here = machine.name(machine.phase * machine.threads + machine.thread)
        raise errors.SharedRace(
            buffer=self.name, index=index, first=first, second=f"{second} by {here}"
        )

    def touched_now(self, index: int, *, writes_only: bool) -> bool:
        """Whether the running phase of several threads touched an element."""
        touch = self.touched.get(self.key(index))
        if touch is None or machine.threads == 1:
            return False
        stamps = [touch.writer] if writes_only else [touch.writer, touch.reader]
        return any(stamp // machine.threads == machine.phase for stamp in stamps)


class Pointer:
    """What a kernel's pointer parameter is here."""

    __slots__ = ("memory",)

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def __getitem__(self, index: int) -> Any:
        memory = self.memory
        memory.note_read(index)
        return plain(memory.cells[index])

    def __setitem__(self, index: int, value: Any) -> None:
        memory = self.memory
        memory.note_write(index)
        memory.cells[index] = value

    def read(self, indices: list[int]) -> np.ndarray:
        """Several elements at once."""
        for index in indices:
            self.memory.note_read(index)
        return self.memory.cells[indices]

    def write(self, indices: list[int], values: Any) -> None:
        """Several elements at once."""
        for index in indices:
            self.memory.note_write(index)
        self.memory.cells[indices] = values

    def check_aligned(self, index: int, align: int) -> None:
        """Refuse an access that the hardware would."""
        memory = self.memory
        if align and (memory.key(index) - memory.origin) % align:
            raise errors.MisalignedAccess(buffer=memory.name, index=index, align=align)


def plain(value: Any) -> Any:
    """A scalar as kernels carry it: i32 as ``int``, i1 as ``bool``, others typed."""
    if isinstance(value, np.int32):
        return int(value)
    return bool(value) if isinstance(value, np.bool_) else value


def garbage(cells: np.ndarray) -> np.ndarray:
    """Fill with values that show when they are used: NaN, or a large number."""
    if cells.dtype.kind in "fc":
        cells.fill(np.nan)
    else:
        cells.view(np.uint8).fill(0x5A)
    return cells


def shared_memory(n: int, dtype: Any, name: str) -> Pointer:
    """The next shared array of the running thread, the same for all threads."""
    number = machine.allocations[machine.thread]
    machine.allocations[machine.thread] += 1
    if number == len(machine.shared):
        cells = garbage(np.empty(n, dtype))
        machine.shared.append(Memory(cells, f"{name}{number}", "shared"))
    return Pointer(machine.shared[number])


def private_memory(n: int, dtype: Any) -> Pointer:
    """Memory of the running thread alone."""
    return Pointer(Memory(garbage(np.empty(n, dtype)), "private", "private"))
