"""The linalg dialect: typed views and builders of structured operations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import AffineMapAttr, ArrayAttr, Attribute, OpaqueAttr
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Block,
    Operation,
    Segments,
    Value,
    segment_sizes,
    single_block,
)
from gpucodegen.ir.types import (
    INDEX,
    DialectType,
    FloatType,
    IntegerType,
    Type,
    element_type,
)
from gpucodegen.records import dataclass


def iterator(kind: str) -> OpaqueAttr:
    """``#linalg.iterator_type<kind>``."""
    return OpaqueAttr(f"#linalg.iterator_type<{kind}>")


_VIEW = re.compile(r"linalg\.(?:view|buffer)<(?:[\d?]+x)*([if]\d+|bf16|index)>")


def scalar_of(ty: Type) -> Type:
    """The element of a shaped type or a 2019 view; other types stay."""
    match = _VIEW.fullmatch(ty.text) if isinstance(ty, DialectType) else None
    if match is None:
        return element_type(ty)
    name = match[1]
    if name == "index":
        return INDEX
    return IntegerType(int(name[1:])) if name[0] == "i" else FloatType(name)


@dataclass(frozen=True, slots=True)
class Structured:
    """Reading access to ``linalg.generic`` and to every named structured operation."""

    operation: Operation

    inputs = Segments(0, of=2)
    outputs = Segments(1, of=2)

    @property
    def body(self) -> Block:
        """The scalar computation; one argument per operand."""
        return self.operation.body

    @property
    def indexing_maps(self) -> tuple[AffineMap, ...]:
        """One map per operand of a ``linalg.generic``."""
        entries = self.operation.entries("indexing_maps")
        return tuple(m.map for m in entries if isinstance(m, AffineMapAttr))

    @property
    def iterator_types(self) -> tuple[str, ...]:
        """Iterator types of a ``linalg.generic``: ``parallel``, ``reduction``, ..."""
        entries = self.operation.entries("iterator_types")
        return tuple(_iterator_name(entry) for entry in entries)


def destinations(op: Operation, count: int) -> tuple[Value, ...]:
    """The ``count`` operands that an operation updates.

    These are the last ones, except for ``pack`` and ``unpack``, where padding and tile
    sizes follow the destination.
    """
    if op.name in {"linalg.pack", "linalg.unpack"}:
        return op.operands[1:2]
    return op.operands[len(op.operands) - count :]


def _iterator_name(entry: Attribute) -> str:
    text = entry.text if isinstance(entry, OpaqueAttr) else str(entry).strip('"')
    return text.removeprefix("#linalg.iterator_type<").removesuffix(">")


def generic(
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    indexing_maps: Sequence[AffineMap],
    iterator_types: Sequence[str],
    arguments: Sequence[Value],
    body: Sequence[Operation],
    *,
    result_types: Sequence[Type] = (),
    location: Location = UNKNOWN,
) -> Operation:
    """``linalg.generic``; ``body`` ends in ``linalg.yield``."""
    attributes: dict[str, Attribute] = {
        "indexing_maps": ArrayAttr(tuple(map(AffineMapAttr, indexing_maps))),
        "iterator_types": ArrayAttr(tuple(map(iterator, iterator_types))),
        OPERAND_SEGMENTS: segment_sizes([inputs, outputs]),
    }
    return Operation(
        "linalg.generic",
        (*inputs, *outputs),
        tuple(Value(ty, "", location) for ty in result_types),
        attributes,
        (single_block(body, arguments),),
        location=location,
    )


def yield_(values: Sequence[Value], *, location: Location = UNKNOWN) -> Operation:
    return Operation("linalg.yield", tuple(values), location=location)
