"""Where atomic updates of cells meet, and why: ``gcg.updates`` of an update.

Comes in: what the mapping decided.  Goes out: an attribute of updates, from which the
code generator and the report tell it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpucodegen.ir.attributes import ArrayAttr, StringAttr
from gpucodegen.ir.locations import Location
from gpucodegen.ir.operation import Operation, Value

NAME = "gcg.updates"


@dataclass(frozen=True, slots=True)
class UpdateNote:
    """Updates of one buffer: where they meet, and why there.

    >>> from gpucodegen.ir.types import I32, MemRefType
    >>> cells = Value(MemRefType((8,), I32), "c")
    >>> update = Operation("memref.atomic_rmw", (Value(I32), cells))
    >>> (note,) = notes_of([with_note(update, "global memory", "few updates")])
    >>> print(note)
    updates of c: global memory; few updates
    """

    buffer: str
    where: str
    reason: str
    location: Location

    def __str__(self) -> str:
        return f"updates of {self.buffer}: {self.where}; {self.reason}"


def with_note(update: Operation, where: str, reason: str) -> Operation:
    """An update that tells where it is."""
    words = ArrayAttr((StringAttr(where), StringAttr(reason)))
    return update.with_attribute(NAME, words)


def notes_of(operations: Sequence[Operation]) -> Iterator[UpdateNote]:
    """The notes of all updates in these operations, each of them once."""
    seen: set[tuple[Value, str]] = set()
    for op in (inner for root in operations for inner in root.walk()):
        found = op.attributes.get(NAME)
        if not isinstance(found, ArrayAttr):
            continue
        where, reason = (v.value for v in found.values if isinstance(v, StringAttr))
        buffer = op.operands[1]
        if (buffer, where) not in seen:
            seen.add((buffer, where))
            yield UpdateNote(buffer.name, where, reason, op.location)
