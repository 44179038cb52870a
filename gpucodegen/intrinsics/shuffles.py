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
