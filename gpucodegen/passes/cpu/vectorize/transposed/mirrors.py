"""Two loops that store along both of them: a triangle and its mirror image.

    for i { for j >= i { A[i, j] = v; A[j, i] = v } }

Tiles are as many rows and columns as a vector has lanes; what is stored along the other
loop is transposed in registers.  The columns of each row may begin and end elsewhere:

    for blocks of rows:               (parallel if the nest was)
      tiles over the columns that all rows of the block have, from a whole vector on
      the other columns of each row, one by one
    the rows that are left, one by one
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.passes.contraction.recognition.operands import coefficients, is_linear
from gpucodegen.passes.cpu.vectorize.loops import range_in
from gpucodegen.passes.cpu.vectorize.recognize import Body
from gpucodegen.passes.cpu.vectorize.transposed.accesses import (
    Line,
    Plane,
    line_of,
    only_loop,
    planes_of,
)
from gpucodegen.passes.cpu.vectorize.transposed.transposes import PlaneTile
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, replace_values
from gpucodegen.passes.framework.nests import inner_operations


@dataclass(frozen=True, slots=True)
class Mirror:
    """A nest of two loops; the bounds of the ``column`` depend on the row."""

    rows: Line
    column: Value
    lower: Index
    upper: Index
    body: Body
    planes: dict[Operation, Plane]

    @property
    def bits(self) -> int:
        """Width of the elements."""
        return next(iter(self.body.bits))

    def build(self, lanes: int, *, parallel: bool) -> list[Operation]:
        """The loops; ``parallel`` ones over blocks of rows."""
        b, rows = Builder(self.body.operations[0].location), self.rows
        blocks, left = divmod(rows.trips, lanes)

        def block(inner: Builder, number: Value) -> None:
            self._block(inner, rows.lower + Index.of(number) * lanes, lanes)

        if parallel and blocks:
            b.parallel([blocks], lambda i, ivs: block(i, ivs[0]), [rows.iv.name])
        elif blocks:
            b.loop(0, blocks, block, hint=rows.iv.name)
        if left:
            first = rows.lower + blocks * lanes
            self._scalars(b, (first, first + left), ([], []))
        return b.operations

    def _block(self, b: Builder, first: Index, lanes: int) -> None:
        """The rows from ``first`` on: tiles, and the columns on both sides of them."""
        ends = first, first + (lanes - 1)
        start = self._extreme(self.lower, ends, 1)
        start = (start + (lanes - 1)) // lanes * lanes
        end = self._extreme(self.upper, ends, -1)
        behind = start + (end - start) // lanes * lanes

        def tile(i: Builder, column: Value) -> None:
            made = PlaneTile(self.body, i, Index.of(column), lanes)
            made.rows, made.planes = lanes, self.planes
            made.scalars[self.rows.iv] = i.index(first)
            made.build()

        b.loop(start, end - (lanes - 1), tile, step=lanes, hint=self.column.name)
        rows = first, first + lanes
        self._scalars(b, rows, ([], [start]))
        self._scalars(b, rows, ([start, behind], []))

    def _extreme(self, bound: Index, ends: tuple[Index, Index], sign: int) -> Index:
        """A bound at the row where it is largest, or for -1 least."""
        rises = coefficients(bound).get(self.rows.iv, 0) * sign > 0
        return replace_values(bound, {self.rows.iv: ends[rises]})

    def _scalars(
        self,
        b: Builder,
        rows: tuple[Index, Index],
        more: tuple[Sequence[Index], Sequence[Index]],
    ) -> None:
        """Element by element, with ``more`` bounds of the columns."""

        def row(i: Builder, r: Value) -> None:
            lower, upper = (
                replace_values(bound, {self.rows.iv: Index.of(r)})
                for bound in (self.lower, self.upper)
            )

            def element(j: Builder, c: Value) -> None:
                known = {self.rows.iv: r, self.column: c}
                j.operations += [clone(op, known) for op in self.body.operations]

            bounds = [lower, *more[0]], [upper, *more[1]]
            i.loop(*bounds, element, hint=self.column.name)

        b.loop(*rows, row, hint=self.rows.iv.name)


def mirror_of(op: Operation) -> Mirror | None:
    """Two loops that store planes along both of them."""
    rows = line_of(op)
    loop = only_loop(op) if rows else None
    range_ = range_in(loop) if loop else None
    if rows is None or loop is None or not range_ or not range_.is_single:
        return None
    if loop.results:
        return None  # what it carries keeps its order
    (column,), lower, upper = loop.body.arguments, range_.lowers[0], range_.uppers[0]
    found = planes_of(rows.iv, column, inner_operations(loop))
    if found is None or not (is_linear(lower) and is_linear(upper)):
        return None
    body, planes = found
    stored = {plane.transposed for op, plane in planes.items() if not op.results}
    if stored != {False, True}:
        return None
    return Mirror(rows, column, lower, upper, body, planes)
