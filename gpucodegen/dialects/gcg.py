"""The gcg dialect: operations and attributes that this compiler adds to a program.

Passes make them; they are not for writing by hand.

``gcg.refuse`` and ``gcg.report`` end a call that accesses memory outside a buffer.
``gcg.refuse`` does so on the host before any kernel runs. ``gcg.report`` records the
access in a loop, which skips it, and the host raises after the loop.

``gcg.handle`` is an operation or a call that an external function executes: one of the
caller, or one of this package that prints or checks. It takes numbers and buffers;
``given`` holds the attributes of the operation.

``gcg.grid_barrier %arrived`` synchronizes all threads of all blocks of a kernel, which
must be resident at once. ``%arrived`` is a word of global memory that no other launch
uses meanwhile and that starts as 0; a barrier leaves its lower 31 bits 0.

``gcg.fragment %sum[row, column]`` is the part that a lane holds of ``16 x 8`` elements
of a warpgroup's accumulator, in the layout of ``nvgpu.mma.sync``: the rows of its warp
among the 64 rows, and the 8 columns, at these numbers.

``vector.outerproduct %a, %b, %c {gcg.words = [i16, i16]}`` takes each element of both
operands for a word of two 16-bit integers, multiplies them part by part, and adds the
products to one 32-bit sum. The first type is that of the parts of ``%a``; ``ui8`` are
unsigned. In memory, the first part of a word has the lowest address.

``gcg.alias_group = distinct[0]<..>`` marks memref arguments that may share memory in
any way with those of the same distinct attribute. All others are assumed not to
overlap, and launches check that.

``gcg.updates``, ``gcg.products`` and ``gcg.bulk_row`` record decisions of the mapping
for the code generator and the report: where atomic updates are combined and why, how
tile products in shared memory are computed, and from how many bytes on rows are copied
by bulk copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework import constraints, kinds
from gpucodegen.dialects.framework.declare import indices, op, pure
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.nvgpu.copies import LEAST_ROW
from gpucodegen.dialects.nvgpu.types import SUM, named
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DictAttr,
    IntegerAttr,
    StringAttr,
    TypeAttr,
    dictionary,
)
from gpucodegen.ir.constants import DistinctAttr
from gpucodegen.ir.locations import UNKNOWN, FileLoc, Location, file_location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I64, IntegerType, MemRefType, UnrankedMemRefType
from gpucodegen.records import dataclass

NAME = "gpucodegen.name"
"""The name of a loop, or of an operation whose loops are named after it."""

ALIAS_GROUP = "gcg.alias_group"


def alias_groups(function: Operation) -> tuple[Attribute | None, ...]:
    """The alias group of each argument, None for an argument that overlaps no other."""
    return tuple(
        dict(attributes.entries).get(ALIAS_GROUP)
        for attributes in Function(function).argument_attributes
    )


def with_groups(function: Operation, groups: Sequence[Attribute | None]) -> Operation:
    if not any(groups):
        return function
    attributes = tuple(
        _with(old, group)
        for old, group in zip(
            Function(function).argument_attributes, groups, strict=True
        )
    )
    return function.with_attribute("arg_attrs", ArrayAttr(attributes))


def _with(attributes: DictAttr, group: Attribute | None) -> DictAttr:
    kept = tuple(entry for entry in attributes.entries if entry[0] != ALIAS_GROUP)
    return dictionary(dict(kept if group is None else (*kept, (ALIAS_GROUP, group))))


def check_groups(function: Operation) -> None:
    """Alias groups are distinct attributes, and only memrefs have them."""
    inputs = Function(function).type.inputs
    for position, group in enumerate(alias_groups(function)):
        if group is None:
            continue
        is_buffer = isinstance(inputs[position], MemRefType | UnrankedMemRefType)
        if not is_buffer or not isinstance(group, DistinctAttr):
            raise errors.WrongAttribute(
                function.location,
                operation=Function(function).name,
                problem=f"attribute '{ALIAS_GROUP}' of argument {position} is {group}",
                hint="Write distinct[0]<..>, on memref arguments only",
            )


BULK_ROW_ATTRIBUTE = "gcg.bulk_row"


@dataclass(frozen=True, slots=True)
class BulkRows:
    """Rows of at least ``row`` bytes are bulk copies where the device has them."""

    row: int = LEAST_ROW

    @property
    def cost(self) -> float:
        """Distance from the estimated threshold, in powers of two."""
        return abs(self.row.bit_length() - LEAST_ROW.bit_length())


BULK_ROW_CHOICES = tuple(BulkRows(1 << n) for n in range(4, 15))
"""Thresholds from 16 bytes (all rows) to 16 KiB (hardly any rows)."""


def with_bulk_rows(kernel: Operation, rows: BulkRows) -> Operation:
    """The kernel with the threshold as its attribute.

    >>> least_row(with_bulk_rows(Operation("gpu.func"), BulkRows(64)))
    64
    """
    return kernel.with_attribute(BULK_ROW_ATTRIBUTE, IntegerAttr(rows.row, I64))


def least_row(kernel: Operation) -> int:
    """Bytes of the shortest rows that a kernel copies by bulk copies."""
    found = kernel.attributes.get(BULK_ROW_ATTRIBUTE)
    return found.value if isinstance(found, IntegerAttr) else LEAST_ROW


_ATTRIBUTES = {
    "buffer": kinds.STRING,
    "verb": kinds.STRING,
    "dimension": kinds.integer(),
    "extent": kinds.integer(),
    "names": kinds.ANY,
}
"""The buffer, the kind of access, the dimension and its extent (-1: dynamic), and a
name for each value."""

_REPORTS = tuple(
    op(
        name,
        "values*",
        None,
        attributes=_ATTRIBUTES,
        infer={"values": indices},
        types={"values": constraints.INDEX_TYPE},
    )
    for name in ("gcg.refuse", "gcg.report")
)

OPERATIONS = (
    *_REPORTS,
    op(
        "gcg.handle",
        "operands* -> results*",
        "$operation `(` $operands `)` attr-dict `:`"
        " functional-type($operands, $results)",
        attributes={"operation": kinds.STRING, "given": kinds.OPTIONAL},
    ),
    op("gcg.grid_barrier", "arrived:memref", "$arrived attr-dict `:` type($arrived)"),
    pure(
        "gcg.fragment",
        "sum -> fragment",
        "$sum `[` $row `,` $column `]` attr-dict `:` type($sum) `->` type($fragment)",
        attributes={"row": kinds.integer(), "column": kinds.integer()},
        types={"sum": named(SUM), "fragment": constraints.VECTOR},
    ),
)


PRODUCTS_ATTRIBUTE = "gcg.products"


@dataclass(frozen=True, slots=True)
class TileProductNote:
    """One product: the arrays, the instruction, and how or why.

    >>> note = TileProductNote("%a by %b to %C", "mma.sync", "4 warps", FileLoc("f", 3))
    >>> attributes = {PRODUCTS_ATTRIBUTE: tile_products_attribute([note])}
    >>> kernel = Operation("gpu.func", attributes=attributes)
    >>> [*tile_product_notes_of(kernel)] == [note]
    True
    """

    what: str
    mechanism: str
    reason: str
    location: Location = UNKNOWN


def tile_products_attribute(notes: Sequence[TileProductNote]) -> ArrayAttr:
    return ArrayAttr(tuple(map(_entry, notes)))


def tile_product_notes_of(kernel: Operation) -> Iterator[TileProductNote]:
    found = kernel.attributes.get(PRODUCTS_ATTRIBUTE)
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


UPDATES_ATTRIBUTE = "gcg.updates"


@dataclass(frozen=True, slots=True)
class UpdateNote:
    """The memory in which atomic updates of one buffer are combined, and the reason.

    >>> from gpucodegen.ir.types import I32, MemRefType
    >>> cells = Value(MemRefType((8,), I32), "c")
    >>> update = Operation("memref.atomic_rmw", (Value(I32), cells))
    >>> update = with_update_note(update, "global memory", "few updates")
    >>> (note,) = update_notes_of([update])
    >>> print(note)
    updates of c: global memory; few updates
    """

    buffer: str
    where: str
    reason: str
    location: Location

    def __str__(self) -> str:
        return f"updates of {self.buffer}: {self.where}; {self.reason}"


def with_update_note(update: Operation, where: str, reason: str) -> Operation:
    """The update with a note of its memory and the reason."""
    words = ArrayAttr((StringAttr(where), StringAttr(reason)))
    return update.with_attribute(UPDATES_ATTRIBUTE, words)


def update_notes_of(operations: Sequence[Operation]) -> Iterator[UpdateNote]:
    """The distinct notes of all updates among these operations."""
    seen: set[tuple[Value, str]] = set()
    for update in (inner for root in operations for inner in root.walk()):
        found = update.attributes.get(UPDATES_ATTRIBUTE)
        if not isinstance(found, ArrayAttr):
            continue
        where, reason = (v.value for v in found.values if isinstance(v, StringAttr))
        buffer = update.operands[1]
        if (buffer, where) not in seen:
            seen.add((buffer, where))
            yield UpdateNote(buffer.name, where, reason, update.location)


STATED_SIZE = "gcg.stated_size"
"""Marks an expansion whose program states an extent by a value, which loops may use."""
WORDS = "gcg.words"

Parts = tuple[IntegerType, IntegerType]
"""Part types of the words of the left and of the right operand."""


def packed_word_attributes(parts: Parts | None) -> dict[str, Attribute]:
    """The attribute for an outer product of packed words; empty for plain numbers."""
    if parts is None:
        return {}
    return {WORDS: ArrayAttr(tuple(map(TypeAttr, parts)))}


def packed_word_parts(op: Operation) -> tuple[str, ...]:
    """Names of the part types of a packed outer product; empty for plain numbers.

    >>> from gpucodegen.ir.types import IntegerType
    >>> parts = IntegerType(8), IntegerType(8, "u")
    >>> attributes = packed_word_attributes(parts)
    >>> packed_word_parts(Operation("vector.outerproduct", attributes=attributes))
    ('i8', 'ui8')
    """
    found = op.attributes.get(WORDS)
    return tuple(map(str, found.values)) if isinstance(found, ArrayAttr) else ()
