"""Interprets nvgpu: asynchronous copies, mbarriers, TMA boxes and wgmma products.

A ``cp.async`` happens when it is waited for, a TMA copy when it starts. A box lies in
shared memory row by row, its pieces of 16 bytes permuted by the swizzle of the tensor
map; a wgmma operand is a row of such boxes. Fences have no effect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.nvgpu.types import barrier_count, fields, held, swizzle_span
from gpucodegen.interp.buffers import MemRef
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import Array, array_of, canonical, numbers
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FloatType, IntegerType, Type, element_bytes
from gpucodegen.records import dataclass


@dataclass(slots=True)
class Phase:
    """An mbarrier: expected arrivals, outstanding arrivals and bytes, phase number.

    >>> phase = Phase(); phase.begin(2); phase.arrive(1); phase.arrive(1); phase.number
    1
    """

    expected: int = 0
    missing: int = 0
    bytes: int = 0
    number: int = 0

    def begin(self, count: int) -> None:
        """Start the first phase with an arrival count."""
        self.expected = self.missing = count
        self.bytes = self.number = 0

    def arrive(self, count: int, more: int = 0) -> None:
        """Count arrivals and pending bytes; arrived bytes are negative ``more``."""
        self.missing -= count
        self.bytes += more
        if self.missing == 0 and self.bytes == 0:
            self.missing, self.number = self.expected, self.number + 1


def _create_barrier(m: Machine, op: Operation) -> list[Phase]:
    """The block's group of mbarriers."""
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


def _wait_barrier(
    m: Machine, op: Operation, barriers: Any, parity: int, _ticks: int, i: int
) -> None:
    """Wait until the phase of a parity is complete."""
    phase = barriers[i]
    over: Callable[[], bool] = lambda: phase.number & 1 != (parity & 1)  # noqa: E731
    m.thread.until(op, over)


def _place(_: Machine, __: Operation, _barriers: Any, i: int) -> int:
    """Index in the group, in place of an address."""
    return 8 * i


def _nothing(*_: Any) -> None:
    """No effect: the operation has already happened."""


BARRIER_OPERATIONS: dict[str, Evaluate] = {
    "nvgpu.mbarrier.create": _create_barrier,
    "nvgpu.mbarrier.get": _place,
    "nvgpu.mbarrier.init": _init,
    "nvgpu.mbarrier.arrive": _arrive,
    "nvgpu.mbarrier.arrive.nocomplete": _arrive,
    "nvgpu.mbarrier.arrive.expect_tx": _expect,
    "nvgpu.mbarrier.test.wait": _test,
    "nvgpu.mbarrier.try_wait.parity": _wait_barrier,
    "nvvm.cp.async.bulk.commit.group": _nothing,
    "nvvm.cp.async.bulk.wait_group": _nothing,
    "nvvm.fence.mbarrier.init": _nothing,
    "nvvm.fence.proxy": _nothing,
    "nvvm.setmaxregister": _nothing,
    "nvvm.wgmma.wait.group.sync.aligned": _nothing,
}


Copy = Callable[[], None]


@dataclass(slots=True)
class Line:
    """A thread's copies: those without a group, and groups, oldest first."""

    alone: list[Copy] = field(default_factory=list[Copy])
    groups: list[list[Copy]] = field(default_factory=list[list[Copy]])


def _line(m: Machine) -> Line:
    key = "nvgpu", m.thread
    return m.shared.transfers.setdefault(key, Line())


def _copy(m: Machine, op: Operation, *_: Any) -> None:
    """Start a copy; elements beyond the source count become zeros."""
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
    """Wait for all groups but the newest; without a number, for all copies."""
    line = _line(m)
    left = op.integer("numGroups")
    while len(line.groups) > left:
        for copy in line.groups.pop(0):
            copy()


COPY_OPERATIONS: dict[str, Evaluate] = {
    "nvgpu.device_async_copy": _copy,
    "nvgpu.device_async_create_group": _group,
    "nvgpu.device_async_wait": _wait,
}


ROWS, GROUP = 64, 128
"""M of one wgmma product, and threads of a warpgroup."""


class TensorMap(NamedTuple):
    """A tensor, the box that a copy moves, and the bytes of the swizzle."""

    tensor: MemRef
    box: tuple[int, ...]
    span: int


class Factor(NamedTuple):
    """A wgmma operand in shared memory: a row of boxes, each one span wide."""

    memory: MemRef
    shape: tuple[int, int]
    span: int


def _create_descriptor(
    _: Machine, op: Operation, tensor: MemRef, *box: int
) -> TensorMap:
    return TensorMap(tensor, box, swizzle_span(op.result.type))


def _swizzled(places: Array, span: int) -> Array:
    """XOR the 16-byte piece index of byte offsets with the row index (swizzle)."""
    return places ^ ((places >> 3) & (span - 16)) if span else places


def _cells(m: TensorMap, corner: tuple[int, ...], here: MemRef) -> tuple[Any, ...]:
    """For each element of a box: global index, whether inside, and target index."""
    size = element_bytes(here.type) or 1
    index = np.indices(m.box).reshape(len(m.box), -1)
    inside = np.ones(index.shape[1], bool)
    there = np.full(index.shape[1], m.tensor.start)
    parts = zip(index, corner[::-1], m.tensor.shape, m.tensor.strides, strict=True)
    for along, first, extent, stride in parts:
        inside &= (along + first >= 0) & (along + first < extent)
        there = there + (along + first) * stride
    own = (here.start + np.arange(index.shape[1])) * size
    return there, inside, _swizzled(own, m.span) // size


def _check(op: Operation, places: Array, here: MemRef, n: int) -> None:
    if places.max() >= len(here.memory):
        name = name_of(op.operands[n])
        raise errors.IndexOutOfBounds(
            index=(int(places.max()),), buffer=name, shape=here.shape
        )


def _load(m: Machine, op: Operation, *_: Any) -> None:
    groups = m.groups(op)
    if not all(groups["predicate"]):
        return
    (target,), (tensor_map,) = groups["dst"], groups["tensorMapDescriptor"]
    there, inside, here = _cells(tensor_map, groups["coordinates"], target)
    _check(op, here, target, 0)
    zero = canonical(0.0 if isinstance(target.type, FloatType) else 0, target.type)
    target.memory[here] = array_of([zero], (1,), target.type)[0]
    target.memory[here[inside]] = tensor_map.tensor.memory[there[inside]]
    (barriers,), (which,) = groups["barriers"], groups["mbarId"]
    barriers[which].arrive(0, -len(here) * (element_bytes(target.type) or 1))


def _store(m: Machine, op: Operation, *_: Any) -> None:
    groups = m.groups(op)
    if not all(groups["predicate"]):
        return
    (source,), (tensor_map,) = groups["src"], groups["tensorMapDescriptor"]
    there, inside, here = _cells(tensor_map, groups["coordinates"], source)
    _check(op, here, source, 0)
    tensor_map.tensor.memory[there[inside]] = source.memory[here[inside]]


def _generate(_: Machine, op: Operation, memory: MemRef, of: TensorMap) -> Factor:
    lines, along = held(fields(op.result.type)["tensor"]).shape
    return Factor(memory, (lines, along), of.span)


def _matrix(factor: Factor) -> Array:
    """The operand as an f64 matrix."""
    memory, (lines, along), span = factor
    size = element_bytes(memory.type) or 1
    line, place = np.indices((lines, along))
    chunk, inside = np.divmod(place * size, span)
    byte = memory.start * size + (chunk * lines + line) * span + inside
    found = memory.memory[_swizzled(byte, span) // size]
    return np.array(numbers(found, memory.type), float).reshape(lines, along)


def _sum_type(op: Operation) -> Type:
    element = held(fields(op.operands[2].type)["fragmented"]).element
    return FloatType(element) if element[0] == "f" else IntegerType(int(element[1:]))


def _multiply(_: Machine, op: Operation, a: Factor, b: Factor, total: Array) -> Array:
    """The product; each sum is rounded once."""
    left, right = _matrix(a), _matrix(b)
    left = left.T if "transposeA" in op.attributes else left
    right = right if "transposeB" in op.attributes else right.T
    ty = _sum_type(op)
    made = total + left @ right
    rounded = {"f16": np.float16, "f32": np.float32}.get(str(ty), np.int32)
    return made.astype(rounded).astype(float)


def _zeros(_: Machine, op: Operation) -> Array:
    return np.zeros(held(fields(op.result.type)["fragmented"]).shape)


def _store_sum(m: Machine, op: Operation, total: Array, target: MemRef) -> None:
    """Each thread stores its fragment of the accumulator in the PTX layout."""
    thread = m.thread.number % GROUP
    warp, lane = divmod(thread, 32)
    group, turn = divmod(lane, 4)
    name = name_of(op.operands[1])
    rows = range(16 * warp + group, total.shape[0], 8)
    for row in (
        r for r in rows if r % ROWS in (16 * warp + group, 16 * warp + group + 8)
    ):
        for column in range(2 * turn, total.shape[1], 8):
            for n in (column, column + 1):
                value = total[row, n]
                whole = value if isinstance(target.type, FloatType) else int(value)
                target.store((row, n), canonical(whole, target.type), name)


def _warpgroup_no_effect(*_: Any) -> None:
    """No effect: a hint."""


WARPGROUP_OPERATIONS: dict[str, Evaluate] = {
    "nvgpu.tma.async.load": _load,
    "nvgpu.tma.async.store": _store,
    "nvgpu.tma.create.descriptor": _create_descriptor,
    "nvgpu.tma.fence.descriptor": _warpgroup_no_effect,
    "nvgpu.tma.prefetch.descriptor": _warpgroup_no_effect,
    "nvgpu.warpgroup.generate.descriptor": _generate,
    "nvgpu.warpgroup.mma": _multiply,
    "nvgpu.warpgroup.mma.init.accumulator": _zeros,
    "nvgpu.warpgroup.mma.store": _store_sum,
}
