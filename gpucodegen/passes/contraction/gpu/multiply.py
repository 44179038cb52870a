"""What one thread multiplies: quads of rows by quads of columns, from shared memory.

The thread's part of the result is one vector ``quad x quad`` for each quad of its rows
and each of its columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpucodegen.dialects.gcg import Parts
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import FloatType, Type, VectorType
from gpucodegen.passes.contraction.gpu.held import Held
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.tiling.machine.gpu.product_tiles import LaneMap, Side

UNROLLED = 290
"""Instructions of a loop that LLVM surely unrolls whole: it stops at 300."""


@dataclass(frozen=True, slots=True)
class Quads:
    """The first row and column of each quad of a thread, within the block's tile.

    ``held``: both factors in shared memory.
    """

    lanes: LaneMap
    element: Type
    rows: tuple[Index, ...]
    columns: tuple[Index, ...]
    held: tuple[Held, Held]
    words: Parts | None = None

    @staticmethod
    def of(
        b: Builder,
        lanes: LaneMap,
        element: Type,
        thread: Index,
        held: tuple[Held, Held],
        words: Parts | None = None,
    ) -> Quads:
        """Those of a thread; ``words``: what elements of the factors are words of."""
        down, across = lanes.rows, lanes.columns
        group, lane = _divided(thread, down.lanes * across.lanes)
        row, column = lanes.place(lane)
        group_row, group_column = _divided(group, lanes.across)
        return Quads(
            lanes,
            element,
            _starts(b, down, group_row, row, "row"),
            _starts(b, across, group_column, column, "col"),
            held,
            words,
        )

    @property
    def grain(self) -> int:
        """Terms that are multiplied at once."""
        return 1

    @property
    def type(self) -> VectorType:
        """The sums of one quad of rows and one of columns."""
        return VectorType((self.lanes.rows.quad, self.lanes.columns.quad), self.element)

    def multiplied(
        self,
        b: Builder,
        tiles: tuple[Value, Value],
        stage: Index,
        first: Index,
        count: int,
        sums: Sequence[Value],
    ) -> tuple[Value, ...]:
        """Add the products of some terms of a stage, a term after the other.

        They are ``count`` from ``first`` on.
        """
        number = Index.of(b.index(stage, "stage"))
        sides = (self.rows, self.lanes.rows), (self.columns, self.lanes.columns)

        def term(i: Builder, k: Value, acc: Sequence[Value]) -> list[Value]:
            rows, columns = (
                [
                    held.line(
                        *(i, tile, (number, first + k, at)),
                        *(VectorType((side.quad,), self.element), name),
                    )
                    for at in starts
                ]
                for held, tile, (starts, side), name in zip(
                    self.held, tiles, sides, "ab", strict=True
                )
            )
            pairs = [(row, column) for row in rows for column in columns]
            return [
                i.outerproduct(row, column, total, self.words)
                for (row, column), total in zip(pairs, acc, strict=True)
            ]

        for start, stop in pairwise(_cuts(count, UNROLLED // self._instructions)):
            sums = b.carried_loop(start, stop, sums, term, hint="k")
        return tuple(sums)

    @property
    def _instructions(self) -> int:
        """Those of a term, about as LLVM counts them: three for integers' products."""
        down, across = self.lanes.rows, self.lanes.columns
        products = down.quads * down.quad * across.quads * across.quad
        each = 1 if self.words or isinstance(self.element, FloatType) else 3
        return products * each + 4 + down.quads + across.quads


def _cuts(count: int, most: int) -> list[int]:
    """Where stretches of at most so many terms, or of one, begin, and the end.

    >>> _cuts(8, 7), _cuts(8, 8), _cuts(3, 0)
    ([0, 4, 8], [0, 8], [0, 1, 2, 3])
    """
    parts = -(-count // max(1, most))
    return [count * n // parts for n in range(parts + 1)]


def _divided(index: Index, by: int) -> tuple[Index, Index]:
    return index // by, index % by


def _starts(
    b: Builder, side: Side, group: Index, lane: Index, hint: str
) -> tuple[Index, ...]:
    first = Index.of(b.index(group * side.span + lane * side.quad, hint))
    return tuple(first + n * side.lanes * side.quad for n in range(side.quads))
