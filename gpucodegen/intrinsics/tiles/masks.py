"""Masks as tiles of bits, and the rows in memory that they select."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
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
from gpucodegen.intrinsics.tiles.regrouping import regroup_pieces


def first_lanes(face: Face, n: int) -> Any:
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
    return memory.mask(low, width, left)


def vload_selected(face: Face, n: int, name: str) -> Any:
    """``vload_selected(p, off, mask, otherwise)``: other lanes are not touched."""
    tile, bits = Tile((n,), carrier(name)), Tile((n,), types.boolean)

    def typing_rule(p: Any, off: Any, mask: Any, otherwise: Any) -> Any:
        if not is_pointer(p) or mask != bits or otherwise != tile:
            return None
        return signature(tile, p, types.unliteral(off), bits, tile)

    def lower(low: Lowering, p: Any, off: Any, mask: Any, otherwise: Any) -> Any:
        rows = zip(
            _places(low, tile, p, off),
            regroup_pieces(low, bits, tile, low.pieces(mask)),
            low.pieces(otherwise),
            strict=True,
        )
        return low.pack(tile, [_load(low, name, *row) for row in rows])

    return face.define(f"vload_selected_{n}_{name}", 4, typing_rule, lower)


def vstore_selected(face: Face, n: int, name: str) -> Any:
    """``vstore_selected(p, off, mask, v)``: other elements stay."""
    tile, bits = Tile((n,), carrier(name)), Tile((n,), types.boolean)

    def typing_rule(p: Any, off: Any, mask: Any, value: Any) -> Any:
        if not is_pointer(p) or mask != bits or value != tile:
            return None
        return signature(types.void, p, types.unliteral(off), bits, tile)

    def lower(low: Lowering, p: Any, off: Any, mask: Any, value: Any) -> None:
        rows = zip(
            _places(low, tile, p, off),
            regroup_pieces(low, bits, tile, low.pieces(mask)),
            low.pieces(value),
            strict=True,
        )
        for row in rows:
            _store(low, name, *row)

    return face.define(f"vstore_selected_{n}_{name}", 4, typing_rule, lower)


def _places(low: Lowering, tile: Tile, p: Any, off: Any) -> list[Any]:
    """The address of each piece of a row."""
    start = memory.address(low, p, off)
    return [
        low.builder.gep(start, [ir.Constant(ir.IntType(32), first)])
        for first in range(0, tile.columns, low.lanes(tile))
    ]


def _load(low: Lowering, name: str, place: Any, bits: Any, otherwise: Any) -> Any:
    if isinstance(bits.type, ir.VectorType):
        return memory.load_selected(low, place, bits, otherwise, name)
    builder = low.builder
    before = builder.block
    with builder.if_then(bits):
        value = memory.read(low, place, name)
        reading = builder.block
    merged = builder.phi(value.type)
    merged.add_incoming(otherwise, before)
    merged.add_incoming(value, reading)
    return merged


def _store(low: Lowering, name: str, place: Any, bits: Any, value: Any) -> None:
    if isinstance(bits.type, ir.VectorType):
        memory.store_selected(low, place, value, bits, name)
        return
    with low.builder.if_then(bits):
        memory.write(low, place, value, name)
