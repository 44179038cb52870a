"""Loops over which the sums of a product may stay in registers.

A loop around a product, directly, adds to the same cells in each iteration:

    for k { .. C[i, j] += a b .. }   =>   s = 0; for k { .. s += a b .. }; C[i, j] += s

That is so where the cells do not move with the loop, which runs at least once, and
nothing else in it reads or writes them:

    { x -> y in dependences : x writes C, y is of another operation of the loop } = {}

and the same with x and y turned around.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.framework.nests import inner_operations


def kept_over(
    nest: Operation,
    around: Sequence[Operation],
    result: Operand,
    outside: Mapping[Value, Index],
    analysis: NestAnalysis,
) -> tuple[Operation, ...]:
    """The loops, outermost first; ``around``: those around the nest, directly.

    ``outside``: what indices of the result depend on besides values of the program.
    """
    own = set(_made_in(nest))
    places = {result.memref, *_outer_values(result, outside)} - own
    loops: list[Operation] = []
    inner = nest
    for loop in reversed(around):
        others = [op for op in inner_operations(loop) if op is not inner]
        is_apart = not _touch(nest, others, analysis)
        moves = not places.isdisjoint(_made_in(loop))
        if loop.results or moves or not is_apart:
            break
        loops.insert(0, loop)
        inner = loop
        if not surely_runs(loop):
            break
    return tuple(loops)


def runs(loop: Operation) -> list[Index]:
    """What is >= 0 if a loop runs: it begins before it ends."""
    view = affine.For(loop)
    lowers = from_map(view.lower_map, view.lower_operands)
    uppers = from_map(view.upper_map, view.upper_operands)
    return [upper - lower - 1 for upper in uppers for lower in lowers]


def surely_runs(loop: Operation) -> bool:
    """Whether a loop runs at least once."""
    limits = [limit.constant for limit in runs(loop)]
    return all(limit is not None and limit >= 0 for limit in limits)


def _made_in(loop: Operation) -> Iterator[Value]:
    """Values of a loop, its variable among them."""
    for op in loop.walk():
        yield from op.results
        for block in (block for region in op.regions for block in region.blocks):
            yield from block.arguments


def _outer_values(result: Operand, outside: Mapping[Value, Index]) -> Iterator[Value]:
    for index in result.indices:
        for value in index.values:
            yield from outside[value].values if value in outside else (value,)


def _touch(
    nest: Operation, others: Sequence[Operation], analysis: NestAnalysis
) -> bool:
    """Whether others access the cells that a nest writes."""
    after = analysis.conflicts([nest], others)
    before = analysis.conflicts(others, [nest])
    return any(d.source.access.writes for d in after) or any(
        d.sink.access.writes for d in before
    )
