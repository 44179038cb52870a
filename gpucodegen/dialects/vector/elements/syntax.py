"""Parts of the syntax of operations on elements of vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.assembly_elements import (
    FormatElement,
    ParsedElements,
    Printed,
    read_indices,
)
from gpucodegen.dialects.framework.definition import Types
from gpucodegen.dialects.framework.syntax import Reader
from gpucodegen.dialects.vector.types import extents, vector_or_scalar
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr
from gpucodegen.ir.types import I64, Type, VectorType, element_type

# -- elements --------------------------------------------------------------------------


def elements_of_dest(
    types: Types, attributes: Mapping[str, Attribute]
) -> Sequence[Type] | None:
    """One scalar type per element of the result."""
    del attributes
    return _elements(types.get("dest"))


def elements_of_source(
    types: Types, attributes: Mapping[str, Attribute]
) -> Sequence[Type] | None:
    """One scalar type per element of the source."""
    del attributes
    return _elements(types.get("source"))


def _elements(known: Sequence[Type] | None) -> Sequence[Type] | None:
    if not known or not isinstance(known[0], VectorType):
        return None
    return (known[0].element,) * prod(known[0].shape)


# -- positions -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExtractedTypes(FormatElement):
    """``element from vector``; older text names the vector only."""

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        vector = element = parsed.reader.type()
        if parsed.reader.accept("from"):
            vector = parsed.reader.type()
        else:
            position = parsed.state.attributes["static_position"]
            element = inner_type(vector, len(getattr(position, "values", ())))
        parsed.types |= {"source": [vector], "result": [element]}

    def print(self, printed: Printed) -> None:
        """Write the element."""
        (source, *_), (result,) = printed.op.operands, printed.op.results
        printed.put(f"{result.type} from {source.type}")


def inner_type(ty: Type, depth: int) -> Type:
    """What a position of so many entries leaves of a vector's type."""
    if depth == 0 and extents(ty):
        return ty
    return vector_or_scalar(extents(ty)[depth:], element_type(ty))


# -- shuffle ---------------------------------------------------------------------------


def shuffled(types: Types, attributes: Mapping[str, Attribute]) -> Sequence[Type]:
    """The first vector's type, with a row per entry of the mask."""
    first = types["v1"][0]
    if not isinstance(first, VectorType):
        return (first,)
    count = len(getattr(attributes["mask"], "values", ()))
    return (VectorType((count, *first.shape[1:]), first.element),)


def _typed_numbers(r: Reader) -> Attribute:
    """Numbers were once written with their types."""
    return DenseArrayAttr(I64, tuple(read_indices(r, typed=True)[1]))


MASK = replace(kinds.integers(), read=_typed_numbers)
