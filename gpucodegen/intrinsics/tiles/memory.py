"""Loads and stores of scalars, rows, columns and tiles through flat pointers.

Offsets and strides count elements.  Narrow floats are bits in memory and float32 in a
kernel; a store rounds to nearest, ties to even.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.framework.lowering import (
    I1,
    I32,
    Face,
    Lowering,
    carrier,
    is_pointer,
    number,
    shaped_like,
    signature,
    suffix,
)
from gpucodegen.intrinsics.framework.vector_type import Tile, llvm_scalar
from gpucodegen.intrinsics.scalars.narrow import bits_type, narrow, widen
from gpucodegen.ir.number_formats import NARROW

# Addresses and single elements.


def address(low: Lowering, pointer: Any, offset: Any) -> Any:
    """The address of an element."""
    return low.builder.gep(pointer, [offset])


def memory_scalar(name: str) -> ir.Type:
    """The LLVM type of an element in memory."""
    if name in NARROW:
        return bits_type(name)
    if name == "i1":
        return ir.IntType(8)
    return llvm_scalar(carrier(name))


def is_converted(name: str) -> bool:
    """Whether an element is not stored as it is held."""
    return memory_scalar(name) != llvm_scalar(carrier(name))


def _retyped(low: Lowering, place: Any, ty: ir.Type) -> Any:
    return low.builder.bitcast(place, ir.PointerType(ty))


def _from_memory(low: Lowering, value: Any, name: str) -> Any:
    if name in NARROW:
        return widen(low, value, name)
    if name == "i1":
        return low.builder.icmp_unsigned("!=", value, number(value.type, 0))
    return value


def _to_memory(low: Lowering, value: Any, name: str) -> Any:
    if name in NARROW:
        return narrow(low, value, name)
    if name == "i1":
        return low.builder.zext(value, shaped_like(ir.IntType(8), value.type))
    return value


def read(low: Lowering, place: Any, name: str) -> Any:
    """One element at an address."""
    size = element(name).size
    place = _retyped(low, place, memory_scalar(name))
    return _from_memory(low, low.builder.load(place, align=size), name)


def write(low: Lowering, place: Any, value: Any, name: str) -> None:
    """Store one element at an address."""
    size = element(name).size
    place = _retyped(low, place, memory_scalar(name))
    low.builder.store(_to_memory(low, value, name), place, align=size)


def load(face: Face, name: str) -> Any:
    """``load(p, i)``: one element."""

    def typing_rule(p: Any, i: Any) -> Any:
        return signature(carrier(name), p, i) if is_pointer(p) else None

    def lower(low: Lowering, p: Any, i: Any) -> Any:
        return read(low, address(low, p, i), name)

    return face.define(f"load_{name}", 2, typing_rule, lower)


def store(face: Face, name: str) -> Any:
    """``store(p, i, x)``: one element."""

    def typing_rule(p: Any, i: Any, _x: Any) -> Any:
        return signature(types.void, p, i, carrier(name)) if is_pointer(p) else None

    def lower(low: Lowering, p: Any, i: Any, x: Any) -> None:
        write(low, address(low, p, i), x, name)

    return face.define(f"store_{name}", 3, typing_rule, lower)


# Rows: consecutive elements.  ``valid`` lanes of a piece are in memory; an LLVM value
# for a run-time count, an int for a static one.


def _chunk(size: int, align: int, left: int) -> int:
    """Elements of the widest access that the known alignment allows on a GPU."""
    best = 1
    for elements in (2, 4, 8, 16):
        bytes_ = elements * size
        if bytes_ <= 16 and elements <= left and align and align % bytes_ == 0:
            best = elements
    return best


def row_elements(
    low: Lowering, place: Any, columns: int, name: str, align: int
) -> list[Any]:
    """Scalars of a row, by the widest accesses that ``align`` allows."""
    size, values = element(name).size, []
    while len(values) < columns:
        first = len(values)
        count = _chunk(size, align, columns - first)
        start = low.builder.gep(place, [ir.Constant(I32, first)])
        if count == 1:
            values.append(read(low, start, name))
            continue
        ty = ir.VectorType(memory_scalar(name), count)
        block = low.builder.load(_retyped(low, start, ty), align=size * count)
        block = _from_memory(low, block, name)
        values += [low.lane(block, i) for i in range(count)]
    return values


def write_row_elements(
    low: Lowering, place: Any, values: list[Any], name: str, align: int
) -> None:
    """Store the scalars of a row, by the widest accesses that ``align`` allows."""
    size, first = element(name).size, 0
    while first < len(values):
        count = _chunk(size, align, len(values) - first)
        start = low.builder.gep(place, [ir.Constant(I32, first)])
        if count == 1:
            write(low, start, values[first], name)
        else:
            scalar = values[first].type
            block = ir.Constant(ir.VectorType(scalar, count), ir.Undefined)
            for i in range(count):
                lane = ir.Constant(I32, i)
                block = low.builder.insert_element(block, values[first + i], lane)
            block = _to_memory(low, block, name)
            low.builder.store(
                block, _retyped(low, start, block.type), align=size * count
            )
        first += count


def mask(low: Lowering, width: int, valid: Any) -> Any:
    """The first ``valid`` lanes, as bits."""
    if isinstance(valid, int):
        return ir.Constant(ir.VectorType(I1, width), [i < valid for i in range(width)])
    lanes = ir.Constant(ir.VectorType(valid.type, width), list(range(width)))
    return low.builder.icmp_signed("<", lanes, low.splat(valid, width))


def load_piece(
    low: Lowering, place: Any, width: int, valid: Any, name: str, align: int, pad: Any
) -> Any:
    """One piece of a row; lanes that are not in memory are ``pad``."""
    scalar = memory_scalar(name)
    if width == 1 and isinstance(valid, int):
        return read(low, place, name)
    ty = ir.VectorType(scalar, width)
    place = _retyped(low, place, ty)
    if valid == width:
        value = low.builder.load(place, align=align)
        return _from_memory(low, value, name)
    filler = number(ty, 0) if pad is None else low.splat(pad, width)
    bits = mask(low, width, valid)
    return _from_memory(low, _selected(low, place, bits, filler, align), name)


def _selected(low: Lowering, place: Any, bits: Any, filler: Any, align: int) -> Any:
    return low.call(
        f"llvm.masked.load.{suffix(filler.type)}.p0",
        filler.type,
        (place, ir.Constant(I32, align), bits, filler),
    )


def load_selected(
    low: Lowering, place: Any, bits: Any, otherwise: Any, name: str
) -> Any:
    """A piece of a row where ``bits`` are set, ``otherwise`` in the other lanes."""
    filler = _to_memory(low, otherwise, name)
    place = _retyped(low, place, filler.type)
    size = element(name).size
    return _from_memory(low, _selected(low, place, bits, filler, size), name)


def store_selected(low: Lowering, place: Any, value: Any, bits: Any, name: str) -> None:
    """Store the lanes of a piece where ``bits`` are set."""
    value = _to_memory(low, value, name)
    place = _retyped(low, place, value.type)
    low.call(
        f"llvm.masked.store.{suffix(value.type)}.p0",
        ir.VoidType(),
        (value, place, ir.Constant(I32, element(name).size), bits),
    )


def store_piece(
    low: Lowering, place: Any, value: Any, width: int, valid: Any, name: str, align: int
) -> None:
    """Store the valid lanes of one piece."""
    if width == 1 and isinstance(valid, int):
        write(low, place, value, name)
        return
    if valid == width:
        stored = _to_memory(low, value, name)
        place = _retyped(low, place, stored.type)
        low.builder.store(stored, place, align=align)
        return
    store_selected(low, place, value, mask(low, width, valid), name)


Place = Callable[[int], Any]
"""The address of the first element of a row."""


def load_rows(low: Lowering, tile: Tile, place: Place, name: str, align: int) -> Any:
    """A tile whose rows are consecutive in memory."""
    if not low.face.register_bytes:
        values: list[Any] = []
        for row in range(tile.rows):
            values += row_elements(low, place(row), tile.columns, name, align)
        return low.pack(tile, values)
    width, pieces = low.lanes(tile), []
    least = max(align, element(name).size) if tile.rows == 1 else element(name).size
    for row in range(tile.rows):
        start = place(row)
        for first in range(0, tile.columns, width):
            here = low.builder.gep(start, [ir.Constant(I32, first)])
            valid = min(width, tile.columns - first)
            pieces.append(load_piece(low, here, width, valid, name, least, None))
    return low.pack(tile, pieces)


def store_rows(
    low: Lowering, tile: Tile, place: Place, value: Any, name: str, align: int
) -> None:
    """Store a tile whose rows are consecutive in memory."""
    pieces = low.pieces(value)
    if not low.face.register_bytes:
        for row in range(tile.rows):
            line = pieces[row * tile.columns : (row + 1) * tile.columns]
            write_row_elements(low, place(row), line, name, align)
        return
    width, per_row = low.lanes(tile), low.per_row(tile)
    least = max(align, element(name).size) if tile.rows == 1 else element(name).size
    for row in range(tile.rows):
        start = place(row)
        for i in range(per_row):
            here = low.builder.gep(start, [ir.Constant(I32, i * width)])
            valid = min(width, tile.columns - i * width)
            piece = pieces[row * per_row + i]
            store_piece(low, here, piece, width, valid, name, least)
