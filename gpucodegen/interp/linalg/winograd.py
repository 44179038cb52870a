"""linalg: Winograd's transforms, ``M x M'`` of each tile, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen.dialects.linalg.named.winograd import MATRICES
from gpucodegen.dialects.linalg.relayout_checks import winograd_sizes
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.elements import Array, array_of, canonical, numbers
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import element_type


def _numbers(op: Operation, position: int, value: Array) -> Array:
    flat = numbers(value, element_type(op.operands[position].type))
    return np.array(flat, float).reshape(value.shape)


def _matrices(op: Operation, part: str, extents: tuple[int, int]) -> list[Array]:
    """One for each side; a side that the tile does not have stays."""
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
    """``n h w c`` to ``h w y x n c``: tiles overlap by what the window reaches."""
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
    """``h w y x n f`` to ``n h w f``, added to what is there."""
    high, wide = _matrices(op, "output", source.shape[:2])
    made = np.einsum("ah,bw,hwyxnf->nyaxbf", high, wide, _numbers(op, 0, source))
    return _rounded(op, _numbers(op, 1, target) + made.reshape(target.shape))


OPERATIONS: dict[str, Evaluate] = {
    "linalg.winograd_filter_transform": _filter,
    "linalg.winograd_input_transform": _input,
    "linalg.winograd_output_transform": _output,
}
