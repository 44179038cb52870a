"""Constants that are no dense lists, and the resource section of a file.

Constants are sparse elements, resources and opaque data; the section is written as
``{-# dialect_resources: {..} #-}``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import groupby

from gpucodegen.ir.attributes import Attribute, DenseElementsAttr, ElementsAttr
from gpucodegen.ir.literals import element_size, is_bare, quote
from gpucodegen.ir.types import Type, element_type
from gpucodegen.records import dataclass


def _shape(ty: Type) -> tuple[int, ...]:
    return tuple(getattr(ty, "shape", ()))


@dataclass(frozen=True, slots=True)
class SparseElementsAttr(ElementsAttr):
    """``sparse<[[0, 1]], [5]> : type``: the nonzero elements with their indices."""

    places: tuple[tuple[int, ...], ...]
    values: DenseElementsAttr
    type: Type

    def __str__(self) -> str:
        if not self.places:
            return f"sparse<> : {self.type}"
        places = list(map(list, self.places))
        return f"sparse<{places}, {self.values.listed()}> : {self.type}"

    def dense(self) -> DenseElementsAttr:
        """The constant as dense elements, zeros included.

        >>> from gpucodegen.ir.types import I32, TensorType
        >>> five = DenseElementsAttr((5,), TensorType((1,), I32), I32)
        >>> print(SparseElementsAttr(((1,),), five, TensorType((3,), I32)).dense())
        dense<[0, 5, 0]> : tensor<3xi32>
        """
        element, shape = element_type(self.type), _shape(self.type)
        size = element_size(element)
        data = bytearray(size * math.prod(shape))
        given = self.values.data()
        step = 0 if self.values.is_splat else size
        for i, place in enumerate(self.places):
            at = size * _row_major(place, shape)
            data[at : at + size] = given[step * i : step * i + size]
        return DenseElementsAttr.of_bytes(bytes(data), self.type, element)


def _row_major(place: tuple[int, ...], shape: tuple[int, ...]) -> int:
    offset = 0
    for index, extent in zip(place, shape, strict=True):
        offset = offset * extent + index
    return offset


@dataclass(frozen=True, slots=True)
class DenseResourceAttr(ElementsAttr):
    """``dense_resource<key> : type``; ``data`` are the file's bytes for that key."""

    key: str
    type: Type
    data: bytes | None = None

    def __str__(self) -> str:
        key = self.key if is_bare(self.key) else quote(self.key)
        return f"dense_resource<{key}> : {self.type}"

    def dense(self) -> DenseElementsAttr | None:
        """The constant as dense elements, if the file has its data."""
        if self.data is None:
            return None
        return DenseElementsAttr.of_bytes(self.data, self.type, element_type(self.type))


@dataclass(frozen=True, slots=True)
class OpaqueElementsAttr(ElementsAttr):
    """``opaque<"dialect", "0x01"> : type`` of 2019 and 2020, never interpreted."""

    dialect: str
    text: str
    type: Type

    def __str__(self) -> str:
        return f"opaque<{quote(self.dialect)}, {quote(self.text)}> : {self.type}"


@dataclass(frozen=True, slots=True)
class DistinctAttr(Attribute):
    """``distinct[number]<attribute>``: equal only to those of the same number."""

    number: int
    attribute: Attribute | None = None

    def __str__(self) -> str:
        body = "" if self.attribute is None else self.attribute
        return f"distinct[{self.number}]<{body}>"


RESOURCES = "gpucodegen.resources"
"""Module attribute with the file's resource section, printed after the module."""

ALIGNMENT_BYTES = 4  # a blob starts with its alignment as a 32-bit integer
_SEPARATOR = ",\n"


@dataclass(frozen=True, slots=True)
class Resource:
    """``section: {owner: {key: text}}``; the text is as written, quotes included."""

    section: str
    owner: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class ResourceSection(Attribute):
    """All resources of a file, in order."""

    resources: tuple[Resource, ...]

    def __str__(self) -> str:
        sections = (
            _block(section, _owners(entries), 1)
            for section, entries in groupby(self.resources, lambda r: r.section)
        )
        return f"{{-#\n{_SEPARATOR.join(sections)}\n#-}}"


def _owners(entries: Iterable[Resource]) -> list[str]:
    return [
        _block(owner, [_entry(r) for r in own], 2)
        for owner, own in groupby(entries, lambda r: r.owner)
    ]


def _entry(resource: Resource) -> str:
    return f"      {_name(resource.key)}: {resource.text}"


def _block(name: str, body: Iterable[str], depth: int) -> str:
    indent = "  " * depth
    return f"{indent}{_name(name)}: {{\n{_SEPARATOR.join(body)}\n{indent}}}"


def _name(text: str) -> str:
    return text if is_bare(text) else quote(text)
