"""nvgpu: barriers that count arrivals and bytes; nvvm: fences, which do nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpucodegen.dialects.nvgpu.types import barrier_count
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.ir.operation import Operation


@dataclass(slots=True)
class Phase:
    """One barrier: arrivals that it expects, what its phase misses, and its number.

    >>> phase = Phase(); phase.begin(2); phase.arrive(1); phase.arrive(1); phase.number
    1
    """

    expected: int = 0
    missing: int = 0
    bytes: int = 0
    number: int = 0

    def begin(self, count: int) -> None:
        """The first phase, of so many arrivals."""
        self.expected = self.missing = count
        self.bytes = self.number = 0

    def arrive(self, count: int, more: int = 0) -> None:
        """Arrivals, and bytes that are to come; negative ones have come."""
        self.missing -= count
        self.bytes += more
        if self.missing == 0 and self.bytes == 0:
            self.missing, self.number = self.expected, self.number + 1


def _create(m: Machine, op: Operation) -> list[Phase]:
    """Those of the block."""
    made = [Phase() for _ in range(barrier_count(op.result.type))]
    return m.thread.shared.setdefault(op, made)


def _init(_: Machine, __: Operation, barriers: Any, n: int, i: int, *p: Any) -> None:
    if all(p):
        barriers[i].begin(n)


def _arrive(_: Machine, __: Operation, barriers: Any, i: int, count: int = 1) -> int:
    number = barriers[i].number
    barriers[i].arrive(count)
    return number


def _expect(_: Machine, __: Operation, barriers: Any, n: int, i: int, *p: Any) -> None:
    if all(p):
        barriers[i].arrive(1, n)


def _test(_: Machine, __: Operation, barriers: Any, token: int, i: int) -> int:
    return int(barriers[i].number != token)


def _wait(
    m: Machine, op: Operation, barriers: Any, parity: int, _ticks: int, i: int
) -> None:
    """Until the phase of a parity is over."""
    phase = barriers[i]
    over: Callable[[], bool] = lambda: phase.number & 1 != (parity & 1)  # noqa: E731
    m.thread.until(op, over)


def _place(_: Machine, __: Operation, _barriers: Any, i: int) -> int:
    """Where it lies in the group: there are no addresses here."""
    return 8 * i


def _nothing(*_: Any) -> None:
    """What happens, has happened already."""


OPERATIONS: dict[str, Evaluate] = {
    "nvgpu.mbarrier.create": _create,
    "nvgpu.mbarrier.get": _place,
    "nvgpu.mbarrier.init": _init,
    "nvgpu.mbarrier.arrive": _arrive,
    "nvgpu.mbarrier.arrive.nocomplete": _arrive,
    "nvgpu.mbarrier.arrive.expect_tx": _expect,
    "nvgpu.mbarrier.test.wait": _test,
    "nvgpu.mbarrier.try_wait.parity": _wait,
    "nvvm.cp.async.bulk.commit.group": _nothing,
    "nvvm.cp.async.bulk.wait_group": _nothing,
    "nvvm.fence.mbarrier.init": _nothing,
    "nvvm.fence.proxy": _nothing,
    "nvvm.setmaxregister": _nothing,
    "nvvm.wgmma.wait.group.sync.aligned": _nothing,
}
