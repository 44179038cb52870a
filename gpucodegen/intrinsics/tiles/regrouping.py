"""The pieces of a tile cut and joined to those of a tile of other elements."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.lowering import (
    Face,
    Lowering,
    carrier,
    signature,
)
from gpucodegen.intrinsics.framework.vector_type import Tile, llvm_scalar


def regroup(low: Lowering, source: Tile, target: Tile, pieces: list[Any]) -> Any:
    """A tile of ``target`` from pieces grouped as those of ``source``."""
    return low.pack(target, regroup_pieces(low, source, target, pieces))


def regroup_pieces(
    low: Lowering, source: Tile, target: Tile, pieces: list[Any]
) -> list[Any]:
    """Pieces with the lanes of ``source`` cut anew with the lanes of ``target``."""
    old, new = low.lanes(source), low.lanes(target)
    if old == new:
        return pieces
    per_row = low.per_row(source)
    result: list[Any] = []
    for row in range(source.rows):
        line = pieces[row * per_row : (row + 1) * per_row]
        result += _cut(low, line, old, new, low.per_row(target))
    return result


def _cut(low: Lowering, line: list[Any], old: int, new: int, count: int) -> list[Any]:
    if new < old:
        parts = old // new
        return [
            low.shuffle(line[i // parts], line[i // parts], _range(new, i % parts))
            for i in range(count)
        ]
    parts = new // old
    groups = [line[i * parts : (i + 1) * parts] for i in range(count)]
    return [_join(low, group, parts) for group in groups]


def _range(width: int, number_: int) -> range:
    return range(number_ * width, (number_ + 1) * width)


def _join(low: Lowering, group: list[Any], parts: int) -> Any:
    group = group + [group[-1]] * (parts - len(group))
    while len(group) > 1:
        width = group[0].type.count
        pairs = zip(group[::2], group[1::2], strict=True)
        group = [low.shuffle(a, b, range(2 * width)) for a, b in pairs]
    return group[0]


def _vector_of(low: Lowering, scalar: Any) -> Any:
    """A vector of one lane, which a scalar becomes by its bits."""
    return low.builder.bitcast(scalar, ir.VectorType(scalar.type, 1))


def bitcast(face: Face, source: int, before: str, target: int, after: str) -> Any:
    """``bitcast(v)``: the bits of a vector, as elements of another width."""
    old, new = Tile((source,), carrier(before)), Tile((target,), carrier(after))

    def lower(low: Lowering, v: Any) -> Any:
        pieces = low.pieces(v)
        if low.lanes(old) == 1:
            pieces = [_vector_of(low, piece) for piece in pieces]
        whole = _join(low, pieces, 1 << (len(pieces) - 1).bit_length())
        bits, width = whole.type.count * old.dtype.bitwidth, low.lanes(new)
        ty = ir.VectorType(llvm_scalar(new.dtype), bits // new.dtype.bitwidth)
        cells, last = low.builder.bitcast(whole, ty), ty.count - 1
        parts = [
            [min(lane, last) for lane in _range(width, part)]
            for part in range(low.per_row(new))
        ]
        if width == 1:
            return low.pack(new, [low.lane(cells, part[0]) for part in parts])
        return low.pack(new, [low.shuffle(cells, cells, part) for part in parts])

    return face.define(f"bitcast_{after}", 1, lambda _: signature(new, old), lower)
