"""Types of nvgpu, their fields, and the fragment shapes of ``mma.sync`` from sm_80 on.

Custom forms write these types without their name: ``<tensor = ..>``. Shapes are M, N
and K (PTX ISA, "Warp-level matrix instructions": `mma`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from gpucodegen.dialects.framework.assembly_elements import (
    FormatElement,
    ParsedElements,
    Printed,
)
from gpucodegen.dialects.framework.constraints import TypeConstraint
from gpucodegen.dialects.framework.syntax import Reader
from gpucodegen.ir.types import DialectType, Type
from gpucodegen.records import dataclass

Shape = tuple[int, int, int]

_HALVES = (16, 8, 8), (16, 8, 16)
SHAPES: Mapping[tuple[str, str], tuple[Shape, ...]] = {
    ("f16", "f16"): _HALVES,
    ("f16", "f32"): _HALVES,
    ("bf16", "f32"): _HALVES,
    ("f32", "f32"): ((16, 8, 4), (16, 8, 8)),
    ("f64", "f64"): ((8, 8, 4), (16, 8, 4)),
    ("f8E4M3FN", "f32"): ((16, 8, 32),),
    ("f8E5M2", "f32"): ((16, 8, 32),),
    ("i8", "i32"): ((8, 8, 16), (16, 8, 16), (16, 8, 32)),
}
"""Fragment shapes by element types of operands and accumulator; f32 is read as tf32.

Devices before sm_90 multiply 16 rows of f64 in two halves. Floats of 8 bits exist from
sm_89 on.
"""


def named(name: str) -> TypeConstraint:
    """A constraint for types of the dialect whose text starts with ``name``."""
    return TypeConstraint(
        f"!nvgpu.{name}<..>",
        lambda ty: isinstance(ty, DialectType) and ty.text.startswith(f"nvgpu.{name}"),
    )


@dataclass(frozen=True, slots=True)
class FieldsOf(FormatElement):
    """The type of one slot, in full or as ``<key = value, ..>``.

    It is printed in full, since types of other dialects are compared by their text.
    """

    slot: str
    name: str

    def parse(self, parsed: ParsedElements) -> None:
        r = parsed.reader
        ty: Type
        if r.token == "<":
            fields = ", ".join(r.listed("<", ">", lambda: _field(r)))
            ty = DialectType(f"nvgpu.{self.name}<{fields}>")
        else:
            ty = r.type()
        parsed.types[self.slot] = [ty]

    def print(self, printed: Printed) -> None:
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


class ShapeAndElement(NamedTuple):
    """``memref<128x64xf16, 3>`` or ``vector<64x8xf32>`` within a type's text."""

    shape: tuple[int, ...]
    element: str


def fields(ty: Type) -> dict[str, str]:
    """The fields between the brackets of a type.

    >>> ty = DialectType("nvgpu.warpgroup.descriptor<tensor = memref<8x64xf16, 3>>")
    >>> fields(ty), held(fields(ty)["tensor"])
    ({'tensor': 'memref<8x64xf16, 3>'}, ShapeAndElement(shape=(8, 64), element='f16'))
    """
    inner = str(ty).partition("<")[2].rpartition(">")[0]
    found: dict[str, str] = {}
    for part in re.findall(r"(?:[^,<]|<[^<>]*(?:<[^<>]*>[^<>]*)*>)+", inner):
        key, _, value = part.partition("=")
        found[key.strip()] = value.strip()
    return found


def held(text: str) -> ShapeAndElement:
    """Extents and element in the text of a memref or vector type, else empty."""
    match = re.fullmatch(r"(?:memref|vector)<((?:\d+x)*)(\w+)\b.*>", text)
    if match is None:
        return ShapeAndElement((), "")
    return ShapeAndElement(tuple(map(int, match[1].split("x")[:-1])), match[2])


def barrier_count(ty: Type) -> int:
    """Number of mbarriers in a group."""
    return int(fields(ty).get("num_barriers", "1"))


def swizzle_span(ty: Type) -> int:
    """Bytes of a tensor map's swizzle pattern; 0 for none.

    >>> swizzle_span(DialectType("nvgpu.tensormap.descriptor<swizzle = swizzle_64b>"))
    64
    """
    word = fields(ty).get("swizzle", "none")
    return 0 if word == "none" else int(word.removeprefix("swizzle_").rstrip("b"))


def is_tensor_map(ty: Type) -> bool:
    return named(MAP).accepts(ty)


BARRIER_BYTES = 8
"""Size and alignment of an mbarrier in bytes."""
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
"""Elements for ``custom<Name>`` in the formats."""
