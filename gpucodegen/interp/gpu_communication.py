"""Interprets barriers, shuffles, votes and reductions of gpu and nvvm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpucodegen.dialects.gpu.collectives import WARP
from gpucodegen.dialects.shared.combiners import kind_word, of_kind
from gpucodegen.interp.arith import combine
from gpucodegen.interp.gpu import IDENTITY_OPERATIONS as IDENTITIES
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import canonical, elementwise, given
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import element_type
from gpucodegen.library.prints import printf_text, write


def exchanged(
    m: Machine, op: Operation, value: Any, *, of_warp: bool
) -> dict[int, Any]:
    """The values of all threads that meet here; those of a warp by lane."""
    brought = m.thread.meet(op, value, of_warp=of_warp)
    return {n % WARP: v for n, v in brought.items()} if of_warp else brought


def barrier(m: Machine, op: Operation, *_: Any) -> None:
    """A barrier of the block or of the warp."""
    of_warp = "subgroup" in str(op.attributes.get("scope"))
    exchanged(m, op, None, of_warp=of_warp)


def folded(m: Machine, op: Operation, values: Iterable[Any]) -> Any:
    """Combine values in thread order by the operation's kind or region."""
    first, *rest = values
    if op.regions and op.regions[0].blocks:
        for value in rest:
            first = m.results(op.regions[0], (first, value))[0]
        return first
    ty = element_type(op.results[0].type)
    row = of_kind(kind_word(op.attributes.get("op")), ty)
    assert row is not None
    function = combine(row.operation, ty)
    pair = op.with_(operands=(op.results[0],) * 2)
    for value in rest:
        first = elementwise(pair, function, (first, value))
    return first


def _all_reduce(m: Machine, op: Operation, value: Any) -> Any:
    brought = exchanged(m, op, value, of_warp=False)
    return folded(m, op, (brought[n] for n in sorted(brought)))


def _subgroup_reduce(m: Machine, op: Operation, value: Any) -> Any:
    """Combine lanes of a cluster, which are a stride apart."""
    brought = exchanged(m, op, value, of_warp=True)
    size, stride = op.integer("cluster_size"), op.integer("cluster_stride", 1)
    lane = m.thread.lane
    lanes = sorted(brought)
    if size:
        span = size * stride
        first = lane // span * span + lane % stride
        lanes = [n for n in range(first, first + span, stride) if n in brought]
    return folded(m, op, (brought[n] for n in lanes))


def source_lane(mode: str, lane: int, offset: int, width: int) -> tuple[int, bool]:
    """The source lane of a shuffle, and whether it and the lane are below the width.

    >>> source_lane("xor", 3, 1, 32), source_lane("down", 31, 1, 32)
    ((2, True), (32, False))
    """
    source = {
        "xor": lane ^ offset,
        "up": lane - offset,
        "down": lane + offset,
        "idx": offset,
    }[mode]
    return source, 0 <= source < width and lane < width


def _shuffle(m: Machine, op: Operation, value: Any, offset: int, width: int) -> Any:
    brought = exchanged(m, op, value, of_warp=True)
    mode = str(op.attributes.get("mode")).partition("<")[2].removesuffix(">")
    source, valid = source_lane(mode, m.thread.lane, offset, width)
    valid = valid and source in brought
    return (brought[source] if valid else value), int(valid)


def _rotate(m: Machine, op: Operation, value: Any) -> Any:
    brought = exchanged(m, op, value, of_warp=True)
    width, lane = op.integer("width", WARP), m.thread.lane
    start = lane // width * width
    source = start + (lane - start + op.integer("offset")) % width
    valid = source in brought and lane < width
    return (brought[source] if valid else value), int(valid)


def _broadcast(m: Machine, op: Operation, value: Any, *lane: int) -> Any:
    brought = exchanged(m, op, value, of_warp=True)
    source = lane[0] if lane else min(brought)
    return brought.get(source, value)


def _ballot(m: Machine, op: Operation, value: int) -> int:
    brought = exchanged(m, op, value, of_warp=True)
    bits = sum(1 << lane for lane, is_set in brought.items() if is_set)
    return canonical(bits, op.results[0].type)


def _printf(_: Machine, op: Operation, *values: Any) -> None:
    write(printf_text(op.string("format"), values))


def _on_lane_zero(m: Machine, op: Operation, lane: int, *values: Any) -> Any:
    """Lane 0 computes on whole vectors; every lane gets its part of the results."""
    import numpy as np

    brought = exchanged(m, op, values, of_warp=True)
    arguments = op.body.arguments
    whole = [
        _joined([brought[n][i] for n in sorted(brought)], a.type, v.type)
        for i, (a, v) in enumerate(zip(arguments, op.operands[1:], strict=True))
    ]
    made = m.results(op.regions[0], whole) if lane == 0 else ()
    after = exchanged(m, op, made, of_warp=True)
    results = after[0]
    inner = op.body.operations[-1].operands
    return given(
        tuple(
            _dealt(np.asarray(v) if hasattr(v, "shape") else v, y.type, r.type, lane)
            for v, y, r in zip(results, inner, op.results, strict=True)
        )
    )


def _axis(whole: Any, part: Any) -> int:
    """The dimension in which two types differ."""
    extents = enumerate(zip(whole.shape, part.shape, strict=True))
    return next(d for d, (a, b) in extents if a != b)


def _joined(values: list[Any], whole: Any, part: Any) -> Any:
    """Concatenate all lanes' parts along the dimension in which the types differ."""
    import numpy as np

    if whole == part:
        return values[0]
    return np.concatenate(values, axis=_axis(whole, part))


def _dealt(value: Any, whole: Any, part: Any, lane: int) -> Any:
    if whole == part:
        return value
    axis = _axis(whole, part)
    size = part.shape[axis]
    return value.take(range(lane * size, (lane + 1) * size), axis=axis)


COMMUNICATION_OPERATIONS: dict[str, Evaluate] = {
    "gpu.barrier": barrier,
    "gpu.all_reduce": _all_reduce,
    "gpu.subgroup_reduce": _subgroup_reduce,
    "gpu.shuffle": _shuffle,
    "gpu.rotate": _rotate,
    "gpu.subgroup_broadcast": _broadcast,
    "gpu.ballot": _ballot,
    "gpu.printf": _printf,
    "gpu.warp_execute_on_lane_0": _on_lane_zero,
}


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


def _nvvm_shuffle(
    m: Machine, op: Operation, _mask: int, value: Any, offset: int, clamp: int
) -> Any:
    """``shfl.sync``: the source lane follows from lane, clamp and segment mask."""
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


def _nvvm_ballot(m: Machine, op: Operation, _mask: int, value: int) -> int:
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


NVVM_OPERATIONS: dict[str, Evaluate] = {
    **IDENTITIES,
    "nvvm.barrier0": barrier,
    "nvvm.barrier": barrier,
    "nvvm.bar.warp.sync": _warp_barrier,
    "nvvm.shfl.sync": _nvvm_shuffle,
    "nvvm.vote.sync": _vote,
    "nvvm.vote.ballot.sync": _nvvm_ballot,
    "nvvm.redux.sync": _reduce,
}
