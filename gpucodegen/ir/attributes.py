"""Attributes: compile-time constants on operations, frozen and printable as MLIR."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gpucodegen.ir.affine import AffineMap, IntegerSet
from gpucodegen.ir.literals import (
    Scalar,
    element_size,
    element_texts,
    is_bare,
    nested,
    pack,
    print_float,
    quote,
    unpack,
)
from gpucodegen.ir.types import (
    F64,
    I1,
    I64,
    INDEX,
    Attribute,
    FloatType,
    IndexType,
    IntegerType,
    Type,
)
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class UnitAttr(Attribute):
    """Presence is the value."""

    def __str__(self) -> str:
        return "unit"


@dataclass(frozen=True, slots=True)
class IntegerAttr(Attribute):
    """Integer or index constant; ``i1`` prints as ``true`` / ``false``."""

    value: int
    type: Type = I64

    def __str__(self) -> str:
        if self.type == I1:
            return "true" if self.value else "false"
        return str(self.value) if self.type == I64 else f"{self.value} : {self.type}"


@dataclass(frozen=True, slots=True)
class FloatAttr(Attribute):
    """Floating-point constant, held as a Python float.

    ``bits`` are set when a Python float cannot represent the value: a NaN with a
    payload, or a number of ``f80`` or ``f128``. A NaN is equal to a NaN of the same
    type and bits.

    >>> FloatAttr(math.nan) == FloatAttr(float("nan")) != FloatAttr(math.nan, bits=1)
    True
    """

    value: float
    type: Type = F64
    bits: int | None = None

    @property
    def _key(self) -> tuple[object, ...]:
        value = None if math.isnan(self.value) else self.value
        return value, self.type, self.bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FloatAttr) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        text = print_float(self.value, self.type, self.bits)
        return text if self.type == F64 and "x" not in text else f"{text} : {self.type}"


@dataclass(frozen=True, slots=True)
class StringAttr(Attribute):
    """Quoted string, optionally typed."""

    value: str
    type: Type | None = None

    def __str__(self) -> str:
        text = quote(self.value)
        return text if self.type is None else f"{text} : {self.type}"


@dataclass(frozen=True, slots=True)
class SymbolRefAttr(Attribute):
    """``@root::@nested``."""

    path: tuple[str, ...]

    def __str__(self) -> str:
        return "::".join(map(print_symbol, self.path))


def print_symbol(name: str) -> str:
    """``@name``, quoted when it is not a bare identifier."""
    return f"@{name if is_bare(name) else quote(name)}"


@dataclass(frozen=True, slots=True)
class TypeAttr(Attribute):
    """A type as a value."""

    type: Type

    def __str__(self) -> str:
        return str(self.type)


@dataclass(frozen=True, slots=True)
class ArrayAttr(Attribute):
    """``[a, b]``."""

    values: tuple[Attribute, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.values))}]"


@dataclass(frozen=True, slots=True)
class DenseArrayAttr(Attribute):
    """``array<i64: 1, 2>``."""

    element: Type
    values: tuple[int | float, ...]

    def __str__(self) -> str:
        if not self.values:
            return f"array<{self.element}>"
        return (
            f"array<{self.element}: {', '.join(map(self._print_value, self.values))}>"
        )

    def _print_value(self, value: float) -> str:
        if self.element == I1:
            return "true" if value else "false"
        if isinstance(self.element, FloatType):
            return print_float(float(value), self.element)
        return str(value)


@dataclass(frozen=True, slots=True)
class DictAttr(Attribute):
    """``{a = 1, b}`` sorted by name; build with :func:`dictionary`."""

    entries: tuple[tuple[str, Attribute], ...] = ()

    def __str__(self) -> str:
        return "{" + ", ".join(print_entry(k, v) for k, v in self.entries) + "}"


def dictionary(entries: Mapping[str, Attribute]) -> DictAttr:
    """A dictionary attribute with its entries in order of name."""
    return DictAttr(tuple(sorted(entries.items())))


def print_entry(name: str, value: Attribute) -> str:
    """``name = value``, or the bare name of a unit attribute."""
    key = name if is_bare(name) else quote(name)
    return key if isinstance(value, UnitAttr) else f"{key} = {value}"


@dataclass(frozen=True, slots=True)
class AffineMapAttr(Attribute):
    """``affine_map<...>``."""

    map: AffineMap

    def __str__(self) -> str:
        return f"affine_map<{self.map}>"


@dataclass(frozen=True, slots=True)
class IntegerSetAttr(Attribute):
    """``affine_set<...>``."""

    set: IntegerSet

    def __str__(self) -> str:
        return f"affine_set<{self.set}>"


@dataclass(frozen=True, slots=True)
class StridedLayoutAttr(Attribute):
    """``strided<[s0, ..], offset: o>`` in elements; None is ``?``."""

    strides: tuple[int | None, ...]
    offset: int | None = 0

    def __str__(self) -> str:
        strides = ", ".join("?" if s is None else str(s) for s in self.strides)
        offset = "?" if self.offset is None else str(self.offset)
        return f"strided<[{strides}]{'' if offset == '0' else f', offset: {offset}'}>"


HEX_ABOVE = 100
"""Literals with more elements are stored and printed as bytes."""


class ElementsAttr(Attribute):
    """Base of constants of a shaped type."""

    __slots__ = ()

    type: Type


@dataclass(frozen=True, slots=True)
class DenseElementsAttr(ElementsAttr):
    """``dense<...> : type``; one value is a splat, else row-major elements.

    Long lists, and values that Python numbers cannot represent, are stored as bytes.
    """

    stored: tuple[Scalar, ...] | bytes
    type: Type
    element: Type

    def __post_init__(self) -> None:
        stored = self.stored
        is_long = len(stored) > HEX_ABOVE and not isinstance(stored, bytes)
        if is_long and element_size(self.element):
            object.__setattr__(self, "stored", pack(stored, self.element))

    @staticmethod
    def of_bytes(data: bytes, ty: Type, element: Type) -> DenseElementsAttr:
        """The canonical literal with these little-endian elements."""
        size = element_size(element)
        if data and data == data[:size] * (len(data) // size):
            data = data[:size]
        if len(data) > size * HEX_ABOVE:
            return DenseElementsAttr(data, ty, element)
        values = unpack(data, element)
        is_exact = pack(values, element) == data
        return DenseElementsAttr(values if is_exact else data, ty, element)

    @property
    def values(self) -> tuple[Scalar, ...]:
        if isinstance(self.stored, bytes):
            return unpack(self.stored, self.element)
        return self.stored

    def data(self) -> bytes:
        """The values as little-endian bytes."""
        stored = self.stored
        return stored if isinstance(stored, bytes) else pack(stored, self.element)

    @property
    def is_splat(self) -> bool:
        one = element_size(self.element) if isinstance(self.stored, bytes) else 1
        return len(self.stored) == one

    def __str__(self) -> str:
        return f"dense<{self._blob() or self.listed()}> : {self.type}"

    def _blob(self) -> str:
        """The bytes as hexadecimal text, for long lists."""
        stored = self.stored
        if not isinstance(stored, bytes):
            return ""
        is_long = len(stored) > HEX_ABOVE * element_size(self.element)
        return f'"0x{stored.hex().upper()}"' if is_long else ""

    def listed(self) -> str:
        """The elements as nested lists, or the single element of a splat."""
        if element_size(self.element):
            texts = element_texts(self.data(), self.element)
        else:
            texts = [quote(str(value)) for value in self.values]
        shape: tuple[int, ...] = tuple(getattr(self.type, "shape", ()))
        return texts[0] if self.is_splat else nested(texts, shape)


@dataclass(frozen=True, slots=True)
class OpaqueAttr(Attribute):
    """An attribute that this package does not interpret, kept as its text.

    ``type`` is the one written at its end, if any.
    """

    text: str
    type: Type | None = None

    def __str__(self) -> str:
        return self.text


def index_attr(value: int) -> IntegerAttr:
    return IntegerAttr(value, INDEX)


def number(value: float, ty: Type) -> IntegerAttr | FloatAttr:
    """The constant attribute of a Python number at an integer, index or float type."""
    if isinstance(ty, IntegerType | IndexType):
        return IntegerAttr(int(value), ty)
    return FloatAttr(float(value), ty)
