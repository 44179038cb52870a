"""Launches of more blocks than hardware takes at once, as several launches.

Along y and z a grid has at most 65535 blocks.  Where a kernel needs more, or the number
is not known yet, the host walks that dimension in chunks, and the kernel counts from
the first block of its chunk:

    for first = 0 to blocks step 65535
      launch kernel (x, min(65535, blocks - first), z) with (..., first)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gpucodegen.dialects.gpu import dimension_of
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.tiling.machine.gpu.devices import GRID

Chunks = Mapping[int, Value]
"""Dimensions (0: x) that the host walks, and the first block of a chunk in each."""


def in_chunks(
    operations: Sequence[Operation], grid: Sequence[Index]
) -> tuple[list[Operation], Chunks]:
    """The body of a kernel that counts its blocks from the first of a chunk."""
    location = operations[0].location
    chunks = {
        dimension: Value(INDEX, f"first_{'xyz'[dimension]}", location)
        for dimension, (extent, most) in enumerate(zip(grid, GRID, strict=True))
        if dimension and (extent.constant is None or extent.constant > most)
    }

    def counted(op: Operation) -> list[Operation] | None:
        dimension = "xyz".index(dimension_of(op)) if op.name == "gpu.block_id" else 0
        if dimension not in chunks:
            return None
        inside, b = op.result.renewed(), Builder(op.location)
        b.index(Index.of(inside) + chunks[dimension], op.result.name)
        (apply,) = b.operations
        return [op.with_(results=(inside,)), apply.with_(results=op.results)]

    if not chunks:
        return list(operations), chunks
    return [new for op in operations for new in rewrite_bottom_up(op, counted)], chunks


def walk(
    b: Builder,
    grid: Sequence[Index],
    chunks: Chunks,
    launch: Callable[[Builder, Sequence[Value], Mapping[Value, Value]], None],
) -> None:
    """Loops over the chunks around a launch.

    ``launch`` gets the blocks of a chunk along x, y and z, and the first of them for
    each value of ``chunks``.
    """
    extents: list[Value] = []
    firsts: dict[Value, Value] = {}

    def dimension(b: Builder, number: int) -> None:
        if number == len(grid):
            launch(b, extents, firsts)
        elif number not in chunks:
            extents.append(b.index(grid[number], "grid"))
            dimension(b, number + 1)
        else:
            b.loop(
                0,
                Index.of(b.index(grid[number], "blocks")),
                lambda i, first: one(i, number, first),
                step=GRID[number],
                hint=chunks[number].name,
            )

    def one(b: Builder, number: int, first: Value) -> None:
        left = grid[number] - first
        firsts[chunks[number]] = first
        extents.append(b.smallest([Index.of(GRID[number]), left], "grid"))
        dimension(b, number + 1)

    dimension(b, 0)
