"""Parallel loops as grids and blocks see them: a start, a step, ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.framework.nests import inner_operations

LOOPS = frozenset({"affine.for", "affine.parallel", "scf.for", "scf.while"})
"""Operations that a kernel may deal out or run."""


@dataclass(frozen=True, slots=True)
class MappedLoop:
    """One dimension of a parallel loop: ``iv = lower + step * position``.

    ``uppers``: exclusive bounds; the least of them ends the loop.
    """

    iv: Value
    lower: Index
    step: int
    uppers: tuple[Index, ...]
    operation: Operation


def mapped_loops(op: Operation, analysis: NestAnalysis) -> list[MappedLoop]:
    """Those of one operation; none if it is not parallel or has several starts."""
    if op.results:
        return []
    if op.name == "affine.parallel":
        return _of_parallel(affine.Parallel(op))
    if op.name == "affine.for" and analysis.is_parallel(op):
        return _of_for(affine.For(op))
    return []


def parallel_chain(
    op: Operation, analysis: NestAnalysis, most: int
) -> list[MappedLoop]:
    """Perfectly nested parallel loops from ``op`` inwards with rectangular bounds.

    No more than ``most`` of them.
    """
    chain: list[MappedLoop] = []
    while True:
        found = mapped_loops(op, analysis)
        ivs = {loop.iv for loop in chain}
        depends = any(
            v in ivs
            for loop in found
            for bound in (loop.lower, *loop.uppers)
            for v in bound.values
        )
        if not found or depends or len(chain) + len(found) > most:
            return chain
        chain += found
        inner = inner_operations(op)
        if len(inner) != 1:
            return chain
        op = inner[0]


def trip_count(loop: MappedLoop) -> Index:
    """Iterations by the first upper bound; the others are guarded in the kernel."""
    span = loop.uppers[0] - loop.lower
    return (span + (loop.step - 1)) // loop.step


def _of_for(loop: affine.For) -> list[MappedLoop]:
    lowers = from_map(loop.lower_map, loop.lower_operands)
    uppers = from_map(loop.upper_map, loop.upper_operands)
    return _starting_once([lowers], [uppers], [loop.iv], [loop.step], loop.operation)


def _of_parallel(loop: affine.Parallel) -> list[MappedLoop]:
    lowers = [from_map(m, loop.lower_operands) for m in loop.lower_maps]
    uppers = [from_map(m, loop.upper_operands) for m in loop.upper_maps]
    return _starting_once(lowers, uppers, loop.ivs, loop.steps, loop.operation)


def _starting_once(
    lowers: Sequence[Sequence[Index]],
    uppers: Sequence[Sequence[Index]],
    ivs: Sequence[Value],
    steps: Sequence[int],
    op: Operation,
) -> list[MappedLoop]:
    if any(len(starts) != 1 for starts in lowers):
        return []
    return [
        MappedLoop(iv, lower, step, tuple(ends), op)
        for iv, (lower,), step, ends in zip(ivs, lowers, steps, uppers, strict=True)
    ]
