"""The pieces of a tile cut and joined to those of a tile of other elements."""

from __future__ import annotations

from typing import Any

from gpucodegen.intrinsics.lowering import (
    Lowering,
)
from gpucodegen.intrinsics.vector_type import Tile


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
