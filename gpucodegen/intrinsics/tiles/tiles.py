"""Loads and stores of whole tiles: rows, columns and blocks."""

from __future__ import annotations

from typing import Any

from numba.core import types

from gpucodegen.intrinsics.framework.lowering import (
    Face,
    Lowering,
    carrier,
    is_pointer,
    number,
    signature,
)
from gpucodegen.intrinsics.framework.vector_type import Tile
from gpucodegen.intrinsics.tiles import memory


def vload(face: Face, n: int, name: str, align: int = 0) -> Any:
    """``vload(p, off)``: ``n`` consecutive elements; ``align`` is known in bytes."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any) -> Any:
        place = memory.address(low, p, off)
        return memory.load_rows(low, tile, lambda _: place, name, align)

    return face.define(f"vload_{n}_{name}", 2, _loads(tile), lower)


def vstore(face: Face, n: int, name: str, align: int = 0) -> Any:
    """``vstore(p, off, v)``."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any, value: Any) -> None:
        place = memory.address(low, p, off)
        memory.store_rows(low, tile, lambda _: place, value, name, align)

    return face.define(f"vstore_{n}_{name}", 3, stores(tile), lower)


def load_tile(
    face: Face, m: int, n: int, name: str, contiguous: bool = True, align: int = 0
) -> Any:
    """``load_tile(p, off, row_stride[, col_stride])``."""
    tile = Tile((m, n), carrier(name))

    def rows(low: Lowering, p: Any, off: Any, row_stride: Any) -> Any:
        def place(row: int) -> Any:
            return memory.address(low, p, offset_at(low, off, (row, row_stride)))

        return memory.load_rows(low, tile, place, name, align)

    def strided(low: Lowering, p: Any, off: Any, row_stride: Any, step: Any) -> Any:
        cells = places(low, tile, p, off, row_stride, step)
        return low.from_elements(tile, [memory.read(low, at, name) for at in cells])

    lower, arity = (rows, 3) if contiguous else (strided, 4)
    return face.define(f"load_tile_{m}x{n}_{name}", arity, _loads(tile), lower)


def store_tile(
    face: Face, m: int, n: int, name: str, contiguous: bool = True, align: int = 0
) -> Any:
    """``store_tile(p, off, row_stride[, col_stride], v)``."""
    tile = Tile((m, n), carrier(name))

    def rows(low: Lowering, p: Any, off: Any, row_stride: Any, value: Any) -> None:
        def place(row: int) -> Any:
            return memory.address(low, p, offset_at(low, off, (row, row_stride)))

        memory.store_rows(low, tile, place, value, name, align)

    def strided(
        low: Lowering, p: Any, off: Any, row_stride: Any, step: Any, value: Any
    ) -> None:
        cells = places(low, tile, p, off, row_stride, step)
        for at, scalar in zip(cells, low.elements(tile, value), strict=True):
            memory.write(low, at, scalar, name)

    lower, arity = (rows, 4) if contiguous else (strided, 5)
    return face.define(f"store_tile_{m}x{n}_{name}", arity, stores(tile), lower)


def load_strided(face: Face, n: int, name: str) -> Any:
    """``load_strided(p, off, stride)``: a column."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any, stride: Any) -> Any:
        cells = places(low, tile, p, off, stride, stride)
        return low.from_elements(tile, [memory.read(low, at, name) for at in cells])

    return face.define(f"load_strided_{n}_{name}", 3, _loads(tile), lower)


def store_strided(face: Face, n: int, name: str) -> Any:
    """``store_strided(p, off, stride, v)``."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any, stride: Any, value: Any) -> None:
        cells = places(low, tile, p, off, stride, stride)
        for at, scalar in zip(cells, low.elements(tile, value), strict=True):
            memory.write(low, at, scalar, name)

    return face.define(f"store_strided_{n}_{name}", 4, stores(tile), lower)


def offset_at(low: Lowering, offset: Any, *terms: tuple[int, Any]) -> Any:
    """``offset + sum(count * stride)``; a stride of None is one."""
    for count, stride in terms:
        if not count:
            continue
        step = number(offset.type, count)
        if stride is not None:
            step = low.builder.mul(step, stride)
        offset = low.builder.add(offset, step)
    return offset


def places(
    low: Lowering, tile: Tile, p: Any, off: Any, row_stride: Any, step: Any
) -> list[Any]:
    """Addresses of all elements, row-major."""
    return [
        memory.address(low, p, offset_at(low, off, (row, row_stride), (column, step)))
        for row in range(tile.rows)
        for column in range(tile.columns)
    ]


def index_type(*arguments: Any) -> Any:
    """The common type of offsets and strides: the widest that is not a literal."""
    firm = [a for a in arguments if not isinstance(a, types.Literal)]
    widths = [types.unliteral(a) for a in firm or arguments]
    return max(widths, key=lambda ty: ty.bitwidth)


def _loads(tile: Tile) -> Any:
    def rule(p: Any, *indices: Any) -> Any:
        if not is_pointer(p):
            return None
        return signature(tile, p, *[index_type(*indices)] * len(indices))

    return rule


def stores(tile: Tile) -> Any:
    """Typing of a store: pointer, offset and strides, the tile."""

    def rule(p: Any, *rest: Any) -> Any:
        *indices, value = rest
        if not is_pointer(p) or value != tile:
            return None
        return signature(types.void, p, *[index_type(*indices)] * len(indices), value)

    return rule
