"""nvvm: barriers and exchanges of NVIDIA's devices, by their masks."""

from __future__ import annotations

from typing import Any

from gpucodegen.interp.gpu.communication import barrier, exchanged
from gpucodegen.interp.gpu.identities import OPERATIONS as IDENTITIES
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.scalars.arith import combine
from gpucodegen.interp.values.elements import canonical
from gpucodegen.ir.operation import Operation

_REDUCTIONS = {
    "add": "addi",
    "and": "andi",
    "max": "maxsi",
    "min": "minsi",
    "or": "ori",
    "umax": "maxui",
    "umin": "minui",
    "xor": "xori",
}


def _word(op: Operation) -> str:
    """``bfly`` of ``#nvvm<shfl_kind bfly>``."""
    return str(op.attributes.get("kind")).rpartition(" ")[2].removesuffix(">")


def _warp_barrier(m: Machine, op: Operation, _mask: int) -> None:
    exchanged(m, op, None, of_warp=True)


def _shuffle(
    m: Machine, op: Operation, _mask: int, value: Any, offset: int, clamp: int
) -> Any:
    """As the instruction computes its source from lane, clamp and mask of segments."""
    brought = exchanged(m, op, value, of_warp=True)
    lane, segment, last = m.thread.lane, clamp >> 8 & 31, clamp & 31
    by, top = offset & 31, (lane & segment) | (last & ~segment & 31)
    low = lane & segment
    kind = _word(op)
    source = {
        "up": lane - by,
        "down": lane + by,
        "bfly": lane ^ by,
        "idx": low | (by & ~segment & 31),
    }[kind]
    inside = source >= top if kind == "up" else source <= top
    return brought.get(source, value) if inside else value


def _ballot(m: Machine, op: Operation, _mask: int, value: int) -> int:
    brought = exchanged(m, op, value, of_warp=True)
    bits = sum(1 << lane for lane, is_set in brought.items() if is_set)
    return canonical(bits, op.results[0].type)


def _vote(m: Machine, op: Operation, _mask: int, value: int) -> int:
    brought = exchanged(m, op, value, of_warp=True)
    values = list(map(bool, brought.values()))
    kind = _word(op)
    if kind == "ballot":
        bits = sum(1 << lane for lane, is_set in brought.items() if is_set)
        return canonical(bits, op.results[0].type)
    same = all(values) or not any(values)
    return int({"all": all(values), "any": any(values), "uni": same}[kind])


def _reduce(m: Machine, op: Operation, value: Any, _mask: int) -> Any:
    brought = exchanged(m, op, value, of_warp=True)
    function = combine(_REDUCTIONS[_word(op)], op.results[0].type)
    first, *rest = (brought[n] for n in sorted(brought))
    for other in rest:
        first = function(first, other)
    return first


OPERATIONS: dict[str, Evaluate] = {
    **IDENTITIES,
    "nvvm.barrier0": barrier,
    "nvvm.barrier": barrier,
    "nvvm.bar.warp.sync": _warp_barrier,
    "nvvm.shfl.sync": _shuffle,
    "nvvm.vote.sync": _vote,
    "nvvm.vote.ballot.sync": _ballot,
    "nvvm.redux.sync": _reduce,
}
