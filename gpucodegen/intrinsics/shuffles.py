"""Lane permutations of tiles: shuffles, bitcasts, transposes, regrouping of pieces."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.lowering import (
    Backend,
    Lowering,
    Tile,
    carrier,
    llvm_scalar,
    signature,
)


def regroup(low: Lowering, source: Tile, target: Tile, pieces: list[Any]) -> Any:
    """A tile of ``target`` from pieces grouped as those of ``source``."""
    return low.pack(target, regroup_pieces(low, source, target, pieces))


def regroup_pieces(
    low: Lowering, source: Tile, target: Tile, pieces: list[Any]
) -> list[Any]:
    """Pieces of ``source``'s width, recut to those of ``target``."""
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


def bitcast(face: Backend, source: int, before: str, target: int, after: str) -> Any:
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


def shuffle(face: Backend, n: int, m: int, name: str, mask: tuple[int, ...]) -> Any:
    """``shuffle(v, w)``: the lanes ``mask`` of ``v`` (n) followed by ``w`` (m)."""
    first, second = Tile((n,), carrier(name)), Tile((m,), carrier(name))
    result = Tile((len(mask),), carrier(name))

    def lower(low: Lowering, v: Any, w: Any) -> Any:
        whole = n % low.lanes(first) == 0 and len(mask) % low.lanes(result) == 0
        if max(mask) >= n or not whole or low.lanes(result) == 1:
            lanes = [*low.elements(first, v), *low.elements(second, w)]
            return low.from_elements(result, [lanes[i] for i in mask])
        line = _line(low, low.pieces(v))
        width = low.lanes(result)
        starts = range(0, len(mask), width)
        undefined = ir.Constant(line.type, ir.Undefined)
        return low.pack(
            result, [low.shuffle(line, undefined, mask[i : i + width]) for i in starts]
        )

    return face.define(
        f"shuffle_{n}_{m}", 2, lambda *_: signature(result, first, second), lower
    )


def _line(low: Lowering, pieces: list[Any]) -> Any:
    """All pieces as one vector; LLVM splits it into registers again."""
    line = pieces[0]
    for piece in pieces[1:]:
        count, more = line.type.count, piece.type.count
        undefined = ir.Constant(piece.type, ir.Undefined)
        padded = low.shuffle(piece, undefined, [min(i, more) for i in range(count)])
        line = low.shuffle(line, padded, range(count + more))
    return line


def transpose(face: Backend, m: int, n: int, name: str) -> Any:
    """``transpose(v)``: the columns of ``m x n`` as rows.

    Rows of one register each are transposed in rounds of two shuffles for each pair.
    """
    source, result = Tile((m, n), carrier(name)), Tile((n, m), carrier(name))

    def lower(low: Lowering, v: Any) -> Any:
        side = max(low.lanes(source), low.lanes(result))
        if side == 1 or low.per_row(source) > 1 or low.per_row(result) > 1:
            lanes = low.elements(source, v)
            turned = [lanes[i * n + j] for j in range(n) for i in range(m)]
            return low.from_elements(result, turned)
        rows = [_first_lanes(low, piece, side) for piece in low.pieces(v)]
        rows += [ir.Constant(rows[0].type, ir.Undefined)] * (side - m)
        rows = _turned(low, rows, source.dtype.bitwidth)
        width = low.lanes(result)
        return low.pack(result, [_first_lanes(low, row, width) for row in rows[:n]])

    return face.define(
        f"transpose_{m}x{n}", 1, lambda _: signature(result, source), lower
    )


def _first_lanes(low: Lowering, piece: Any, width: int) -> Any:
    """A piece cut or padded to a number of lanes."""
    count = getattr(piece.type, "count", 1)
    if count == width:
        return piece
    if count == 1:
        return low.splat(piece, width)
    if width == 1:
        return low.lane(piece, 0)
    undefined = ir.Constant(piece.type, ir.Undefined)
    return low.shuffle(piece, undefined, [min(i, count - 1) for i in range(width)])


BLOCK = 128
"""Bits within which x86 interleaves two registers by one cheap instruction."""


def _turned(low: Lowering, rows: list[Any], bits: int) -> list[Any]:
    """The transpose of as many rows as a register has lanes, of ``bits`` bits each.

    In every block of lanes a repeated perfect shuffle of the rows transposes a square;
    the blocks of a register are then rows of blocks, which are transposed likewise.
    """
    side = len(rows)
    block = min(side, BLOCK // bits)
    squares = [
        _interleaved(low, rows[first : first + block])
        for first in range(0, side, block)
    ]
    lines = (_blocks_turned(low, [*line], block) for line in zip(*squares, strict=True))
    return [row for column in zip(*lines, strict=True) for row in column]


def _interleaved(low: Lowering, rows: list[Any]) -> list[Any]:
    """Transposes squares of as many lanes as there are rows.

    A round interleaves the first and the second half of the rows, lane by lane.
    """
    block, width = len(rows), rows[0].type.count
    half = block // 2
    orders = [
        [at + part for at in _starts(width, block, first, half) for part in (0, width)]
        for first in (0, half)
    ]
    for _ in range(block.bit_length() - 1):
        pairs = list(zip(rows[:half], rows[half:], strict=True))
        rows = [low.shuffle(*pair, order) for pair in pairs for order in orders]
    return rows


def _starts(width: int, block: int, first: int, count: int) -> list[int]:
    """Lanes ``first`` to ``first + count`` of each block."""
    return [at + i for at in range(first, width, block) for i in range(count)]


def _blocks_turned(low: Lowering, rows: list[Any], block: int) -> list[Any]:
    """Transposes blocks of rows: even blocks, odd ones, and so on."""
    if len(rows) == 1:
        return rows
    lanes = 2 * rows[0].type.count
    pairs = list(zip(rows[::2], rows[1::2], strict=True))
    even, odd = (
        _blocks_turned(
            low,
            [
                low.shuffle(*pair, _starts(lanes, 2 * block, first, block))
                for pair in pairs
            ],
            block,
        )
        for first in (0, block)
    )
    return [row for both in zip(even, odd, strict=True) for row in both]
