"""Masked loads and stores of tiles: by bounds at an edge, or by tiles of bits.

``left`` counts the rows and columns of the tile that are in memory; loads give ``pad``
elsewhere, and nothing outside is touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics import tile_memory
from gpucodegen.intrinsics.framework.lowering import (
    Backend,
    Lowering,
    Tile,
    carrier,
    is_pointer,
    number,
    signature,
)
from gpucodegen.intrinsics.shuffles import regroup_pieces
from gpucodegen.intrinsics.tile_memory import index_type, offset_at, stores


def first_lanes(face: Backend, n: int) -> Any:
    """``first_lanes(count)``: the lanes before ``count``."""
    tile = Tile((n,), types.boolean)

    def lower(low: Lowering, count: Any) -> Any:
        width, pieces = low.lanes(tile), []
        for first in range(0, n, width):
            left = low.builder.sub(count, number(count.type, first))
            pieces.append(_before(low, width, left))
        return low.pack(tile, pieces)

    def typing_rule(count: Any) -> Any:
        return signature(tile, types.unliteral(count))

    return face.define(f"first_lanes_{n}", 1, typing_rule, lower)


def _before(low: Lowering, width: int, left: Any) -> Any:
    if width == 1:
        return low.builder.icmp_signed(">", left, number(left.type, 0))
    return tile_memory.mask(low, width, left)


def vload_selected(face: Backend, n: int, name: str) -> Any:
    """``vload_selected(p, off, mask, otherwise)``: other lanes are not touched."""
    tile, bits = Tile((n,), carrier(name)), Tile((n,), types.boolean)

    def typing_rule(p: Any, off: Any, mask: Any, otherwise: Any) -> Any:
        if not is_pointer(p) or mask != bits or otherwise != tile:
            return None
        return signature(tile, p, types.unliteral(off), bits, tile)

    def lower(low: Lowering, p: Any, off: Any, mask: Any, otherwise: Any) -> Any:
        rows = _rows(low, tile, (p, off), mask, otherwise)
        return low.pack(tile, [_load(low, name, *row) for row in rows])

    return face.define(f"vload_selected_{n}_{name}", 4, typing_rule, lower)


def vstore_selected(face: Backend, n: int, name: str) -> Any:
    """``vstore_selected(p, off, mask, v)``: other elements stay."""
    tile, bits = Tile((n,), carrier(name)), Tile((n,), types.boolean)

    def typing_rule(p: Any, off: Any, mask: Any, value: Any) -> Any:
        if not is_pointer(p) or mask != bits or value != tile:
            return None
        return signature(types.void, p, types.unliteral(off), bits, tile)

    def lower(low: Lowering, p: Any, off: Any, mask: Any, value: Any) -> None:
        for row in _rows(low, tile, (p, off), mask, value):
            _store(low, name, *row)

    return face.define(f"vstore_selected_{n}_{name}", 4, typing_rule, lower)


def _rows(
    low: Lowering, tile: Tile, place: tuple[Any, Any], mask: Any, values: Any
) -> Iterator[tuple[Any, Any, Any]]:
    """Address, mask and values of each piece of a row."""
    bits = Tile(tile.shape, types.boolean)
    masks = regroup_pieces(low, bits, tile, low.pieces(mask))
    return zip(_places(low, tile, *place), masks, low.pieces(values), strict=True)


def _places(low: Lowering, tile: Tile, p: Any, off: Any) -> list[Any]:
    """The address of each piece of a row."""
    start = tile_memory.address(low, p, off)
    return [
        low.builder.gep(start, [ir.Constant(ir.IntType(32), first)])
        for first in range(0, tile.columns, low.lanes(tile))
    ]


def _load(low: Lowering, name: str, place: Any, bits: Any, otherwise: Any) -> Any:
    if isinstance(bits.type, ir.VectorType):
        return tile_memory.load_selected(low, place, bits, otherwise, name)
    builder = low.builder
    before = builder.block
    with builder.if_then(bits):
        value = tile_memory.read(low, place, name)
        reading = builder.block
    merged = builder.phi(value.type)
    merged.add_incoming(otherwise, before)
    merged.add_incoming(value, reading)
    return merged


def _store(low: Lowering, name: str, place: Any, bits: Any, value: Any) -> None:
    if isinstance(bits.type, ir.VectorType):
        tile_memory.store_selected(low, place, value, bits, name)
        return
    with low.builder.if_then(bits):
        tile_memory.write(low, place, value, name)


def vload_masked(face: Backend, n: int, name: str) -> Any:
    """``vload_masked(p, off, left, pad)``."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any, left: Any, pad: Any) -> Any:
        return _masked_load(low, tile, name, (p, off, None, None), (None, left), pad)

    return face.define(f"vload_masked_{n}_{name}", 4, _padded_loads(tile), lower)


def vstore_masked(face: Backend, n: int, name: str) -> Any:
    """``vstore_masked(p, off, left, v)``."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any, left: Any, value: Any) -> None:
        _masked_store(low, tile, name, (p, off, None, None), (None, left), value)

    return face.define(f"vstore_masked_{n}_{name}", 4, stores(tile), lower)


def load_strided_masked(face: Backend, n: int, name: str) -> Any:
    """``load_strided_masked(p, off, stride, left, pad)``."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any, stride: Any, left: Any, pad: Any) -> Any:
        return _masked_load(low, tile, name, (p, off, None, stride), (None, left), pad)

    return face.define(f"load_strided_masked_{n}_{name}", 5, _padded_loads(tile), lower)


def store_strided_masked(face: Backend, n: int, name: str) -> Any:
    """``store_strided_masked(p, off, stride, left, v)``."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any, stride: Any, left: Any, v: Any) -> None:
        _masked_store(low, tile, name, (p, off, None, stride), (None, left), v)

    return face.define(f"store_strided_masked_{n}_{name}", 5, stores(tile), lower)


def load_tile_masked(
    face: Backend, m: int, n: int, name: str, contiguous: bool = True
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
    face: Backend, m: int, n: int, name: str, contiguous: bool = True
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
    if step is None and low.face.register_bytes and not tile_memory.is_converted(name):
        width, pieces = low.lanes(tile), []
        for row in range(tile.rows):
            start = offset_at(low, offset, (row, row_stride))
            inside = _row_columns(low, row, rows, columns)
            for first in range(0, tile.columns, width):
                place = tile_memory.address(
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
        size = tile_memory.element(name).size
        return tile_memory.load_piece(low, place, width, valid, name, size, pad)
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
            place = tile_memory.address(low, pointer, start)
            size = tile_memory.element(name).size
            tile_memory.store_piece(low, place, piece, width, valid, name, size)
        return
    scalars = low.elements(tile, value)
    cells = _cells(low, tile, rows, columns)
    for (row, column, inside), scalar in zip(cells, scalars, strict=True):
        where = offset_at(low, offset, (row, row_stride), (column, step))
        with low.builder.if_then(inside):
            tile_memory.write(
                low, tile_memory.address(low, pointer, where), scalar, name
            )


def _guarded_read(
    low: Lowering, pointer: Any, where: Any, inside: Any, name: str, pad: Any
) -> Any:
    """An element if it is inside, else ``pad``, without touching memory."""
    builder = low.builder
    before = builder.block
    with builder.if_then(inside):
        place = pointer if where is None else tile_memory.address(low, pointer, where)
        value = tile_memory.read(low, place, name)
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
    """The columns of a row that are inside: none of a row below the last."""
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
