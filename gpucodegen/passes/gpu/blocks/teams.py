"""Threads that walk one program together: those of a block, or of all blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.transfers import TRANSFERS
from gpucodegen.ir.affine.expressions import AffineExpr, Binary
from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact, from_map, substituted
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.tiling.machine.gpu.teams import UNKNOWN


@dataclass(frozen=True, slots=True)
class Team:
    """Threads by their positions, and how many there are of each, the slowest first.

    ``arrived``: the word at which blocks meet, if there are several.
    """

    positions: tuple[tuple[Index, int], ...]
    arrived: Value | None = None

    @property
    def size(self) -> int:
        """How many threads."""
        return prod(count for _, count in self.positions)

    @property
    def number(self) -> Index:
        """A thread's number among all."""
        return _joined(self.positions)[0]

    def meet(self, b: Builder) -> None:
        """Append a barrier of all of them."""
        if self.arrived is None:
            b.add("gpu.barrier")
        else:
            b.add("gcg.grid_barrier", (self.arrived,))

    def lanes(
        self, extents: Sequence[int | None], most: int = 3
    ) -> list[tuple[Index, int]]:
        """Positions along each of some nested loops, outermost first, and their counts.

        Neighbouring positions are joined, so that no loop divides a number; the split
        that needs the fewest rounds is taken.  Loops beyond the innermost ``most``, and
        beyond the positions, get one.

        >>> team = Team(tuple((Index.of(0), n) for n in (132, 16, 32)))
        >>> [[n for _, n in team.lanes(e)] for e in ([None], [9, 900], [9, 9, 9, 9])]
        [[67584], [132, 512], [1, 132, 16, 32]]
        """
        most = min(most, len(self.positions))
        alone = [(Index.of(0), 1)] * max(0, len(extents) - most)
        shared = extents[len(alone) :]
        splits = combinations(range(1, len(self.positions)), len(shared) - 1)
        ways = [
            [_joined(self.positions[i:j]) for i, j in pairwise((0, *cuts, None))]
            for cuts in splits
        ]

        def rounds(way: Sequence[tuple[Index, int]]) -> int:
            known = [UNKNOWN if extent is None else extent for extent in shared]
            counts = [count for _, count in way]
            return prod(-(-n // c) for n, c in zip(known, counts, strict=True))

        return [*alone, *min(ways, key=rounds)]


def _joined(positions: Sequence[tuple[Index, int]]) -> tuple[Index, int]:
    """Several positions as one."""
    number, size = Index.of(0), 1
    for position, count in positions:
        number, size = number * count + position, size * count
    return compact(number), size


def divides(chain: Sequence[Operation]) -> bool:
    """Whether bounds of loops divide, as those of skewed wavefronts do."""
    maps = [
        m for op in chain for m in (affine.For(op).lower_map, affine.For(op).upper_map)
    ]
    return any(_divides(result) for m in maps for result in m.results)


def _divides(expression: AffineExpr) -> bool:
    if not isinstance(expression, Binary):
        return False
    here = expression.op not in ("+", "*")
    return here or _divides(expression.lhs) or _divides(expression.rhs)


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
    b: Builder, chain: Sequence[Operation], lanes: Sequence[tuple[Index, int]]
) -> None:
    """Let every thread run each so many-th iteration of nested parallel loops."""
    body = inner_operations(chain[-1])

    def level(inner: Builder, depth: int, values: dict[Value, Value]) -> None:
        if depth == len(chain):
            inner.operations += [substitute_values(o, values) for o in body]
            return
        loop = affine.For(chain[depth])
        place, count = lanes[depth]
        known = {old: Index.of(new) for old, new in values.items()}
        lowers = from_map(loop.lower_map, loop.lower_operands)
        uppers = from_map(loop.upper_map, loop.upper_operands)
        first = place * loop.step
        inner.loop(
            [compact(substituted(lower, known) + first) for lower in lowers],
            [substituted(upper, known) for upper in uppers],
            lambda i, iv: level(i, depth + 1, {**values, loop.iv: iv}),
            step=loop.step * count,
            hint=loop.iv.name,
        )

    level(b, 0, {})
