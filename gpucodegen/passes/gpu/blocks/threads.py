"""Parallel loops of a block divided among its threads.

Loops are dealt out together when each starts at one place and surely ends within a
constant number of iterations; where it may end earlier, a guard stands around the body.
The innermost loop runs along neighbouring threads.  A loop without others in it may end
anywhere: each thread takes steps over the iterations of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from gpucodegen.dialects.shared.dma import TRANSFERS
from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact, substituted
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.facts.mapped_loops import MappedLoop, mapped_loops
from gpucodegen.tiling.machine.gpu.devices import WARP

MAX_THREADS = 256


@dataclass(frozen=True, slots=True)
class Dealt:
    """A parallel loop of at most ``extent`` iterations; limits may end it earlier."""

    loop: MappedLoop
    extent: int
    limits: tuple[Index, ...]


def dealt_loops(op: Operation, analysis: NestAnalysis) -> list[Dealt]:
    """The perfectly nested parallel loops from ``op`` inwards that can be dealt out.

    All threads execute a transfer together, so none may stand inside.
    """
    loops: list[Dealt] = []
    if any(inner.name in TRANSFERS for inner in op.walk()):
        return loops
    while op.name == "affine.for":
        found = [_dealt(loop) for loop in mapped_loops(op, analysis)]
        if not found or found[0] is None:
            break
        loops.append(found[0])
        inner = inner_operations(op)
        if len(inner) != 1:
            break
        op = inner[0]
    return loops


def _dealt(loop: MappedLoop) -> Dealt | None:
    spans = [compact(upper - loop.lower).constant for upper in loop.uppers]
    known = [span for span in spans if span is not None]
    if not known:
        return None
    open_ends = (u for u, span in zip(loop.uppers, spans, strict=True) if span is None)
    return Dealt(loop, max(0, -(-min(known) // loop.step)), tuple(open_ends))


def dealt_row(op: Operation, analysis: NestAnalysis) -> MappedLoop | None:
    """A parallel loop without loops in it; it may end anywhere."""
    found = mapped_loops(op, analysis) if op.name == "affine.for" else []
    if len(found) != 1 or any(o.regions for o in inner_operations(op)):
        return None
    return None if any(o.name in TRANSFERS for o in op.walk()) else found[0]


def thread_count(operations: Sequence[Operation], analysis: NestAnalysis) -> int:
    """Enough threads for the largest divided loop nest, at most `MAX_THREADS`."""
    largest = max(
        (
            prod(loop.extent for loop in dealt_loops(inner, analysis))
            for op in operations
            for inner in op.walk()
            if inner.name == "affine.for"
        ),
        default=1,
    )
    return max(WARP, min(MAX_THREADS, -(-largest // WARP) * WARP))


def divide(b: Builder, loops: Sequence[Dealt], thread: Index, threads: int) -> None:
    """Deal the iterations of a parallel nest out to the threads."""
    body = inner_operations(loops[-1].loop.operation)

    def iteration(inner: Builder, number: Value) -> None:
        values: dict[Value, Value] = {}
        limits: list[Index] = []
        for dealt, position in zip(loops, _positions(loops, number), strict=True):
            loop = dealt.loop
            known = {old: Index.of(new) for old, new in values.items()}
            place = substituted(loop.lower, known) + position * loop.step
            iv = inner.index(compact(place), loop.iv.name)
            values[loop.iv] = iv
            limits += [substituted(limit, known) - 1 - iv for limit in dealt.limits]
        inner.guard(
            limits,
            lambda i: i.operations.extend(substitute_values(o, values) for o in body),
        )

    total = prod(loop.extent for loop in loops)
    b.loop(thread, total, iteration, step=threads, hint="e")


def _positions(loops: Sequence[Dealt], number: Value) -> list[Index]:
    """The position in each loop of the ``number``-th iteration, innermost fastest."""
    positions: list[Index] = []
    size = 1
    for depth, loop in reversed(list(enumerate(loops))):
        here = Index.of(number) // size if size > 1 else Index.of(number)
        positions.insert(0, here % loop.extent if depth else here)
        size *= loop.extent
    return positions
