"""Interprets matrix fragments: nvgpu by lanes as PTX lays them out, gpu as wholes.

PTX ISA, "Warp-level matrix instructions": with ``g`` a lane's quarter (lane // 4) and
``t`` its place there (lane % 4), and ``e`` elements in 32 bits,

- A: register v has row ``g + 8 (v % 2)`` and columns ``e t + 4 e (v // 2)`` on
- B: register v has rows ``e t + 4 e v`` on, and column ``g``
- C: register v has row ``g + 8 v`` and columns ``2 t`` and ``2 t + 1``

MLIR does not define the layout of ``!gpu.mma_matrix``, so each thread holds the whole
matrix, and `extract_thread_local` and `insert_thread_local` are not supported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import fsum
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.gpu.collectives import WARP
from gpucodegen.dialects.gpu.mma import element, matrix
from gpucodegen.interp.arith import combine
from gpucodegen.interp.buffers import MemRef
from gpucodegen.interp.gpu_communication import exchanged
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import (
    Array,
    array_of,
    canonical,
    filled,
    numbers,
)
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import F32, FloatType, Type, element_type

_BINARY = {
    "maxf": "maximumf",
    "minf": "minimumf",
    "divs": "divsi",
    "divu": "divui",
    **{name: name for name in "addf mulf subf divf addi muli subi".split()},
}


def type_of(ty: Type) -> Type:
    found = element({"res": [ty]}, {})
    assert found is not None
    return found[0]


def _places(
    op: Operation, ty: Type, buffer: MemRef, index: Sequence[int], name: str
) -> Array:
    """Position in memory of each element of the matrix."""
    shape = matrix(ty)[:2]
    rows = np.arange(shape[0])[:, None] * op.integer("leadDimension")
    if "transpose" in op.attributes:
        rows = np.arange(shape[1])[:, None] * op.integer("leadDimension")
        offsets = (rows + np.arange(shape[0])).T
    else:
        offsets = rows + np.arange(shape[1])
    found = buffer.place(index, name) + offsets
    if found.max() >= len(buffer.memory):
        raise errors.IndexOutOfBounds(index=index, buffer=name, shape=buffer.shape)
    return found


def _load(_: Machine, op: Operation, source: MemRef, *index: int) -> Array:
    at = _places(op, op.results[0].type, source, index, name_of(op.operands[0]))
    return source.memory[at]


def _store(
    m: Machine, op: Operation, value: Array, target: MemRef, *index: int
) -> None:
    """Store once all lanes have arrived; each writes the same values."""
    exchanged(m, op, None, of_warp=True)
    at = _places(op, op.operands[0].type, target, index, name_of(op.operands[1]))
    target.memory[at] = value


def _compute(_: Machine, op: Operation, a: Array, b: Array, c: Array) -> Array:
    """The product; each sum is computed exactly and rounded once."""
    tables = [
        np.array(numbers(v, type_of(o.type)), object).reshape(v.shape)
        for v, o in zip((a, b, c), op.operands, strict=True)
    ]
    lhs, rhs, start = tables
    lhs = lhs.T if "a_transpose" in op.attributes else lhs
    rhs = rhs.T if "b_transpose" in op.attributes else rhs
    ty = type_of(op.results[0].type)
    made = [
        summed([start[i, j], *(lhs[i] * rhs[:, j])], ty) for i, j in np.ndindex(c.shape)
    ]
    return array_of(made, c.shape, ty)


def summed(terms: Sequence[Any], ty: Type) -> Any:
    return canonical(fsum(terms) if isinstance(ty, FloatType) else sum(terms), ty)


def _constant(_: Machine, op: Operation, value: Any) -> Array:
    ty = op.results[0].type
    return filled(value, matrix(ty)[:2], type_of(ty))


def _elementwise(_: Machine, op: Operation, *values: Array) -> Array:
    word = str(op.attributes.get("opType")).partition("<")[2].removesuffix(">")
    ty = type_of(op.results[0].type)
    function: Callable[..., Any] = (
        combine(_BINARY[word], ty)
        if word in _BINARY
        else lambda x: canonical(-x if word.startswith("negate") else x, ty)
    )
    rows = [
        numbers(v, type_of(o.type)) for v, o in zip(values, op.operands, strict=True)
    ]
    return array_of(
        [function(*row) for row in zip(*rows, strict=True)], values[0].shape, ty
    )


SUBGROUP_OPERATIONS: dict[str, Evaluate] = {
    "gpu.subgroup_mma_load_matrix": _load,
    "gpu.subgroup_mma_store_matrix": _store,
    "gpu.subgroup_mma_compute": _compute,
    "gpu.subgroup_mma_constant_matrix": _constant,
    "gpu.subgroup_mma_elementwise": _elementwise,
}


TILE = 8
"""Rows of a tile that ``ldmatrix`` loads, 16 bytes each."""


def _ldmatrix(m: Machine, op: Operation, source: MemRef, *index: int) -> Array:
    """Lane ``8 t + r`` supplies the address of row r of tile t."""
    brought = exchanged(m, op, index, of_warp=True)
    shape = op.results[0].type.shape  # pyright: ignore[reportAttributeAccessIssue]
    tiles, each = shape
    lane, name = m.thread.lane, name_of(op.operands[0])
    values: list[Any] = []
    for tile in range(tiles):
        for n in range(each):
            row, column = lane // 4, lane % 4 * each + n
            if _is_set(op, "transpose"):
                row, column = column, row
            *outer, first = brought[TILE * tile + row]
            values.append(source.load((*outer, first + column), name))
    return array_of(values, shape, source.type)


def _is_set(op: Operation, name: str) -> bool:
    value = op.attributes.get(name)
    return bool(value.value) if isinstance(value, IntegerAttr) else False


def _fragment_positions(
    role: str, lane: int, shape: tuple[int, ...], rows: int
) -> list[Any]:
    """Row and column of each element of a lane, in register order."""
    g, t = divmod(lane, 4)
    registers, each = shape
    halves = max(rows // TILE, 1)
    found: list[tuple[int, int]] = []
    for v in range(registers):
        for n in range(each):
            along = each * t + n
            found.append(
                {
                    "A": (g + TILE * (v % halves), along + 4 * each * (v // halves)),
                    "B": (along + 4 * each * v, g),
                    "C": (g + TILE * v, 2 * t + n),
                }[role]
            )
    return found


def _whole(
    brought: Mapping[int, list[Any]], role: str, shape: tuple[int, ...], rows: int
) -> dict[tuple[int, int], Any]:
    """The matrix assembled from the fragments of all lanes."""
    return {
        place: value
        for lane, values in brought.items()
        for place, value in zip(
            _fragment_positions(role, lane, shape, rows), values, strict=True
        )
    }


def _mma(m: Machine, op: Operation, *fragments: Array) -> Array:
    """The product; each sum is rounded once. Operands of f32 are truncated to tf32."""
    types = [element_type(v.type) for v in op.operands]
    mine = [numbers(v, ty) for v, ty in zip(fragments, types, strict=True)]
    if types[0] == F32:
        mine = [*map(_cut, mine[:2]), mine[2]]
    brought = exchanged(m, op, mine, of_warp=True)
    everyone = {n: brought.get(n, mine) for n in range(WARP)}
    entries = op.entries("mmaShape")
    rows, _, depth = (e.value for e in entries if isinstance(e, IntegerAttr))
    a, b = (
        _whole({n: v[i] for n, v in everyone.items()}, role, fragments[i].shape, rows)
        for i, role in enumerate("AB")
    )
    made = [
        summed([start, *(a[i, k] * b[k, j] for k in range(depth))], types[2])
        for (i, j), start in zip(
            _fragment_positions("C", m.thread.lane, fragments[2].shape, rows),
            mine[2],
            strict=True,
        )
    ]
    return array_of(made, np.shape(fragments[2]), types[2])


def _cut(values: Sequence[Any]) -> list[float]:
    """Truncate f32 to tf32: clear the 13 low bits of the significand."""
    codes = np.array(values, "f4").view("u4") & np.uint32(0xFFFFE000)
    return codes.view("f4").tolist()


FRAGMENT_OPERATIONS: dict[str, Evaluate] = {
    "nvgpu.ldmatrix": _ldmatrix,
    "nvgpu.mma.sync": _mma,
}
