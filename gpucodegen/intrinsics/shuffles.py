"""Lanes of vectors in another order."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.lowering import Engine, Lowering, carrier, signature
from gpucodegen.intrinsics.vector_type import Tile


def shuffle(engine: Engine, n: int, m: int, name: str, mask: tuple[int, ...]) -> Any:
    """``shuffle(v, w)``: the lanes ``mask`` of ``v`` (n) and, behind it, ``w`` (m)."""
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

    return engine.define(
        f"shuffle_{n}_{m}", 2, lambda *_: signature(result, first, second), lower
    )


def _line(low: Lowering, pieces: list[Any]) -> Any:
    """All pieces as one vector; LLVM cuts it into registers again."""
    line = pieces[0]
    for piece in pieces[1:]:
        count, more = line.type.count, piece.type.count
        undefined = ir.Constant(piece.type, ir.Undefined)
        padded = low.shuffle(piece, undefined, [min(i, more) for i in range(count)])
        line = low.shuffle(line, padded, range(count + more))
    return line


def transpose(engine: Engine, m: int, n: int, name: str) -> Any:
    """``transpose(v)``: the columns of ``m x n`` as rows.

    Rows of one register each are exchanged in rounds: the round of distance ``d`` moves
    elements between rows and lanes that differ in this bit, by two shuffles for a pair.
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
        distance = side // 2
        while distance:
            rows = _exchanged(low, rows, distance)
            distance //= 2
        width = low.lanes(result)
        return low.pack(result, [_first_lanes(low, row, width) for row in rows[:n]])

    return engine.define(
        f"transpose_{m}x{n}", 1, lambda _: signature(result, source), lower
    )


def _first_lanes(low: Lowering, piece: Any, width: int) -> Any:
    """A piece cut, or filled up, to a number of lanes."""
    count = getattr(piece.type, "count", 1)
    if count == width:
        return piece
    if count == 1:
        return low.splat(piece, width)
    if width == 1:
        return low.lane(piece, 0)
    undefined = ir.Constant(piece.type, ir.Undefined)
    return low.shuffle(piece, undefined, [min(i, count - 1) for i in range(width)])


def _exchanged(low: Lowering, rows: list[Any], distance: int) -> list[Any]:
    """One round: the off-diagonal blocks of every pair of rows change places."""
    side, made = len(rows), list(rows)
    upper = [i if not i & distance else side + i - distance for i in range(side)]
    lower = [i + distance if not i & distance else side + i for i in range(side)]
    for i in range(side):
        if not i & distance:
            pair = rows[i], rows[i + distance]
            made[i] = low.shuffle(*pair, upper)
            made[i + distance] = low.shuffle(*pair, lower)
    return made
