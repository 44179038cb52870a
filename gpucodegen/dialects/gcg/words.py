"""``gcg.words``: the parts of 32-bit words that an outer product multiplies.

``vector.outerproduct %a, %b, %c {gcg.words = [i16, i16]}`` takes each element of both
factors for a word of two 16-bit integers, multiplies them part by part, and adds the
products to one 32-bit sum.  The first type is that of the parts of ``%a``; ``ui8`` are
unsigned.  In memory, the first part of a word has the lowest address.
"""

from __future__ import annotations

from gpucodegen.ir.attributes import ArrayAttr, Attribute, TypeAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import IntegerType

WORDS = "gcg.words"

Parts = tuple[IntegerType, IntegerType]
"""What parts the words of the left and of the right factor have."""


def attributes_of(parts: Parts | None) -> dict[str, Attribute]:
    """The attribute of an outer product of words; none of one of numbers."""
    if parts is None:
        return {}
    return {WORDS: ArrayAttr(tuple(map(TypeAttr, parts)))}


def parts_of(op: Operation) -> tuple[str, ...]:
    """What parts the words of an outer product have; nothing where it has numbers.

    >>> from gpucodegen.ir.types import IntegerType
    >>> parts = IntegerType(8), IntegerType(8, "u")
    >>> parts_of(Operation("vector.outerproduct", attributes=attributes_of(parts)))
    ('i8', 'ui8')
    """
    found = op.attributes.get(WORDS)
    return tuple(map(str, found.values)) if isinstance(found, ArrayAttr) else ()
