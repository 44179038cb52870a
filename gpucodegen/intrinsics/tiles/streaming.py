"""Stores past the caches, and the addresses where they may begin."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.framework.lowering import (
    I32,
    I64,
    Face,
    Lowering,
    carrier,
    is_pointer,
    number,
    signature,
)
from gpucodegen.intrinsics.framework.vector_type import Tile
from gpucodegen.intrinsics.tiles import memory, tiles


def vstore_streaming(face: Face, n: int, name: str) -> Any:
    """``vstore_streaming(p, off, v)``: no read for ownership where registers fit.

    A register goes past the caches if its address is a multiple of its size, else the
    usual way: the processor would refuse the store.
    """
    tile = Tile((n,), carrier(name))

    def typing_rule(p: Any, off: Any, value: Any) -> Any:
        if not is_pointer(p) or value != tile:
            return None
        return signature(types.void, p, types.unliteral(off), value)

    def lower(low: Lowering, p: Any, off: Any, value: Any) -> None:
        start, width = memory.address(low, p, off), low.lanes(tile)
        whole = face.register_bytes and n % width == 0 and width > 1
        if not whole or memory.is_converted(name):
            memory.store_rows(low, tile, lambda _: start, value, name, 0)
            return
        size = width * element(name).size
        pieces = low.pieces(value)
        with low.builder.if_else(_is_multiple(low, start, size)) as (fits, otherwise):
            with fits:
                _stream(low, start, pieces, size)
            with otherwise:
                memory.store_rows(low, tile, lambda _: start, value, name, 0)

    return face.define(f"vstore_streaming_{n}_{name}", 3, typing_rule, lower)


def store_tile_streaming(face: Face, m: int, n: int, name: str) -> Any:
    """``store_tile_streaming(p, off, row_stride, v)``: rows past the caches.

    All rows if the first one and the stride are multiples of a register, else none.
    """
    tile = Tile((m, n), carrier(name))

    def typing_rule(p: Any, off: Any, stride: Any, value: Any) -> Any:
        if not is_pointer(p) or value != tile:
            return None
        index = tiles.index_type(off, stride)
        return signature(types.void, p, index, index, value)

    def lower(low: Lowering, p: Any, off: Any, stride: Any, value: Any) -> None:
        start, width, builder = (
            memory.address(low, p, off),
            low.lanes(tile),
            low.builder,
        )

        def row(i: int) -> Any:
            return memory.address(
                low, start, builder.mul(stride, number(stride.type, i))
            )

        whole = face.register_bytes and n % width == 0 and width > 1
        if not whole or memory.is_converted(name):
            memory.store_rows(low, tile, row, value, name, 0)
            return
        size = width * element(name).size
        pieces, per_row = low.pieces(value), low.per_row(tile)
        fitting = builder.and_(
            _is_multiple(low, start, size), _divides(low, stride, width)
        )
        with builder.if_else(fitting) as (fits, otherwise):
            with fits:
                for i in range(m):
                    line = pieces[i * per_row : (i + 1) * per_row]
                    _stream(low, row(i), line, size)
            with otherwise:
                memory.store_rows(low, tile, row, value, name, 0)

    return face.define(f"store_tile_streaming_{m}x{n}_{name}", 4, typing_rule, lower)


def _divides(low: Lowering, stride: Any, width: int) -> Any:
    rest = low.builder.and_(stride, number(stride.type, width - 1))
    return low.builder.icmp_unsigned("==", rest, number(stride.type, 0))


def _is_multiple(low: Lowering, place: Any, size: int) -> Any:
    rest = low.builder.and_(low.builder.ptrtoint(place, I64), number(I64, size - 1))
    return low.builder.icmp_unsigned("==", rest, number(I64, 0))


def _stream(low: Lowering, start: Any, pieces: list[Any], size: int) -> None:
    place = low.builder.bitcast(start, ir.PointerType(pieces[0].type))
    hint = low.builder.module.add_metadata([ir.Constant(I32, 1)])
    for number_, piece in enumerate(pieces):
        here = low.builder.gep(place, [ir.Constant(I32, number_)])
        stored = low.builder.store(piece, here, align=size)
        stored.set_metadata("nontemporal", hint)


def address(face: Face) -> Any:
    """``address(p)``: where a pointer points, as a number."""

    def typing_rule(p: Any) -> Any:
        return signature(types.int64, p) if is_pointer(p) else None

    def lower(low: Lowering, p: Any) -> Any:
        return low.builder.ptrtoint(p, I64)

    return face.define("address", 1, typing_rule, lower)
