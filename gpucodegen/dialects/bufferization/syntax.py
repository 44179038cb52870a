"""Parts of the syntax of bufferization operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpucodegen.dialects.framework.assembly_elements import (
    FormatElement,
    ParsedElements,
    Printed,
)
from gpucodegen.dialects.framework.definition import Types
from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.types import (
    I1,
    MemRefType,
    TensorType,
    Type,
    UnrankedMemRefType,
    UnrankedTensorType,
)


def tensor_like(ty: Type) -> Type:
    """The tensor type with a memref's shape and element."""
    if isinstance(ty, MemRefType):
        return TensorType(ty.shape, ty.element)
    return UnrankedTensorType(ty.element) if isinstance(ty, UnrankedMemRefType) else ty


@dataclass(frozen=True, slots=True)
class TensorAndMemRef(FormatElement):
    """``type to type``; older text has the memref's only."""

    source: str
    result: str

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        first = parsed.reader.type()
        if parsed.reader.accept("to"):
            types = [first, parsed.reader.type()]
        elif self.source == "tensor":
            types = [tensor_like(first), first]
        else:
            types = [first, tensor_like(first)]
        parsed.types |= {self.source: types[:1], self.result: types[1:]}

    def print(self, printed: Printed) -> None:
        """Write the element."""
        (source,), (result,) = printed.op.operands, printed.op.results
        printed.put(f"{source.type} to {result.type}")


def one_per_retained(
    types: Types, attributes: Mapping[str, Attribute]
) -> Sequence[Type]:
    """``i1`` for every memref that bufferization.dealloc keeps."""
    del attributes
    return [I1] * len(types.get("retained", ()))
