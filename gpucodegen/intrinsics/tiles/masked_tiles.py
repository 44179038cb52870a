"""Masked loads and stores: only elements before ``left`` are in memory.

``left`` counts rows and columns of the tile; loads give ``pad`` elsewhere.
"""

from __future__ import annotations

from typing import Any

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
from gpucodegen.intrinsics.tiles.tiles import index_type, offset_at, stores


def vload_masked(face: Face, n: int, name: str) -> Any:
    """``vload_masked(p, off, left, pad)``."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any, left: Any, pad: Any) -> Any:
        return _masked_load(low, tile, name, (p, off, None, None), (None, left), pad)

    return face.define(f"vload_masked_{n}_{name}", 4, _padded_loads(tile), lower)


def vstore_masked(face: Face, n: int, name: str) -> Any:
    """``vstore_masked(p, off, left, v)``."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any, left: Any, value: Any) -> None:
        _masked_store(low, tile, name, (p, off, None, None), (None, left), value)

    return face.define(f"vstore_masked_{n}_{name}", 4, stores(tile), lower)


def load_strided_masked(face: Face, n: int, name: str) -> Any:
    """``load_strided_masked(p, off, stride, left, pad)``."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any, stride: Any, left: Any, pad: Any) -> Any:
        return _masked_load(low, tile, name, (p, off, None, stride), (None, left), pad)

    return face.define(f"load_strided_masked_{n}_{name}", 5, _padded_loads(tile), lower)


def store_strided_masked(face: Face, n: int, name: str) -> Any:
    """``store_strided_masked(p, off, stride, left, v)``."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any, stride: Any, left: Any, v: Any) -> None:
        _masked_store(low, tile, name, (p, off, None, stride), (None, left), v)

    return face.define(f"store_strided_masked_{n}_{name}", 5, stores(tile), lower)


def load_tile_masked(
    face: Face, m: int, n: int, name: str, contiguous: bool = True
) -> Any:
    """``load_tile_masked(p, off, row_stride[, col_stride], rows, columns, pad)``."""
    tile = Tile((m, n), carrier(name))

    def rows(low: Lowering, p: Any, off: Any, stride: Any, *edge: Any) -> Any:
        return _masked_load(low, tile, name, (p, off, stride, None), edge[:2], edge[2])

    def strided(low: Lowering, p: Any, off: Any, stride: Any, *rest: Any) -> Any:
        step, *edge, pad = rest
        return _masked_load(low, tile, name, (p, off, stride, step), edge, pad)

    lower, arity = (rows, 6) if contiguous else (strided, 7)
    return face.define(
        f"load_tile_masked_{m}x{n}_{name}", arity, _padded_loads(tile), lower
    )


def store_tile_masked(
    face: Face, m: int, n: int, name: str, contiguous: bool = True
) -> Any:
    """``store_tile_masked(p, off, row_stride[, col_stride], rows, columns, v)``."""
    tile = Tile((m, n), carrier(name))

    def rows(low: Lowering, p: Any, off: Any, stride: Any, *rest: Any) -> None:
        *edge, value = rest
        _masked_store(low, tile, name, (p, off, stride, None), edge, value)

    def strided(low: Lowering, p: Any, off: Any, stride: Any, *rest: Any) -> None:
        step, *edge, value = rest
        _masked_store(low, tile, name, (p, off, stride, step), edge, value)

    lower, arity = (rows, 6) if contiguous else (strided, 7)
    return face.define(f"store_tile_masked_{m}x{n}_{name}", arity, stores(tile), lower)


Layout = tuple[Any, Any, Any, Any]
"""Pointer, offset, row stride, column stride; None is 0 rows or 1 column apart."""


def _masked_load(
    low: Lowering, tile: Tile, name: str, layout: Layout, edge: Any, pad: Any
) -> Any:
    pointer, offset, row_stride, step = layout
    rows, columns = edge
    if step is None and low.face.register_bytes and not memory.is_converted(name):
        width, pieces = low.lanes(tile), []
        for row in range(tile.rows):
            start = offset_at(low, offset, (row, row_stride))
            inside = _row_columns(low, row, rows, columns)
            for first in range(0, tile.columns, width):
                place = memory.address(
                    low, pointer, offset_at(low, start, (first, None))
                )
                valid = _minus(low, inside, first)
                valid = _at_most(low, valid, tile.columns - first)
                pieces.append(_masked_piece(low, place, width, valid, name, pad))
        return low.pack(tile, pieces)
    values = []
    for row, column, inside in _cells(low, tile, rows, columns):
        where = offset_at(low, offset, (row, row_stride), (column, step))
        values.append(_guarded_read(low, pointer, where, inside, name, pad))
    return low.from_elements(tile, values)


def _masked_piece(
    low: Lowering, place: Any, width: int, valid: Any, name: str, pad: Any
) -> Any:
    if width > 1:
        size = memory.element(name).size
        return memory.load_piece(low, place, width, valid, name, size, pad)
    inside = low.builder.icmp_signed(">", valid, number(valid.type, 0))
    return _guarded_read(low, place, None, inside, name, pad)


def _masked_store(
    low: Lowering, tile: Tile, name: str, layout: Layout, edge: Any, value: Any
) -> None:
    pointer, offset, row_stride, step = layout
    rows, columns = edge
    if step is None and low.face.register_bytes and low.lanes(tile) > 1:
        width, per_row = low.lanes(tile), low.per_row(tile)
        for index, piece in enumerate(low.pieces(value)):
            row, first = index // per_row, index % per_row * width
            start = offset_at(low, offset, (row, row_stride), (first, None))
            valid = _minus(low, _row_columns(low, row, rows, columns), first)
            valid = _at_most(low, valid, tile.columns - first)
            place = memory.address(low, pointer, start)
            size = memory.element(name).size
            memory.store_piece(low, place, piece, width, valid, name, size)
        return
    scalars = low.elements(tile, value)
    cells = _cells(low, tile, rows, columns)
    for (row, column, inside), scalar in zip(cells, scalars, strict=True):
        where = offset_at(low, offset, (row, row_stride), (column, step))
        with low.builder.if_then(inside):
            memory.write(low, memory.address(low, pointer, where), scalar, name)


def _guarded_read(
    low: Lowering, pointer: Any, where: Any, inside: Any, name: str, pad: Any
) -> Any:
    """An element if it is inside, else ``pad``, without touching memory."""
    builder = low.builder
    before = builder.block
    with builder.if_then(inside):
        place = pointer if where is None else memory.address(low, pointer, where)
        value = memory.read(low, place, name)
        reading = builder.block
    merged = builder.phi(value.type)
    merged.add_incoming(pad, before)
    merged.add_incoming(value, reading)
    return merged


def _cells(low: Lowering, tile: Tile, rows: Any, columns: Any) -> Any:
    """(row, column, whether it is inside) of every element."""
    builder = low.builder
    for row in range(tile.rows):
        for column in range(tile.columns):
            inside = builder.icmp_signed(">", columns, number(columns.type, column))
            if rows is not None:
                below = builder.icmp_signed(">", rows, number(rows.type, row))
                inside = builder.and_(inside, below)
            yield row, column, inside


def _row_columns(low: Lowering, row: int, rows: Any, columns: Any) -> Any:
    """How many columns of a row are inside: none of a row below the last."""
    if rows is None:
        return columns
    below = low.builder.icmp_signed(">", rows, number(rows.type, row))
    return low.builder.select(below, columns, number(columns.type, 0))


def _minus(low: Lowering, value: Any, amount: int) -> Any:
    return low.builder.sub(value, number(value.type, amount)) if amount else value


def _at_most(low: Lowering, value: Any, limit: int) -> Any:
    bound = number(value.type, limit)
    is_less = low.builder.icmp_signed("<", value, bound)
    return low.builder.select(is_less, value, bound)


def _padded_loads(tile: Tile) -> Any:
    def rule(p: Any, *rest: Any) -> Any:
        *indices, _ = rest
        if not is_pointer(p):
            return None
        index = index_type(*indices)
        return signature(tile, p, *[index] * len(indices), tile.dtype)

    return rule
