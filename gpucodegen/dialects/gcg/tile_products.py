"""How products of tiles in shared memory are computed: ``gcg.products`` of a kernel.

Comes in: what the mapping decided.  Goes out: an attribute of the kernel, from which
the code generator tells it with the transfers of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DictAttr,
    IntegerAttr,
    StringAttr,
    dictionary,
)
from gpucodegen.ir.locations import UNKNOWN, FileLoc, Location, file_location
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import I64

NAME = "gcg.products"


@dataclass(frozen=True, slots=True)
class TileProductNote:
    """One product: the arrays, the instruction, and how or why.

    >>> note = TileProductNote("%a by %b to %C", "mma.sync", "4 warps", FileLoc("f", 3))
    >>> kernel = Operation("gpu.func", attributes={NAME: as_attribute([note])})
    >>> [*notes_of(kernel)] == [note]
    True
    """

    what: str
    mechanism: str
    reason: str
    location: Location = UNKNOWN


def as_attribute(notes: Sequence[TileProductNote]) -> ArrayAttr:
    """Notes as kernels have them."""
    return ArrayAttr(tuple(map(_entry, notes)))


def notes_of(kernel: Operation) -> Iterator[TileProductNote]:
    """The notes of a kernel; none if it has no such product."""
    found = kernel.attributes.get(NAME)
    for entry in found.values if isinstance(found, ArrayAttr) else ():
        if isinstance(entry, DictAttr):
            yield _note(dict(entry.entries))


def _entry(note: TileProductNote) -> DictAttr:
    words = {"what": note.what, "mechanism": note.mechanism, "reason": note.reason}
    entries: dict[str, Attribute] = {k: StringAttr(v) for k, v in words.items()}
    place = file_location(note.location)
    if place is not None:
        entries["file"] = StringAttr(place.filename)
        entries["line"] = IntegerAttr(place.line, I64)
        entries["column"] = IntegerAttr(place.column, I64)
    return dictionary(entries)


def _note(entries: dict[str, Attribute]) -> TileProductNote:
    words = {k: v.value for k, v in entries.items() if isinstance(v, StringAttr)}
    numbers = {k: v.value for k, v in entries.items() if isinstance(v, IntegerAttr)}
    file = words.pop("file", None)
    place = UNKNOWN if file is None else FileLoc(file, **numbers)
    return TileProductNote(**words, location=place)
