"""Making and taking apart tiles: constants, lanes, shapes, outer products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.lowering import (
    Face,
    Lowering,
    carrier,
    is_pointer,
    signature,
    tile_or_scalar,
)
from gpucodegen.intrinsics.framework.vector_type import Tile, llvm_scalar
from gpucodegen.intrinsics.tiles import memory, tiles

Shape = tuple[int, ...]


def constant(face: Face, shape: Shape, name: str, value: Any) -> Any:
    """``constant()``: one number everywhere, or row-major numbers."""
    tile = Tile(shape, carrier(name))
    count = tile.rows * tile.columns
    numbers = value if isinstance(value, Sequence) else [value] * count

    def lower(low: Lowering) -> Any:
        scalar = llvm_scalar(tile.dtype)
        return low.from_elements(tile, [ir.Constant(scalar, x) for x in numbers])

    return face.define(f"constant_{_text(shape)}", 0, lambda: signature(tile), lower)


def splat(face: Face, shape: Shape, name: str) -> Any:
    """``splat(x)``: a scalar in every element."""
    tile = Tile(shape, carrier(name))

    def lower(low: Lowering, x: Any) -> Any:
        piece = low.splat(x, low.lanes(tile))
        return low.pack(tile, [piece] * (tile.rows * low.per_row(tile)))

    return face.define(
        f"splat_{_text(shape)}", 1, lambda _: signature(tile, tile.dtype), lower
    )


def broadcast_rows(face: Face, m: int, n: int, name: str) -> Any:
    """``broadcast_rows(v)``: the same row ``m`` times."""
    row, tile = Tile((n,), carrier(name)), Tile((m, n), carrier(name))

    def lower(low: Lowering, v: Any) -> Any:
        return low.pack(tile, low.pieces(v) * m)

    return face.define(
        f"broadcast_rows_{m}x{n}", 1, lambda _: signature(tile, row), lower
    )


def broadcast_columns(face: Face, m: int, n: int, name: str) -> Any:
    """``broadcast_columns(v)``: each element of an ``m x 1`` tile ``n`` times."""
    column, tile = Tile((m, 1), carrier(name)), Tile((m, n), carrier(name))

    def lower(low: Lowering, v: Any) -> Any:
        width, count = low.lanes(tile), low.per_row(tile)
        rows = [low.splat(low.lane(piece, 0), width) for piece in low.pieces(v)]
        return low.pack(tile, [piece for piece in rows for _ in range(count)])

    return face.define(
        f"broadcast_columns_{m}x{n}", 1, lambda _: signature(tile, column), lower
    )


def shape_cast(face: Face, source: Shape, target: Shape, name: str) -> Any:
    """``shape_cast(v)``: the same elements, row-major, in another shape."""
    before, after = Tile(source, carrier(name)), Tile(target, carrier(name))

    def lower(low: Lowering, v: Any) -> Any:
        return low.from_elements(after, low.elements(before, v))

    return face.define(
        f"shape_cast_{_text(source)}_{_text(target)}",
        1,
        lambda _: signature(after, before),
        lower,
    )


def from_elements(face: Face, shape: Shape, name: str) -> Any:
    """``from_elements(x0, x1, ...)``, row-major."""
    tile = Tile(shape, carrier(name))
    count = tile.rows * tile.columns

    def lower(low: Lowering, *scalars: Any) -> Any:
        return low.from_elements(tile, scalars)

    return face.define(
        f"from_elements_{_text(shape)}",
        count,
        lambda *_: signature(tile, *[tile.dtype] * count),
        lower,
    )


def extract(face: Face, shape: Shape, name: str, position: Shape) -> Any:
    """``extract(v)``: a row or an element at a static position."""
    tile = Tile(shape, carrier(name))
    result = tile_or_scalar(shape[len(position) :], name)

    def lower(low: Lowering, v: Any) -> Any:
        first, offset = _place(low, tile, position)
        pieces = low.pieces(v)
        if isinstance(result, Tile):
            return low.pack(result, pieces[first : first + low.per_row(tile)])
        return low.lane(pieces[first], offset)

    return face.define("extract", 1, lambda _: signature(result, tile), lower)


def insert(face: Face, shape: Shape, name: str, position: Shape) -> Any:
    """``insert(x, v)``: ``v`` with a row or an element replaced."""
    tile = Tile(shape, carrier(name))
    part = tile_or_scalar(shape[len(position) :], name)

    def lower(low: Lowering, x: Any, v: Any) -> Any:
        first, offset = _place(low, tile, position)
        pieces = low.pieces(v)
        if isinstance(part, Tile):
            pieces[first : first + low.per_row(tile)] = low.pieces(x)
        elif low.lanes(tile) == 1:
            pieces[first] = x
        else:
            lane = ir.Constant(ir.IntType(32), offset)
            pieces[first] = low.builder.insert_element(pieces[first], x, lane)
        return low.pack(tile, pieces)

    return face.define("insert", 2, lambda *_: signature(tile, part, tile), lower)


def _place(low: Lowering, tile: Tile, position: Shape) -> tuple[int, int]:
    """(piece, lane) of the first element at a position."""
    is_2d = len(tile.shape) == 2
    row = position[0] if is_2d else 0
    column = 0 if is_2d and len(position) == 1 else position[-1]
    width = low.lanes(tile)
    return row * low.per_row(tile) + column // width, column % width


def outerproduct(face: Face, m: int, n: int, name: str, fused: bool = True) -> Any:
    """``outerproduct(a, b, acc)``: ``acc[i][j] + a[i] * b[j]``.

    A fused one rounds once where the processor has such instructions: LLVM's
    ``fmuladd``.  ``n = 0`` takes a scalar ``b`` and one row: ``acc[i] + a[i] * b``.
    """
    dtype = carrier(name)
    left = Tile((m,), dtype)
    right = Tile((n,), dtype) if n else dtype
    tile = Tile((m, n), dtype) if n else left

    def lower(low: Lowering, a: Any, b: Any, acc: Any) -> Any:
        sums = low.pieces(acc)
        width = low.lanes(tile)
        if n:
            row = low.pieces(b)
            factors = [low.splat(x, width) for x in low.elements(left, a)]
            pairs = [(x, y) for x in factors for y in row]
        else:
            factor = low.splat(b, width)
            pairs = [(x, factor) for x in low.pieces(a)]
        terms = zip(pairs, sums, strict=True)
        return low.pack(tile, [_add(low, x, y, s, fused) for (x, y), s in terms])

    return face.define(
        f"outerproduct_{m}x{n}",
        3,
        lambda *_: signature(tile, left, right, tile),
        lower,
    )


def outerproduct_column(
    face: Face, m: int, n: int, name: str, fused: bool = True
) -> Any:
    """``outerproduct_column(p, off, stride, b, acc)``: the left column from memory.

    Each element is loaded right before its multiply-adds.  Loading the column first
    would keep all its elements in registers beside the accumulators and spill them.
    """
    dtype = carrier(name)
    right, tile = Tile((n,), dtype), Tile((m, n), dtype)

    def typing_rule(p: Any, off: Any, stride: Any, *_: Any) -> Any:
        if not is_pointer(p):
            return None
        index = tiles.index_type(off, stride)
        return signature(tile, p, index, index, right, tile)

    def lower(low: Lowering, p: Any, off: Any, stride: Any, b: Any, acc: Any) -> Any:
        row, sums, width = low.pieces(b), low.pieces(acc), low.lanes(tile)
        result: list[Any] = []
        for place in tiles.places(low, Tile((m,), dtype), p, off, stride, stride):
            factor = low.splat(memory.read(low, place, name), width)
            for y in row:
                result.append(_add(low, factor, y, sums[len(result)], fused))
        return low.pack(tile, result)

    return face.define(f"outerproduct_column_{m}x{n}", 5, typing_rule, lower)


def _add(low: Lowering, x: Any, y: Any, total: Any, fused: bool) -> Any:
    scalar = getattr(total.type, "element", total.type)
    if isinstance(scalar, ir.IntType):
        return low.builder.add(total, low.builder.mul(x, y))
    if fused:
        return low.overloaded("fmuladd", (x, y, total))
    return low.builder.fadd(total, low.builder.fmul(x, y))


def _text(shape: Shape) -> str:
    return "x".join(map(str, shape))
