"""A body for several iterations at once, its neighbours in memory moved together.

Each operation is repeated for all iterations before the next one, so that loads of
later iterations do not wait for earlier ones:

    x = A[i]            a = A[i .. i + 1]           (one access)
    B[i] = f(x)   =>    f0 = f(a[0]); f1 = f(a[1])
                        B[i .. i + 1] = f0, f1

Iterations of a parallel loop depend on none of each other, so this is legal.  What an
operation with regions accesses is accessed as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import VectorType, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, from_map, replace_values

Copy = dict[Value, Value]
"""What an iteration has in place of the values of the body."""


@dataclass(frozen=True, slots=True)
class Moved:
    """How the iterations of a group make an access: at once, or once for all.

    ``alignment``: bytes that divide the address of the first one.  ``is_shared``: all
    of them access one element.
    """

    alignment: int = 0
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class Grouped:
    """A body whose variable ``along`` takes ``width`` values in a row, in groups.

    ``moved``: the accesses that a group makes together.
    """

    along: Value
    body: Sequence[Operation]
    width: int
    moved: Mapping[Operation, Moved]

    def build(self, b: Builder, groups: Sequence[Mapping[Value, Value]]) -> None:
        """All groups at once; each gives the variables of its first iteration."""
        starts = dict.fromkeys(places[self.along] for places in groups)
        lanes = {start: self._lanes(b, start) for start in starts}
        each = [
            [{**places, self.along: iv} for iv in lanes[places[self.along]]]
            for places in groups
        ]
        for op in self.body:
            for copies in each:
                self._grouped(b, op, copies)

    def _is_counted(self) -> bool:
        """Whether an iteration needs the variable beside accesses of groups."""
        alone = (op for op in self.body if op not in self.moved)
        return any(self.along in inner.used for op in alone for inner in op.walk())

    def _lanes(self, b: Builder, start: Value) -> list[Value]:
        """The variable in each iteration of a group, if it is needed there."""
        others = range(1, self.width)
        if not self._is_counted():
            return [start] * self.width
        name = self.along.name
        return [start, *(b.index(Index.of(start) + n, name) for n in others)]

    def _grouped(self, b: Builder, op: Operation, copies: Sequence[Copy]) -> None:
        moved = self.moved.get(op)
        if moved is None:
            for copy in copies:
                b.operations.append(clone(op, copy))
        elif moved.is_shared:
            first, *others = copies
            b.operations.append(clone(op, first))
            for copy in others:
                copy[op.result] = first[op.result]
        elif op.results:
            self._load(b, op, copies, moved)
        else:
            self._store(b, op, copies, moved)

    def _load(
        self, b: Builder, op: Operation, copies: Sequence[Copy], moved: Moved
    ) -> None:
        access = affine.Load(op)
        ty = VectorType((self.width,), element_type(op.result.type))
        where = _indices(access.map, access.map_operands, copies[0])
        whole = b.vector_load(
            access.memref, where, ty, op.result.name, alignment=moved.alignment
        )
        for n, copy in enumerate(copies):
            copy[op.result] = b.element(whole, n)

    def _store(
        self, b: Builder, op: Operation, copies: Sequence[Copy], moved: Moved
    ) -> None:
        access = affine.Store(op)
        where = _indices(access.map, access.map_operands, copies[0])
        values = [copy.get(access.value, access.value) for copy in copies]
        whole = b.from_elements(values)
        b.vector_store(whole, access.memref, where, alignment=moved.alignment)


def _indices(map_: AffineMap, operands: Sequence[Value], copy: Copy) -> list[Index]:
    given = from_map(map_, operands)
    known = {value: Index.of(copy.get(value, value)) for value in operands}
    return [replace_values(index, known) for index in given]
