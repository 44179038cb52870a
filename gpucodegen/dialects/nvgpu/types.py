"""Types of nvgpu that short forms write without their name: ``<tensor = ..>``."""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.dialects.framework.assembly_elements import (
    FormatElement,
    ParsedElements,
    Printed,
)
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.syntax import Reader
from gpucodegen.ir.types import DialectType, Type


def named(name: str) -> TypeConstraint:
    """A type of the dialect by the beginning of its name."""
    return TypeConstraint(
        f"!nvgpu.{name}<..>",
        lambda ty: isinstance(ty, DialectType) and ty.text.startswith(f"nvgpu.{name}"),
    )


@dataclass(frozen=True, slots=True)
class FieldsOf(FormatElement):
    """The type of one slot, in full or, as its name is known, ``<key = value, ..>``.

    It is written in full, since types of other dialects are told apart by their text.
    """

    slot: str
    name: str

    def parse(self, parsed: ParsedElements) -> None:
        """Read the element."""
        r = parsed.reader
        ty: Type
        if r.token == "<":
            fields = ", ".join(r.listed("<", ">", lambda: _field(r)))
            ty = DialectType(f"nvgpu.{self.name}<{fields}>")
        else:
            ty = r.type()
        parsed.types[self.slot] = [ty]

    def print(self, printed: Printed) -> None:
        """Write the element."""
        (value,) = printed.values[self.slot]
        printed.put(str(value.type))
        printed.after_word = True


def _field(r: Reader) -> str:
    key = r.keyword()
    r.expect("=")
    return f"{key} = {_value(r)}"


def _value(r: Reader) -> object:
    if r.token[:1] == "#":
        return r.attribute()
    if r.token[:1].isdigit():
        return r.integer()
    is_type = r.token in ("memref", "vector", "tensor")
    return r.type() if is_type else r.keyword()


MAP, BARRIERS = "tensormap.descriptor", "mbarrier.group"
DESCRIPTOR, SUM = "warpgroup.descriptor", "warpgroup.accumulator"

ELEMENTS = {
    "Barriers": FieldsOf("barriers", BARRIERS),
    "Map": FieldsOf("tensorMapDescriptor", MAP),
    "TensorMap": FieldsOf("tensorMap", MAP),
    "Descriptor": FieldsOf("descriptor", DESCRIPTOR),
    "A": FieldsOf("descriptorA", DESCRIPTOR),
    "B": FieldsOf("descriptorB", DESCRIPTOR),
    "C": FieldsOf("matrixC", SUM),
    "D": FieldsOf("matrixD", SUM),
}
"""What stands as ``custom<Name>`` in the formats."""
