"""Attributes: compile-time constants on operations, frozen and printable as MLIR."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from gpucodegen.ir.affine import AffineMap, IntegerSet
from gpucodegen.ir.types import (
    F64,
    I1,
    I64,
    INDEX,
    FloatType,
    IndexType,
    IntegerType,
    Type,
)


class Attribute:
    """Base of all attributes."""

    __slots__ = ()


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
    """Floating-point constant, held as a Python float."""

    value: float
    type: Type = F64

    def __str__(self) -> str:
        text = print_float(self.value, self.type)
        return text if self.type == F64 and "x" not in text else f"{text} : {self.type}"


_FLOAT_BITS: dict[str, tuple[str, str]] = {
    "f16": ("<e", "<H"),
    "f32": ("<f", "<I"),
    "f64": ("<d", "<Q"),
}


def print_float(value: float, ty: Type) -> str:
    """MLIR spelling of a float: decimal with a point, hexadecimal for inf and nan."""
    if math.isfinite(value):
        return _print_finite(value, ty)
    name = ty.name if isinstance(ty, FloatType) else "f64"
    if name == "bf16":
        return f"0x{struct.unpack('<I', struct.pack('<f', value))[0] >> 16:04X}"
    pack, unpack = _FLOAT_BITS.get(name, _FLOAT_BITS["f64"])
    bits = struct.unpack(unpack, struct.pack(pack, value))[0]
    return f"0x{bits:0{2 * struct.calcsize(unpack)}X}"


def _print_finite(value: float, ty: Type) -> str:
    text = f"{value:e}"
    if float(text) != value:
        text = repr(value)
        if ty == FloatType("f32"):
            text = f"{value:.9g}"
    mantissa, e, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return mantissa + (f"e{exponent}" if e else "")


@dataclass(frozen=True, slots=True)
class StringAttr(Attribute):
    """Quoted string, optionally typed."""

    value: str
    type: Type | None = None

    def __str__(self) -> str:
        text = quote(self.value)
        return text if self.type is None else f"{text} : {self.type}"


def quote(text: str) -> str:
    r"""MLIR string literal: ``\n \t \\ \"`` and two hex digits for the rest.

    >>> print(quote('a"b'))
    "a\"b"
    """
    escapes = {"\n": "\\n", "\t": "\\t", "\\": "\\\\", '"': '\\"'}
    return '"' + "".join(_escape(c, escapes) for c in text) + '"'


def _escape(char: str, escapes: Mapping[str, str]) -> str:
    if char in escapes:
        return escapes[char]
    if char.isprintable():
        return char
    return "".join(f"\\{byte:02X}" for byte in char.encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class SymbolRefAttr(Attribute):
    """``@root::@nested``."""

    path: tuple[str, ...]

    def __str__(self) -> str:
        return "::".join(map(print_symbol, self.path))


def print_symbol(name: str) -> str:
    """``@name``, quoted when it is not a bare identifier."""
    return f"@{name if _BARE.fullmatch(name) else quote(name)}"


_BARE = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)


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
    key = name if _BARE.fullmatch(name) else quote(name)
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


Scalar = int | float | str | complex


@dataclass(frozen=True, slots=True)
class DenseElementsAttr(Attribute):
    """``dense<...> : type``; one value is a splat, else row-major elements."""

    values: tuple[Scalar, ...]
    type: Type
    element: Type

    @property
    def is_splat(self) -> bool:
        """Whether all elements are the one value stored."""
        return len(self.values) == 1

    def __str__(self) -> str:
        shape: tuple[int, ...] = tuple(getattr(self.type, "shape", ()))
        body = self._print_nested(list(self.values), shape)
        if self.is_splat:
            body = self._print_value(self.values[0])
        return f"dense<{body}> : {self.type}"

    def _print_nested(self, values: list[Scalar], shape: tuple[int, ...]) -> str:
        if not shape:
            return self._print_value(values[0]) if values else ""
        if not values:
            return ""
        size = len(values) // shape[0]
        rows = (values[i * size : (i + 1) * size] for i in range(shape[0]))
        return f"[{', '.join(self._print_nested(r, shape[1:]) for r in rows)}]"

    def _print_value(self, value: Scalar) -> str:
        match value:
            case str():
                return quote(value)
            case complex():
                return f"({self._real(value.real)}, {self._real(value.imag)})"
            case _:
                return self._real(value)

    def _real(self, value: float) -> str:
        element = getattr(self.element, "element", self.element)
        if isinstance(element, FloatType):
            return print_float(float(value), element)
        if element == I1:
            return "true" if value else "false"
        return str(int(value))


@dataclass(frozen=True, slots=True)
class OpaqueAttr(Attribute):
    """An attribute this package does not interpret, kept as its text."""

    text: str

    def __str__(self) -> str:
        return self.text


def index_attr(value: int) -> IntegerAttr:
    """``value : index``."""
    return IntegerAttr(value, INDEX)


def number(value: float, ty: Type) -> IntegerAttr | FloatAttr:
    """The constant attribute of a Python number at an integer, index or float type."""
    if isinstance(ty, IntegerType | IndexType):
        return IntegerAttr(int(value), ty)
    return FloatAttr(float(value), ty)
