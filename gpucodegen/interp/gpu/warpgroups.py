"""nvgpu: boxes of tensors in shared memory, and products of them by four warps.

Copies happen when they start.  A box lies in shared memory row by row, its pieces of 16
bytes permuted as the swizzle of its map says; a factor is a row of such boxes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.nvgpu.types import fields, held, swizzle_span
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.interp.values.elements import Array, array_of, canonical, numbers
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FloatType, IntegerType, Type, element_bytes

ROWS, GROUP = 64, 128
"""Rows that one product has, threads that have them together."""


class TensorMap(NamedTuple):
    """A tensor, the box of it that a copy moves, and the span of the swizzle."""

    tensor: MemRef
    box: tuple[int, ...]
    span: int


class Factor(NamedTuple):
    """A matrix of lines in shared memory, as boxes of a span."""

    memory: MemRef
    shape: tuple[int, int]
    span: int


def _create(_: Machine, op: Operation, tensor: MemRef, *box: int) -> TensorMap:
    return TensorMap(tensor, box, swizzle_span(op.result.type))


def _swizzled(places: Array, span: int) -> Array:
    """Bytes with those bits of 16-byte pieces crossed with those of the line."""
    return places ^ ((places >> 3) & (span - 16)) if span else places


def _cells(m: TensorMap, corner: tuple[int, ...], here: MemRef) -> tuple[Any, ...]:
    """Of each element of a box: where it lies there, whether it does, and here."""
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
    """Its elements as f64, a row for each line."""
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
    """Each sum is rounded once."""
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
    """Each thread stores what it holds, as PTX deals the elements out."""
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


def _nothing(*_: Any) -> None:
    """A hint."""


OPERATIONS: dict[str, Evaluate] = {
    "nvgpu.tma.async.load": _load,
    "nvgpu.tma.async.store": _store,
    "nvgpu.tma.create.descriptor": _create,
    "nvgpu.tma.fence.descriptor": _nothing,
    "nvgpu.tma.prefetch.descriptor": _nothing,
    "nvgpu.warpgroup.generate.descriptor": _generate,
    "nvgpu.warpgroup.mma": _multiply,
    "nvgpu.warpgroup.mma.init.accumulator": _zeros,
    "nvgpu.warpgroup.mma.store": _store_sum,
}
