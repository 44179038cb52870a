"""Interprets linalg.pack, unpack, softmax and the Winograd transforms.

A Winograd transform computes ``M x M'`` of each tile in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, isinf, isnan
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.linalg.relayout import MATRICES, winograd_sizes
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.interp.arith import divided
from gpucodegen.interp.buffers import MemRef
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import Array, array_of, canonical, numbers
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type, element_type


def buffer_of(value: Array | MemRef, ty: Type) -> MemRef:
    """A buffer, or a tensor as a buffer of its own."""
    if isinstance(value, MemRef):
        return value
    return MemRef.of(value.copy(), element_type(ty))


def result(op: Operation, dest: MemRef) -> Any:
    """The new value of a tensor; nothing for a buffer."""
    return dest.array() if op.results else None


Packed = Callable[[Sequence[int]], tuple[int, ...]]


def _packed(m: Machine, op: Operation, rank: int) -> Packed:
    """The map from an element's index in rows to that in tiles."""
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
    """Fill with padding, then copy every element of the source."""
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


RELAYOUT_OPERATIONS: dict[str, Evaluate] = {
    "linalg.pack": _pack,
    "linalg.unpack": _unpack,
    "tensor.pack": _pack,
    "tensor.unpack": _unpack,
    "linalg.softmax": _softmax,
}


def _numbers(op: Operation, position: int, value: Array) -> Array:
    flat = numbers(value, element_type(op.operands[position].type))
    return np.array(flat, float).reshape(value.shape)


def _matrices(op: Operation, part: str, extents: tuple[int, int]) -> list[Array]:
    """One transform matrix per side; a dimension of extent 1 is not transformed."""
    table = MATRICES[winograd_sizes(op)][part]
    matrix = np.array([[float(n) for n in row] for row in table])
    return [np.ones((1, 1)) if n == 1 else matrix for n in extents]


def _rounded(op: Operation, made: Array) -> Array:
    of = element_type(op.results[0].type)
    return array_of([canonical(v, of) for v in made.flat], made.shape, of)


def _filter(_: Machine, op: Operation, source: Array, __: Any) -> Array:
    """``f h w c`` to ``h w c f``."""
    high, wide = _matrices(op, "filter", source.shape[1:3])
    x = _numbers(op, 0, source)
    return _rounded(op, np.einsum("ah,bw,fhwc->abcf", high, wide, x))


def _input(_: Machine, op: Operation, source: Array, target: Array) -> Array:
    """``n h w c`` to ``h w y x n c``: tiles overlap by the filter size less one."""
    high, wide = _matrices(op, "input", target.shape[:2])
    m, _r = winograd_sizes(op)
    x = _numbers(op, 0, source)
    made = np.zeros(target.shape)
    rows, columns = len(high[0]), len(wide[0])
    for i, j in np.ndindex(*target.shape[2:4]):
        y, z = i * (m if rows > 1 else 1), j * (m if columns > 1 else 1)
        tile = x[:, y : y + rows, z : z + columns]
        made[:, :, i, j] = np.einsum("ah,bw,nhwc->abnc", high, wide, tile)
    return _rounded(op, made)


def _output(_: Machine, op: Operation, source: Array, target: Array) -> Array:
    """``h w y x n f`` to ``n h w f``, added to the destination."""
    high, wide = _matrices(op, "output", source.shape[:2])
    made = np.einsum("ah,bw,hwyxnf->nyaxbf", high, wide, _numbers(op, 0, source))
    return _rounded(op, _numbers(op, 1, target) + made.reshape(target.shape))


WINOGRAD_OPERATIONS: dict[str, Evaluate] = {
    "linalg.winograd_filter_transform": _filter,
    "linalg.winograd_input_transform": _input,
    "linalg.winograd_output_transform": _output,
}
