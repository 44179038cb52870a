"""Elements of arrays that a thread has in registers, from one loop to the next.

A thread that runs the same iterations of several loops has what it loaded or stored
before: a second load takes the value, and a store that no one reads before the next one
to the same element is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.analysis.lifting.buffers.aliases import Aliases
from gpucodegen.passes.framework.indexing import Index, substituted


@dataclass(frozen=True, slots=True)
class Element:
    """One that a thread touches in its ``slot``-th iterations of a row."""

    memref: Value
    place: tuple[Index, ...]
    slot: int


Values = tuple[Value, ...]
"""Of consecutive elements."""


@dataclass(slots=True)
class KeptElements:
    """What is known at a point of a straight program.

    ``is_on``: iterations stand one after the other, not in loops.  ``written``: buffers
    that the program stores to.
    """

    aliases: Aliases = field(default_factory=Aliases)
    is_on: bool = False
    written: frozenset[Value] = frozenset()
    values: dict[Element, Values] = field(default_factory=dict[Element, Values])
    pending: dict[Element, Sequence[Operation]] = field(
        default_factory=dict[Element, Sequence[Operation]]
    )
    """Stores that nothing has read yet."""
    dead: set[int] = field(default_factory=set[int])
    """Stores that are left out, by identity."""
    position: Value = field(default_factory=lambda: Value(INDEX, "position"))

    def position_of(self, index: Index, along: Value) -> Index:
        """An index with the variable of any row in place of that of one loop."""
        known = {v: Index.of(v) for v in index.values}
        return substituted(index, {**known, along: Index.of(self.position)})

    def loaded(self, element: Element) -> Values | None:
        """What an element is known to hold."""
        return self.values.get(element) if self.is_on else None

    def note_load(self, element: Element, values: Values) -> None:
        """Memory was read: stores to what it may overlap have a reader."""
        self.note_read(element.memref)
        self.values[element] = values

    def note_read(self, memref: Value) -> None:
        """Something of a buffer was read."""
        for other in [e for e in self.pending if self._overlaps(e.memref, memref)]:
            del self.pending[other]

    def note_store(
        self, element: Element, values: Values, operations: Sequence[Operation]
    ) -> None:
        """Memory was written: what else may be there is not known any more."""
        self.dead.update(id(op) for op in self.pending.pop(element, ()))
        self.note_write(element.memref, element.place)
        self.values[element] = values
        self.pending[element] = operations

    def note_write(self, memref: Value, place: tuple[Index, ...] | None = None) -> None:
        """Something of a buffer was written, at a place if it is known.

        Parallel iterations write to different elements at one place.
        """
        for other in list(self.values):
            is_same = other.memref is memref and other.place == place
            if not is_same and self._overlaps(other.memref, memref):
                del self.values[other]

    def may_change(self, memref: Value) -> bool:
        """Whether the program may store to a buffer."""
        return any(self._overlaps(memref, other) for other in self.written)

    def forget(self) -> None:
        """Anything may have been read and written."""
        self.values.clear()
        self.pending.clear()

    def drop(self, buffers: Sequence[Value]) -> None:
        """The program is over, and nothing reads these buffers any more."""
        for element, operations in self.pending.items():
            if element.memref in buffers:
                self.dead.update(map(id, operations))

    def _overlaps(self, one: Value, other: Value) -> bool:
        return one is other or self.aliases.may_overlap(one, other)
