"""Loads and stores of scalars, rows, columns and tiles through flat pointers.

Offsets and strides count elements.  Narrow floats are stored as bits and are float32 in
a kernel; a store rounds to nearest, ties to even.  Streaming stores bypass the caches
where their addresses are aligned to a register.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.framework.features import cpu_features
from gpucodegen.intrinsics.framework.lowering import (
    I1,
    I32,
    I64,
    Backend,
    Lowering,
    Tile,
    carrier,
    is_pointer,
    llvm_scalar,
    number,
    shaped_like,
    signature,
    suffix,
)
from gpucodegen.intrinsics.narrow_floats import bits_type, narrow, widen
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
    """Whether the stored type of an element differs from its type in registers."""
    return memory_scalar(name) != llvm_scalar(carrier(name))


def retyped(low: Lowering, place: Any, ty: ir.Type) -> Any:
    """The same address, of elements of another type."""
    return low.builder.bitcast(place, ir.PointerType(ty, place.type.addrspace))


def in_address_space(low: Lowering, place: Any, space: int) -> Any:
    """The same address, as one of an address space of LLVM."""
    if place.type.addrspace == space:
        return place
    return low.builder.addrspacecast(place, ir.PointerType(place.type.pointee, space))


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
    place = retyped(low, place, memory_scalar(name))
    return _from_memory(low, low.builder.load(place, align=size), name)


def write(low: Lowering, place: Any, value: Any, name: str) -> None:
    """Store one element at an address."""
    size = element(name).size
    place = retyped(low, place, memory_scalar(name))
    low.builder.store(_to_memory(low, value, name), place, align=size)


def load(face: Backend, name: str) -> Any:
    """``load(p, i)``: one element."""

    def typing_rule(p: Any, i: Any) -> Any:
        return signature(carrier(name), p, i) if is_pointer(p) else None

    def lower(low: Lowering, p: Any, i: Any) -> Any:
        return read(low, address(low, p, i), name)

    return face.define(f"load_{name}", 2, typing_rule, lower)


def store(face: Backend, name: str) -> Any:
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
    """Scalars of a row, by the widest accesses that ``align`` (bytes) allows."""
    size, values = element(name).size, []
    while len(values) < columns:
        first = len(values)
        count = _chunk(size, align, columns - first)
        start = low.builder.gep(place, [ir.Constant(I32, first)])
        if count == 1:
            values.append(read(low, start, name))
            continue
        ty = ir.VectorType(memory_scalar(name), count)
        block = low.builder.load(retyped(low, start, ty), align=size * count)
        block = _from_memory(low, block, name)
        values += [low.lane(block, i) for i in range(count)]
    return values


def write_row_elements(
    low: Lowering, place: Any, values: list[Any], name: str, align: int
) -> None:
    """Stores the scalars of a row, by the widest accesses that ``align`` allows."""
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
                block, retyped(low, start, block.type), align=size * count
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
    """One piece of a row; lanes outside of memory are ``pad``."""
    scalar = memory_scalar(name)
    if width == 1 and isinstance(valid, int):
        return read(low, place, name)
    ty = ir.VectorType(scalar, width)
    place = retyped(low, place, ty)
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
    place = retyped(low, place, filler.type)
    size = element(name).size
    return _from_memory(low, _selected(low, place, bits, filler, size), name)


def store_selected(low: Lowering, place: Any, value: Any, bits: Any, name: str) -> None:
    """Store the lanes of a piece where ``bits`` are set."""
    value = _opaque(low, _to_memory(low, value, name))
    place = retyped(low, place, value.type)
    low.call(
        f"llvm.masked.store.{suffix(value.type)}.p0",
        ir.VoidType(),
        (value, place, ir.Constant(I32, element(name).size), bits),
    )


def _opaque(low: Lowering, value: Any) -> Any:
    """A vector of integers in a register, for a masked store.

    LLVM 22 joins a truncation of wider integers with such a store. Where a constant
    mask has one lane left, it then stores that lane at its full width, over its
    neighbours. It does not look through assembly, which is empty here.
    """
    kind = value.type
    is_narrow = isinstance(kind.element, ir.IntType) and kind.element.width < 64
    bits = kind.count * kind.element.width if is_narrow else 0
    if "avx512f" not in cpu_features() or bits < 16:
        return value
    register, letter = (kind, "x") if bits >= 128 else (ir.IntType(bits), "r")
    plain = low.builder.bitcast(value, register)
    function = ir.FunctionType(register, [register])
    code = ir.InlineAsm(function, "", f"={letter},0")
    return low.builder.bitcast(low.builder.call(code, [plain]), kind)


def store_piece(
    low: Lowering, place: Any, value: Any, width: int, valid: Any, name: str, align: int
) -> None:
    """Store the valid lanes of one piece."""
    if width == 1 and isinstance(valid, int):
        write(low, place, value, name)
        return
    if valid == width:
        stored = _to_memory(low, value, name)
        place = retyped(low, place, stored.type)
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


def vload(face: Backend, n: int, name: str, align: int = 0) -> Any:
    """``vload(p, off)``: ``n`` consecutive elements; ``align`` in bytes."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any) -> Any:
        place = address(low, p, off)
        return load_rows(low, tile, lambda _: place, name, align)

    return face.define(f"vload_{n}_{name}", 2, _loads(tile), lower)


def vstore(face: Backend, n: int, name: str, align: int = 0) -> Any:
    """``vstore(p, off, v)``."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any, value: Any) -> None:
        place = address(low, p, off)
        store_rows(low, tile, lambda _: place, value, name, align)

    return face.define(f"vstore_{n}_{name}", 3, stores(tile), lower)


def load_tile(
    face: Backend, m: int, n: int, name: str, contiguous: bool = True, align: int = 0
) -> Any:
    """``load_tile(p, off, row_stride[, col_stride])``."""
    tile = Tile((m, n), carrier(name))

    def rows(low: Lowering, p: Any, off: Any, row_stride: Any) -> Any:
        def place(row: int) -> Any:
            return address(low, p, offset_at(low, off, (row, row_stride)))

        return load_rows(low, tile, place, name, align)

    def strided(low: Lowering, p: Any, off: Any, row_stride: Any, step: Any) -> Any:
        cells = places(low, tile, p, off, row_stride, step)
        return low.from_elements(tile, [read(low, at, name) for at in cells])

    lower, arity = (rows, 3) if contiguous else (strided, 4)
    return face.define(f"load_tile_{m}x{n}_{name}", arity, _loads(tile), lower)


def store_tile(
    face: Backend, m: int, n: int, name: str, contiguous: bool = True, align: int = 0
) -> Any:
    """``store_tile(p, off, row_stride[, col_stride], v)``."""
    tile = Tile((m, n), carrier(name))

    def rows(low: Lowering, p: Any, off: Any, row_stride: Any, value: Any) -> None:
        def place(row: int) -> Any:
            return address(low, p, offset_at(low, off, (row, row_stride)))

        store_rows(low, tile, place, value, name, align)

    def strided(
        low: Lowering, p: Any, off: Any, row_stride: Any, step: Any, value: Any
    ) -> None:
        cells = places(low, tile, p, off, row_stride, step)
        for at, scalar in zip(cells, low.elements(tile, value), strict=True):
            write(low, at, scalar, name)

    lower, arity = (rows, 4) if contiguous else (strided, 5)
    return face.define(f"store_tile_{m}x{n}_{name}", arity, stores(tile), lower)


def load_strided(face: Backend, n: int, name: str) -> Any:
    """``load_strided(p, off, stride)``: a column."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any, stride: Any) -> Any:
        cells = places(low, tile, p, off, stride, stride)
        return low.from_elements(tile, [read(low, at, name) for at in cells])

    return face.define(f"load_strided_{n}_{name}", 3, _loads(tile), lower)


def store_strided(face: Backend, n: int, name: str) -> Any:
    """``store_strided(p, off, stride, v)``."""
    tile = Tile((n,), carrier(name))

    def lower(low: Lowering, p: Any, off: Any, stride: Any, value: Any) -> None:
        cells = places(low, tile, p, off, stride, stride)
        for at, scalar in zip(cells, low.elements(tile, value), strict=True):
            write(low, at, scalar, name)

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
        address(low, p, offset_at(low, off, (row, row_stride), (column, step)))
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


def vstore_streaming(face: Backend, n: int, name: str) -> Any:
    """``vstore_streaming(p, off, v)``: no read for ownership where registers fit.

    A register is stored non-temporally if its address is a multiple of its size, else
    normally: the instruction faults on other addresses.
    """
    tile = Tile((n,), carrier(name))

    def typing_rule(p: Any, off: Any, value: Any) -> Any:
        if not is_pointer(p) or value != tile:
            return None
        return signature(types.void, p, types.unliteral(off), value)

    def lower(low: Lowering, p: Any, off: Any, value: Any) -> None:
        start, width = address(low, p, off), low.lanes(tile)
        whole = face.register_bytes and n % width == 0 and width > 1
        if not whole or is_converted(name):
            store_rows(low, tile, lambda _: start, value, name, 0)
            return
        size = width * element(name).size
        pieces = low.pieces(value)
        with low.builder.if_else(_is_multiple(low, start, size)) as (fits, otherwise):
            with fits:
                _stream(low, start, pieces, size)
            with otherwise:
                store_rows(low, tile, lambda _: start, value, name, 0)

    return face.define(f"vstore_streaming_{n}_{name}", 3, typing_rule, lower)


def store_tile_streaming(face: Backend, m: int, n: int, name: str) -> Any:
    """``store_tile_streaming(p, off, row_stride, v)``: rows stored non-temporally.

    All rows if the first one and the stride are multiples of a register, else none.
    """
    tile = Tile((m, n), carrier(name))

    def typing_rule(p: Any, off: Any, stride: Any, value: Any) -> Any:
        if not is_pointer(p) or value != tile:
            return None
        index = index_type(off, stride)
        return signature(types.void, p, index, index, value)

    def lower(low: Lowering, p: Any, off: Any, stride: Any, value: Any) -> None:
        start, width, builder = (
            address(low, p, off),
            low.lanes(tile),
            low.builder,
        )

        def row(i: int) -> Any:
            return address(low, start, builder.mul(stride, number(stride.type, i)))

        whole = face.register_bytes and n % width == 0 and width > 1
        if not whole or is_converted(name):
            store_rows(low, tile, row, value, name, 0)
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
                store_rows(low, tile, row, value, name, 0)

    return face.define(f"store_tile_streaming_{m}x{n}_{name}", 4, typing_rule, lower)


def _divides(low: Lowering, stride: Any, width: int) -> Any:
    rest = low.builder.and_(stride, number(stride.type, width - 1))
    return low.builder.icmp_unsigned("==", rest, number(stride.type, 0))


def _is_multiple(low: Lowering, place: Any, size: int) -> Any:
    rest = low.builder.and_(low.builder.ptrtoint(place, I64), number(I64, size - 1))
    return low.builder.icmp_unsigned("==", rest, number(I64, 0))


def _stream(low: Lowering, start: Any, pieces: list[Any], size: int) -> None:
    place = retyped(low, start, pieces[0].type)
    hint = low.builder.module.add_metadata([ir.Constant(I32, 1)])
    for number_, piece in enumerate(pieces):
        here = low.builder.gep(place, [ir.Constant(I32, number_)])
        stored = low.builder.store(piece, here, align=size)
        stored.set_metadata("nontemporal", hint)


def pointer_address(face: Backend) -> Any:
    """``address(p)``: the address in a pointer, as a number."""

    def typing_rule(p: Any) -> Any:
        return signature(types.int64, p) if is_pointer(p) else None

    def lower(low: Lowering, p: Any) -> Any:
        return low.builder.ptrtoint(p, I64)

    return face.define("address", 1, typing_rule, lower)
