"""nvgpu: fragments of matrices in the lanes of a warp, as PTX deals them out.

PTX ISA, "Warp-level matrix instructions": with ``g`` a lane's quarter (lane // 4) and
``t`` its place there (lane % 4), and ``e`` elements in 32 bits,

- A: register v has row ``g + 8 (v % 2)`` and columns ``e t + 4 e (v // 2)`` on
- B: register v has rows ``e t + 4 e v`` on, and column ``g``
- C: register v has row ``g + 8 v`` and columns ``2 t`` and ``2 t + 1``
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpucodegen.dialects.gpu.communication.meetings import WARP
from gpucodegen.interp.gpu.communication import exchanged
from gpucodegen.interp.gpu.matrices import summed
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.interp.values.elements import Array, array_of, numbers
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import F32, element_type

TILE = 8
"""Rows of a tile that one instruction loads, 16 bytes each."""


def _ldmatrix(m: Machine, op: Operation, source: MemRef, *index: int) -> Array:
    """Lane ``8 t + r`` brings the place of row r of tile t."""
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


def _places(role: str, lane: int, shape: tuple[int, ...], rows: int) -> list[Any]:
    """Row and column of each element of a lane, register after register."""
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
    """A matrix from the fragments of all lanes."""
    return {
        place: value
        for lane, values in brought.items()
        for place, value in zip(_places(role, lane, shape, rows), values, strict=True)
    }


def _mma(m: Machine, op: Operation, *fragments: Array) -> Array:
    """Each sum is rounded once.  Of f32 factors the bits of a tf32 are read."""
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
            _places("C", m.thread.lane, fragments[2].shape, rows), mine[2], strict=True
        )
    ]
    return array_of(made, np.shape(fragments[2]), types[2])


def _cut(values: Sequence[Any]) -> list[float]:
    """Numbers without the 13 bits of an f32 that a tf32 does not have."""
    codes = np.array(values, "f4").view("u4") & np.uint32(0xFFFFE000)
    return codes.view("f4").tolist()


OPERATIONS: dict[str, Evaluate] = {
    "nvgpu.ldmatrix": _ldmatrix,
    "nvgpu.mma.sync": _mma,
}
