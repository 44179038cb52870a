"""linalg: pack, unpack and softmax; ``tensor.pack`` until 2025."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, isinf, isnan
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.scalars.arith import divided
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.interp.values.elements import Array, canonical
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type, element_type


def buffer_of(value: Array | MemRef, ty: Type) -> MemRef:
    """A buffer, or a tensor as one of its own."""
    if isinstance(value, MemRef):
        return value
    return MemRef.of(value.copy(), element_type(ty))


def result(op: Operation, dest: MemRef) -> Any:
    """The new value of a tensor; nothing for a buffer."""
    return dest.array() if op.results else None


Packed = Callable[[Sequence[int]], tuple[int, ...]]


def _packed(m: Machine, op: Operation, rank: int) -> Packed:
    """From the place of an element in rows to that in tiles."""
    dynamic = iter(m.groups(op)["inner_tiles"])
    static = op.numbers("static_inner_tiles")
    sizes = [next(dynamic) if n == DYNAMIC_MARK else n for n in static]
    if 0 in sizes:
        raise errors.DivisionByZero
    tiles = dict(zip(op.numbers("inner_dims_pos"), sizes, strict=True))
    order = op.numbers("outer_dims_perm") or tuple(range(rank))

    def place(row: Sequence[int]) -> tuple[int, ...]:
        numbers = (row[d] // tiles.get(d, 1) for d in order)
        return *numbers, *(row[d] % tile for d, tile in tiles.items())

    return place


def _pack(m: Machine, op: Operation, *_: Any) -> Any:
    """Padding everywhere, then every element of the rows."""
    groups, ty = m.groups(op), op.operands[1].type
    (source,), (dest,) = groups["source"], groups["dest"]
    rows = buffer_of(source, op.operands[0].type)
    made = buffer_of(dest, ty)
    place = _packed(m, op, rows.rank)
    for padding in groups["padding_value"]:
        for index in np.ndindex(*made.shape):
            made.store(index, padding)
    for index in np.ndindex(*rows.shape):
        made.store(place(index), rows.load(index), name_of(op.operands[1]))
    return result(op, made)


def _unpack(m: Machine, op: Operation, source: Any, dest: Any, *_: int) -> Any:
    tiles = buffer_of(source, op.operands[0].type)
    made = buffer_of(dest, op.operands[1].type)
    place = _packed(m, op, made.rank)
    for index in np.ndindex(*made.shape):
        made.store(index, tiles.load(place(index), name_of(op.operands[0])))
    return result(op, made)


def _softmax(_: Machine, op: Operation, source: Any, dest: Any) -> Any:
    """``exp(x - max) / sum`` along a dimension, each step rounded."""
    ty = element_type(op.operands[0].type)
    rows = buffer_of(source, op.operands[0].type)
    made = buffer_of(dest, op.operands[1].type)
    d = op.integer("dimension")
    outer = [n for i, n in enumerate(rows.shape) if i != d]
    for point in np.ndindex(*outer):
        line = [(*point[:d], i, *point[d:]) for i in range(rows.shape[d])]
        values = [rows.load(index) for index in line]
        top = max(values, default=0.0)
        parts = [canonical(_exp(canonical(x - top, ty)), ty) for x in values]
        total = 0.0
        for part in parts:
            total = canonical(total + part, ty)
        for index, part in zip(line, parts, strict=True):
            made.store(index, canonical(divided(part, total), ty))
    return result(op, made)


def _exp(x: float) -> float:
    return x if isnan(x) or (isinf(x) and x > 0) else exp(x)


OPERATIONS: dict[str, Evaluate] = {
    "linalg.pack": _pack,
    "linalg.unpack": _unpack,
    "tensor.pack": _pack,
    "tensor.unpack": _unpack,
    "linalg.softmax": _softmax,
}
