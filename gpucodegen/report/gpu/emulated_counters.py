"""Sampled emulation: executes a part of each launch on the emulated device, and counts.

A launch of many blocks is measured on a few of them, spread evenly over the grid, and a
kernel that is launched many times on its first, second, fourth, eighth ... launch.
Counts are scaled; the results in memory are not those of the function.  So sampled
blocks execute only what their accesses and control flow depend on, and no arithmetic
on data (`gpucodegen.ptx.translation.slices`).
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from gpucodegen import ptx
from gpucodegen.ptx.execution.counters import Counters
from gpucodegen.records import dataclass
from gpucodegen.runtime.devices.emulated_array import EmulatedArray
from gpucodegen.runtime.devices.emulated_device import EmulatedDevice, LoadedKernel

Triple = tuple[int, int, int]
BUDGET = 1 << 28
"""The work of the executed blocks of a launch, where one block takes less: see `work`.
"""
BLOCKS = 32
"""Executed blocks of a launch by default."""
FEW = 2
"""As few blocks are executed side by side, whatever they cost."""
PATIENCE = 40_000
"""Visits to basic blocks after which a block is given up; fewer where more than
`BLOCKS` have to run together."""
MEMORY = 1 << 38 if hasattr(mmap, "MAP_PRIVATE") else 8 << 30
"""Bytes of a measuring device; the system commits only what sampled blocks touch."""
FILLED = 1 << 28
"""Bytes of the largest array that is filled; larger ones stay zero."""
LAUNCHES = 4096
"""Launches after which a function is stopped."""
_GOLDEN = 0.6180339887498949


def sample(grid: Triple, count: int) -> list[int]:
    """Numbers of about ``count`` blocks, evenly spread: of all if there are no more.

    Blocks of each x are as many if these are few: there may be a kernel for each.

    >>> sample((1000, 1, 1), 3), sample((3, 1, 1), 8), sample((2, 100, 1), 5)
    ([500, 118, 736], [0, 1, 2], [100, 147, 22, 71])
    """
    columns, blocks = grid[0], grid[0] * grid[1] * grid[2]
    if blocks <= count:
        return list(range(blocks))
    if columns > count:
        columns = 1
    rows, each = blocks // columns, count // columns
    spread = (
        _spread(x * each + n, rows) * columns + x
        for n in range(each if columns > 1 else 4 * each)
        for x in range(columns)
    )
    return list(dict.fromkeys(spread))[:count]


def _spread(number: int, places: int) -> int:
    """One of some places; those of consecutive numbers are far apart."""
    return int((0.5 + number * _GOLDEN) % 1 * places)


def work(counters: Counters) -> int:
    """What executed blocks cost the emulator: instructions of threads, and products.

    Sixteen operations of a matrix instruction take as long as an instruction: 2.4 s for
    a block of 1.07e9 on tensor cores, 1.7 s for one of 7.4e7 instructions (one core of
    an EPYC with AVX-512).
    """
    return counters.instructions("lanes").total() + counters.flops() // 16


class Enough(Exception):
    """The function has been launched often enough."""


@dataclass(slots=True)
class MeasuredLaunch:
    """Launches of one kernel with one grid, and the counters of some of their blocks.

    ``count``: the number of launches, ``measured``: of measured ones. ``parameters``:
    those of the first one, packed.  ``dynamic``: bytes of dynamic shared memory.
    """

    name: str
    grid: Triple
    block: Triple
    parameters: bytes
    dynamic: int
    counters: Counters
    text: str
    count: int = 1
    measured: int = 1

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def scale(self) -> float:
        """The factor from executed counts to those of one launch."""
        return self.blocks / self.counters.blocks

    @property
    def is_complete(self) -> bool:
        """Whether every block of a launch was executed to its end."""
        return self.counters.blocks >= self.blocks and not self.counters.is_cut


@dataclass(slots=True)
class MeasuredModule:
    """A PTX module whose launches are measured, with the interface of a module."""

    module: ptx.Module
    device: MeasuringDevice

    @property
    def entries(self) -> Mapping[str, ptx.Entry]:
        """The kernels by name."""
        return self.module.entries

    def launch(
        self,
        *what: Any,
        dynamic_shared: int = 0,
        cooperative: bool = False,
        **_: Any,
    ) -> None:
        """Executes some blocks of a launch, or only counts it."""
        name, grid, block, parameters, memory = what
        blocks, threads = _triple(grid), _triple(block)
        key = name, blocks, threads
        known = self.device.launched.get(key)
        if sum(l.count for l in self.device.launched.values()) >= LAUNCHES:
            raise Enough
        if known is not None:
            known.count += 1
            if known.count & (known.count - 1):
                return
        self.device.sizes |= {start: end - start for start, end in memory.allocations()}
        given = name, blocks, threads, parameters, memory
        runs = self._runs(*given, dynamic_shared, cooperative)
        counters = next(runs)
        for more in runs:
            counters.include(more)
        if known is not None:
            known.measured += 1
            known.counters.include(counters)
            return
        self.device.launched[key] = MeasuredLaunch(
            name,
            blocks,
            threads,
            bytes(parameters),
            dynamic_shared,
            counters,
            self.module.text,
        )

    def _runs(
        self,
        name: str,
        grid: Triple,
        block: Triple,
        parameters: bytes,
        memory: ptx.Memory,
        dynamic: int,
        cooperative: bool,
    ) -> Iterator[Counters]:
        """Counters of one block, then of as many more as the budget allows.

        Blocks that wait for each other run together.
        """
        blocks = grid[0] * grid[1] * grid[2]
        chosen = sample(grid, self.device.most)
        together = max(BLOCKS, blocks if cooperative else 1)

        sliced = len(chosen) < blocks and not cooperative

        def run(only: Sequence[int] | None) -> Counters:
            done = self.module.launch(
                name,
                grid,
                block,
                parameters,
                memory,
                dynamic_shared=dynamic,
                cooperative=cooperative,
                check=False,
                measure=True,
                sliced=sliced,
                only=only,
                patience=PATIENCE * BLOCKS // together,
            )
            assert done.counters is not None
            return done.counters

        if cooperative:
            yield run(None)
            return
        if len(chosen) <= FEW:
            yield run(chosen)
            return
        first = run(chosen[:1])
        yield first
        cost = max(work(first), 1)
        more = chosen[1 : 1 + (0 if first.is_cut else BUDGET // cost)]
        if more:
            yield run(more)


@dataclass(eq=False)
class MeasuringDevice(EmulatedDevice):
    """An emulated device that records its launches, in order.

    Its memory is zero and is committed where it is touched, so that arrays may be as
    large as those of a GPU.
    """

    memory: Any = field(default_factory=lambda: ptx.Memory(MEMORY, poisoned=False))
    launched: dict[tuple[str, Triple, Triple], MeasuredLaunch] = field(
        default_factory=dict[tuple[str, Triple, Triple], MeasuredLaunch]
    )
    most: int = BLOCKS
    """Blocks of a launch that are executed."""
    sizes: dict[int, int] = field(default_factory=dict[int, int])
    """Bytes of the allocations that launches met, by their first offset."""

    def fill(self, array: EmulatedArray, value: Any) -> None:
        if array.nbytes <= FILLED:
            EmulatedDevice.fill(self, array, value)

    def load(
        self, name: str, code: bytes, *, cooperative: bool = False
    ) -> LoadedKernel:
        """A kernel of a PTX module, to be measured."""
        loaded = EmulatedDevice.load(self, name, code)
        return LoadedKernel(name, MeasuredModule(loaded.module, self), cooperative)


def _triple(extents: int | Sequence[int]) -> Triple:
    given = [extents] if isinstance(extents, int) else list(extents)
    x, y, z = (int(extent) for extent in [*given, 1, 1][:3])
    return x, y, z
