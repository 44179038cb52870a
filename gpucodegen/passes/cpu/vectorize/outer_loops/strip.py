"""A strip: as many rows of a loop over rows as vectors have lanes.

What is made for one row and used elsewhere in the body is saved, an element per row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import (
    Operation,
    Value,
    clone,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import VectorType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.map_operands import rewrite_maps


@dataclass(frozen=True, slots=True)
class Strip:
    """``lanes`` rows from ``first`` on; ``left``: how many exist, if fewer may.

    ``saved``: the buffers of the values that other parts of the body use.
    """

    iv: Value
    first: Index
    lanes: int
    left: Index | None
    saved: Mapping[Value, Value]

    @property
    def count(self) -> Index:
        """How many rows exist."""
        return Index.of(self.lanes) if self.left is None else self.left

    def vector_of(self, element: Value) -> VectorType:
        """The type of a value in every lane."""
        return VectorType((self.lanes,), element.type)

    def each_row(self, b: Builder, body: Callable[[Builder, Value], None]) -> None:
        """A loop over the rows, counted from 0."""
        b.loop(0, self.count, body, hint=self.iv.name)

    def row_by_row(self, b: Builder, operations: Sequence[Operation]) -> None:
        """Run operations of one row for each row."""
        made = [value for op in operations for value in op.results]

        def row(inner: Builder, number: Value) -> None:
            known = self.scalars(inner, operations, number)
            copy_at(inner, operations, {self.iv: self.first + number}, known)
            for value in made:
                if value in self.saved:
                    inner.store(known[value], self.saved[value], [number])

        self.each_row(b, row)

    def scalars(
        self, b: Builder, operations: Sequence[Operation], number: Value
    ) -> dict[Value, Value]:
        """The saved values that operations of one row use from elsewhere, loaded."""
        made = {value for op in operations for value in op.results}
        wanted = [v for v in self.saved if v in used_by(operations) - made]
        return {v: b.load(self.saved[v], [number], v.name) for v in wanted}

    def vectors(self, b: Builder, used: Iterable[Value]) -> dict[Value, Value]:
        """The saved values among those used, a row in each lane."""
        return {
            v: b.affine_vector_load(self.saved[v], [0], self.vector_of(v), v.name)
            for v in self.saved
            if v in used
        }


def used_by(operations: Iterable[Operation]) -> set[Value]:
    """All values that operations, and those nested in them, use."""
    return {value for op in operations for inner in op.walk() for value in inner.used}


def copy_at(
    b: Builder,
    operations: Sequence[Operation],
    places: Mapping[Value, Index],
    known: dict[Value, Value],
) -> None:
    """Append copies; variables of loops are at ``places``, other values ``known``.

    ``known`` gets the values that the copies define.
    """
    known.update({old: old.renewed() for old in places})
    indices = {known[old]: index for old, index in places.items()}
    copies = [
        copy
        for op in operations
        for copy in rewrite_bottom_up(
            clone(op, known), lambda o: [rewrite_maps(o, indices)]
        )
    ]
    used = used_by(copies)
    rest = {v: b.index(index, v.name) for v, index in indices.items() if v in used}
    b.operations += [substitute_values(op, rest) for op in copies]
