"""nvgpu: asynchronous copies to shared memory; they happen when waited for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.interp.values.elements import canonical
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FloatType

Copy = Callable[[], None]


@dataclass(slots=True)
class Line:
    """The copies of a thread: those of no group yet, and groups, oldest first."""

    alone: list[Copy] = field(default_factory=list[Copy])
    groups: list[list[Copy]] = field(default_factory=list[list[Copy]])


def _line(m: Machine) -> Line:
    key = "nvgpu", m.thread
    return m.shared.transfers.setdefault(key, Line())


def _copy(m: Machine, op: Operation, *_: Any) -> None:
    """What the source has less than the target are zeros."""
    groups = m.groups(op)
    (source,), (target,) = groups["src"], groups["dst"]
    first, to = groups["srcIndices"], groups["dstIndices"]
    count = op.integer("dstElements")
    given = min(count, *groups["srcElements"]) if groups["srcElements"] else count
    places = name_of(op.operands[0])

    def move() -> None:
        for n in range(count):
            value = _moved(source, first, n) if n < given else _zero(target)
            target.store((*to[:-1], to[-1] + n), value, places)

    _line(m).alone.append(move)


def _moved(source: MemRef, first: tuple[int, ...], n: int) -> Any:
    return source.load((*first[:-1], first[-1] + n))


def _zero(target: MemRef) -> Any:
    return canonical(0.0 if isinstance(target.type, FloatType) else 0, target.type)


def _group(m: Machine, _: Operation, *__: Any) -> None:
    line = _line(m)
    line.groups.append(line.alone)
    line.alone = []


def _wait(m: Machine, op: Operation, *_: Any) -> None:
    """All groups but the last ones; without a number, all copies."""
    line = _line(m)
    left = op.integer("numGroups")
    while len(line.groups) > left:
        for copy in line.groups.pop(0):
            copy()


OPERATIONS: dict[str, Evaluate] = {
    "nvgpu.device_async_copy": _copy,
    "nvgpu.device_async_create_group": _group,
    "nvgpu.device_async_wait": _wait,
}
