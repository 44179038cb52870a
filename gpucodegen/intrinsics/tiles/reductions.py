"""The elements of a tile combined into one, in order or in a tree, or row by row.

Comes in: a shape, an element type and an operation that combines.  Goes out: the
intrinsic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.lowering import (
    Face,
    Lowering,
    carrier,
    signature,
)
from gpucodegen.intrinsics.framework.vector_type import Tile
from gpucodegen.intrinsics.scalars.elementwise import ELEMENTWISE
from gpucodegen.intrinsics.scalars.narrow import rounded
from gpucodegen.ir.number_formats import NARROW

ROUNDED = frozenset({"addf", "mulf"})
"""Those whose result may need more bits than its operands."""


def combination(name: str, operation: str) -> Any:
    """What combines two elements of a type, narrow floats rounded each time."""
    _, combine = ELEMENTWISE[operation]
    if name not in NARROW or operation not in ROUNDED:
        return combine
    return lambda low, *values: rounded(low, combine(low, *values), name)


def reduce(face: Face, n: int, name: str, operation: str) -> Any:
    """``reduce(v, init)``: the elements combined from the first to the last."""
    tile = Tile((n,), carrier(name))
    combine = combination(name, operation)

    def lower(low: Lowering, v: Any, total: Any) -> Any:
        for scalar in low.elements(tile, v):
            total = combine(low, total, scalar)
        return total

    return face.define(
        f"reduce_{operation}_{n}",
        2,
        lambda *_: signature(tile.dtype, tile, tile.dtype),
        lower,
    )


def reduce_freely(face: Face, n: int, name: str, operation: str) -> Any:
    """``reduce_freely(v, init)``: the elements in a tree, then ``init``."""
    tile = Tile((n,), carrier(name))
    combine = combination(name, operation)

    def lower(low: Lowering, v: Any, total: Any) -> Any:
        whole = low.pieces(v) if n % low.lanes(tile) == 0 else low.elements(tile, v)
        (inner,) = folded(low, combine, [_tree(low, combine, whole)])
        return combine(low, total, inner)

    return face.define(
        f"reduce_freely_{operation}_{n}",
        2,
        lambda *_: signature(tile.dtype, tile, tile.dtype),
        lower,
    )


def reduce_rows(face: Face, m: int, n: int, name: str, operation: str) -> Any:
    """``reduce_rows(v, init)``: each row combined, in a tree, with its ``init``."""
    tile, column = Tile((m, n), carrier(name)), Tile((m,), carrier(name))
    combine = combination(name, operation)

    def lower(low: Lowering, v: Any, totals: Any) -> Any:
        width, per_row, pieces = low.lanes(tile), low.per_row(tile), low.pieces(v)
        lines = [pieces[row * per_row : (row + 1) * per_row] for row in range(m)]
        if n % width or width == 1:
            scalars = low.elements(tile, v)
            lines = [scalars[row * n : (row + 1) * n] for row in range(m)]
        rows = [_tree(low, combine, line) for line in lines]
        sums: list[Any] = []
        for first in range(0, m, width):
            sums += folded(low, combine, rows[first : first + width])
        starts = low.elements(column, totals)
        return low.from_elements(
            column, [combine(low, *pair) for pair in zip(starts, sums, strict=True)]
        )

    return face.define(
        f"reduce_rows_{operation}_{m}x{n}",
        2,
        lambda *_: signature(column, tile, column),
        lower,
    )


def _tree(low: Lowering, combine: Any, values: Sequence[Any]) -> Any:
    """All values combined, neighbours first."""
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=False)
        odd = values[len(values) & ~1 :]
        values = [*(combine(low, *pair) for pair in pairs), *odd]
    return values[0]


def folded(low: Lowering, combine: Any, rows: Sequence[Any]) -> list[Any]:
    """The combined lanes of each of the vectors.

    Two vectors at a time become one: halves of the lanes of each row are combined, and
    the rows lie side by side, so that n rows take about n combinations, not n log n.
    """
    if not isinstance(rows[0].type, ir.VectorType):
        return list(rows)
    width = lanes = rows[0].type.count
    wanted = len(rows)
    vectors = [*rows, *[rows[0]] * ((1 << (wanted - 1).bit_length()) - wanted)]
    while lanes > 1:
        lanes //= 2
        starts = range(0, width, 2 * lanes)
        halves = [[i + j for i in starts for j in range(lanes)]]
        halves.append([j + lanes for j in halves[0]])
        if len(vectors) == 1:
            low_half, high_half = (low.shuffle(*vectors * 2, h) for h in halves)
            vectors = [combine(low, low_half, high_half)]
            width //= 2
            continue
        both = [[*h, *(j + width for j in h)] for h in halves]
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [
            combine(low, low.shuffle(x, y, both[0]), low.shuffle(x, y, both[1]))
            for x, y in pairs
        ]
    return [low.lane(vectors[0], i) for i in range(wanted)]
