"""gpu: memory of a device, which is this machine's; tokens stand for nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.memref import allocated, copy, dealloc
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.elements import filled
from gpucodegen.ir.operation import Operation


def _alloc(m: Machine, op: Operation, *_: Any) -> Any:
    groups = m.groups(op)
    ty = op.results[0].type
    made = allocated(m, ty, groups["dynamicSizes"], groups["symbolOperands"])
    return (made, None) if len(op.results) > 1 else made


def _memcpy(m: Machine, op: Operation, *_: Any) -> None:
    groups = m.groups(op)
    (target,), (source,) = groups["dst"], groups["src"]
    pair = op.with_(operands=(*op.operands[-1:], *op.operands[-2:-1]))
    copy(m, pair, source, target)


def _memset(m: Machine, op: Operation, *_: Any) -> None:
    groups = m.groups(op)
    (target,), (value,) = groups["dst"], groups["value"]
    of = target.type
    target.write(np.asarray(filled(value, target.shape, of)))


def _nothing(*_: Any) -> None:
    """Everything before has ended."""


OPERATIONS: dict[str, Evaluate] = {
    "gpu.alloc": _alloc,
    "gpu.memcpy": _memcpy,
    "gpu.memset": _memset,
    "gpu.dealloc": dealloc,
    "gpu.wait": _nothing,
    "gpu.host_register": _nothing,
    "gpu.host_unregister": _nothing,
    "gpu.set_default_device": _nothing,
}
