"""Tiles of a transposition on their way to rows that begin anywhere in a cache line.

A store that goes past the caches fills whole lines.  Where the rows of the result begin
at different places of them, no tile does: tiles are put side by side into a buffer that
the second-level cache holds, and each row of it is copied by itself.

    for columns of a part: for rows: tiles -> buffer
    for rows: elements before the first line, whole lines, elements behind the last one
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType, element_type
from gpucodegen.passes.cpu.vectorize.loops import Range, until_aligned, vector_loop
from gpucodegen.passes.cpu.vectorize.recognize import recognize
from gpucodegen.passes.cpu.vectorize.transposed.accesses import Plane, Transposition
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, replace_values


@dataclass(frozen=True, slots=True)
class Relay:
    """The part of a transposition's result from ``row`` and ``column`` on, in a buffer.

    ``address``: that of the result.
    """

    nest: Transposition
    buffer: Value
    row: Index
    column: Index
    address: Value

    def filling(self) -> Transposition:
        """The transposition into the buffer."""
        (store,) = (op for op in self.nest.planes if not op.results)
        return replace(self.nest, planes={**self.nest.planes, store: self._plane})

    def copy_row(
        self, b: Builder, row: Value, ends: Sequence[Index], lanes: int
    ) -> None:
        """One row of the buffer, up to the first of ``ends``, into the result."""
        inner, plane = Builder(b.location), self.nest.stored
        known = {self.nest.rows.iv: Index.of(row)}
        source, target = (
            tuple(replace_values(i, known) for i in p.indices)
            for p in (self._plane, plane)
        )
        inner.store(inner.load(self.buffer, source), plane.memref, target)
        body = recognize(self.nest.columns.iv, inner.operations)
        assert body is not None
        (stored,) = (op for op in body.streams if not op.results)
        body.streaming.add(stored)
        part = Range((self.column,), tuple(ends))
        line = body.streams[stored]
        part = until_aligned(b, body, part, lanes, line, self.address)
        vector_loop(b, body, part, lanes)

    @property
    def _plane(self) -> Plane:
        row, column = self.nest.rows.iv, self.nest.columns.iv
        place = Index.of(row) - self.row, Index.of(column) - self.column
        return Plane(self.buffer, place, 0, 1, transposed=False)


def relay_buffer(b: Builder, result: Value, rows: int, width: int) -> Value:
    """Room for ``rows`` of ``width`` elements."""
    ty = MemRefType((rows, width), element_type(result.type))
    return b.allocate("memref.alloca", ty, "relay")
