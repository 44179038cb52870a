"""Threads that walk one program together: those of a block, or of all blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.transfers import TRANSFERS
from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact, from_map, substituted
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.tiling.machine.gpu.devices import WARP


@dataclass(frozen=True, slots=True)
class Team:
    """``size`` threads in blocks of ``block``, each with its ``number`` among them.

    ``arrived``: the word at which blocks meet, if there are several.
    """

    number: Index
    size: int
    block: int
    arrived: Value | None = None

    def meet(self, b: Builder) -> None:
        """Append a barrier of all of them."""
        if self.arrived is None:
            b.add("gpu.barrier")
        else:
            b.add("gcg.grid_barrier", (self.arrived,))

    def lanes(self, extents: Sequence[int | None]) -> list[int]:
        """How many threads run along each of some nested loops, outermost first.

        An inner loop gets a power of two of a block's threads, a warp where its extent
        is not known; the outermost one gets what is left.

        >>> team = Team(Index.of(0), 1024, 256)
        >>> team.lanes([None]), team.lanes([500, None]), team.lanes([9, 60, 60])
        ([1024], [32, 32], [4, 4, 64])
        """
        left, found = self.block, list[int]()
        for extent in reversed(extents[1:]):
            wanted = WARP if extent is None else extent
            lanes = min(left, 1 << max(wanted - 1, 0).bit_length())
            found.insert(0, lanes)
            left //= lanes
        inner = self.block // left
        return [self.size // inner, *found]


def parallel_chain(op: Operation, analysis: NestAnalysis) -> list[Operation]:
    """The perfectly nested parallel loops from ``op`` inwards, of any bounds.

    All threads execute a transfer together, so none may stand inside.
    """
    chain: list[Operation] = []
    if any(inner.name in TRANSFERS for inner in op.walk()):
        return chain
    while op.name == "affine.for" and analysis.is_parallel(op):
        chain.append(op)
        inner = inner_operations(op)
        if len(inner) != 1:
            break
        op = inner[0]
    return chain


def spread(
    b: Builder, chain: Sequence[Operation], team: Team, lanes: list[int]
) -> None:
    """Let every thread run each so many-th iteration of nested parallel loops."""
    body = inner_operations(chain[-1])
    strides = [1]
    for count in reversed(lanes[1:]):
        strides.insert(0, strides[0] * count)

    def level(inner: Builder, depth: int, values: dict[Value, Value]) -> None:
        if depth == len(chain):
            inner.operations += [substitute_values(o, values) for o in body]
            return
        loop = affine.For(chain[depth])
        place = team.number // strides[depth] if strides[depth] > 1 else team.number
        place = place % lanes[depth] if depth else place
        known = {old: Index.of(new) for old, new in values.items()}
        lowers = from_map(loop.lower_map, loop.lower_operands)
        uppers = from_map(loop.upper_map, loop.upper_operands)
        inner.loop(
            [
                compact(substituted(lower, known) + place * loop.step)
                for lower in lowers
            ],
            [substituted(upper, known) for upper in uppers],
            lambda i, iv: level(i, depth + 1, {**values, loop.iv: iv}),
            step=loop.step * lanes[depth],
            hint=loop.iv.name,
        )

    level(b, 0, {})
