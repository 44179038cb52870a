"""The rows of ``gpucodegen deps --json``: for every pair of accesses, loop by loop.

Comes in: a `Scop` with its listed accesses in pre-order. Goes out: for every ordered
pair (src, dst) and every depth d = 1 .. n+1, with n common affine loops, one row

    [src, dst, d, result]

d <= n asks for a dependence carried by the d-th common loop; its result holds, per
common loop, the exact interval of dst's loop variable minus src's. d = n+1 asks for a
loop-independent one, src before dst in the text, and is answered ``"true"``. Where
there is no dependence the result is ``"false"``. What an opaque loop carries is
loop-independent here, for opaque loops are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from gpucodegen.tiling.model.isl import Interval, Limits
from gpucodegen.tiling.model.relations import Model, Reference, common_loops, model
from gpucodegen.tiling.model.scop import Scop
from gpucodegen.tiling.proof.dependences import distance, levels, may_conflict

Row: TypeAlias = tuple[int, int, int, str]


def rows(scop: Scop, limits: Limits | None = None) -> list[Row]:
    """All rows of one function.

    >>> from gpucodegen.tiling.model.scop import Array, Loop, Statement, nest, read
    >>> from gpucodegen.tiling.model.scop import write
    >>> load = Statement("load", (read("A", "i"),))
    >>> store = Statement("store", (write("A", "i + 1"),))
    >>> body = nest([Loop("i", "0", "10")], (load, store))
    >>> for row in rows(Scop(arrays=(Array("A", (11,)),), body=body)):
    ...     print(*row)
    0 0 1 false
    0 0 2 false
    0 1 1 false
    0 1 2 false
    1 0 1 [1, 1]
    1 0 2 false
    1 1 1 false
    1 1 2 false
    """
    built = model(_as_written(scop), limits)
    listed = [r for r in built.references if r.access.listed]
    return [
        (src, dst, depth, result)
        for src, source in enumerate(listed)
        for dst, sink in enumerate(listed)
        for depth, result in _results(built, source, sink)
    ]


def _as_written(scop: Scop) -> Scop:
    """The same program with one buffer per array, wherever it is allocated."""
    return replace(scop, arrays=tuple(replace(a, scope=()) for a in scop.arrays))


def _results(built: Model, source: Reference, sink: Reference) -> list[tuple[int, str]]:
    """Depth and result of each row of one pair."""
    common = common_loops(source.instances, sink.instances)
    affine = [level for level, loop in enumerate(common) if not loop.opaque]
    depths = range(1, len(affine) + 2)
    if not may_conflict(source, sink):
        return [(depth, "false") for depth in depths]
    row_of = {level: row for row, level in enumerate(affine, start=1)}
    independent = len(affine) + 1
    results = dict.fromkeys(depths, "false")
    for level, intervals in _dependent(built, source, sink):
        row = independent if level is None else row_of.get(level, independent)
        results[row] = "true" if row == independent else _text(intervals, affine)
    return list(results.items())


def _dependent(
    built: Model, source: Reference, sink: Reference
) -> Iterator[tuple[int | None, tuple[Interval, ...]]]:
    """The levels with a dependence, or without an answer, and their distances."""
    for level, pairs in levels(built, source, sink):
        if not built.solver.is_empty(pairs):
            yield level, distance(built, source, sink, level, pairs)


def _text(intervals: Sequence[Interval], affine: Sequence[int]) -> str:
    return "".join(str(intervals[level]) for level in affine)
