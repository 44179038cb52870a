"""Copies between an array and the buffer that holds its tile, as transfers.

A full box of rows is one strided transfer.  Otherwise each row is one, so that partial
tiles stay in the array.  Rows that do not begin at one function of the loops, and
arrays with a layout or in fast memory themselves, are copied by loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from gpucodegen.ir.attributes import AffineMapAttr, Attribute
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I32, MemRefType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index, as_map
from gpucodegen.passes.gpu.transfers.promote.copies import (
    Held,
    Way,
    copy_by_loops,
    over,
)
from gpucodegen.passes.gpu.transfers.promote.rows import RowTransfers, has_runs


@dataclass(slots=True)
class Moves:
    """The operations of one copy, in the order in which they must run."""

    location: Location
    begin: Builder = field(init=False)
    finish: Builder = field(init=False)
    release: Builder = field(init=False)

    def __post_init__(self) -> None:
        """Open the lists."""
        self.begin, self.finish, self.release = (
            Builder(self.location) for _ in range(3)
        )


def by_loops(held: Held, way: Way, location: Location) -> Moves:
    """The copy as loops; it is complete when they are."""
    moves = Moves(location)
    copy_by_loops(moves.begin, held, way)
    return moves


def by_transfers(held: Held, way: Way, location: Location) -> Moves:
    """The copy as transfers, started first and waited for later."""
    ranges = held.ranges(way)
    if ranges is None or not has_runs(held, ranges):
        return by_loops(held, way, location)
    moves, rows = Moves(location), RowTransfers.of(held, ranges)
    shape = held.tile.extents[: len(rows.looped)] or (1,)
    tag_type = MemRefType(shape, I32)
    tag = moves.begin.allocate("memref.alloc", tag_type, f"{held.memref.name}_tag")

    def tag_at(at: Sequence[Value]) -> Place:
        return tag, [Index.of(x) for x in at] or [ZERO]

    def start(b: Builder, at: Sequence[Value]) -> None:
        first = rows.span(at).lowers[0]
        zeros = [ZERO] * (len(ranges) - len(at) - 1)
        here = [*map(Index.of, at), *zeros, first]
        cell = [c + x for c, x in zip(held.corner, here, strict=True)]
        ends = [(held.memref, cell), (held.buffer, here)]
        source, target = ends if way is Way.IN else reversed(ends)
        _dma_start(b, (source, target, tag_at(at)), rows.lengths(b, at))

    def wait(b: Builder, at: Sequence[Value]) -> None:
        _dma_wait(b, tag_at(at), rows.lengths(b, at)[0])

    over(moves.begin, held, rows.looped, start)
    over(moves.finish, held, rows.looped, wait)
    moves.release.add("memref.dealloc", (tag,))
    return moves


COPIES: Mapping[str, Callable[[Held, Way, Location], Moves]] = MappingProxyType(
    {"loops": by_loops, "dma": by_transfers}
)

Place = tuple[Value, Sequence[Index]]
"""A memref and indices into it."""


def _dma_start(b: Builder, ends: Sequence[Place], lengths: Sequence[Value]) -> None:
    names = ("src_map", "dst_map", "tag_map")
    _transfer(b, "affine.dma_start", dict(zip(names, ends, strict=True)), lengths)


def _dma_wait(b: Builder, tag: Place, count: Value) -> None:
    _transfer(b, "affine.dma_wait", {"tag_map": tag}, [count])


def _transfer(
    b: Builder, name: str, ends: Mapping[str, Place], lengths: Sequence[Value]
) -> None:
    operands: list[Value] = []
    attributes: dict[str, Attribute] = {}
    for key, (memref, indices) in ends.items():
        map_, values = as_map(indices)
        operands += [memref, *values]
        attributes[key] = AffineMapAttr(map_)
    b.add(name, (*operands, *lengths), (), attributes)
