"""Types of values: frozen dataclasses that print as MLIR.

Shapes are tuples of ``int``, with ``None`` for ``?``. The bases of types and attributes
stand together, since a memref type holds a layout attribute and attributes hold types.
"""

from __future__ import annotations

from gpucodegen.records import dataclass


class Type:
    """Base of all types."""

    __slots__ = ()


class Attribute:
    """Base of all attributes."""

    __slots__ = ()


Shape = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class IntegerType(Type):
    """``iN``, ``siN`` or ``uiN``; ``signedness`` is ``""``, ``"s"`` or ``"u"``."""

    width: int
    signedness: str = ""

    def __str__(self) -> str:
        return f"{self.signedness}i{self.width}"


@dataclass(frozen=True, slots=True)
class IndexType(Type):
    """``index``: the machine's pointer-sized integer."""

    def __str__(self) -> str:
        return "index"


@dataclass(frozen=True, slots=True)
class FloatType(Type):
    """A floating-point format by its MLIR name: ``f32``, ``bf16``, ``f8E4M3FN`` ..."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class NoneType(Type):
    """``none``: the unit type."""

    def __str__(self) -> str:
        return "none"


@dataclass(frozen=True, slots=True)
class ComplexType(Type):
    """``complex<element>``."""

    element: Type

    def __str__(self) -> str:
        return f"complex<{self.element}>"


@dataclass(frozen=True, slots=True)
class TupleType(Type):
    """``tuple<elements>``."""

    elements: tuple[Type, ...]

    def __str__(self) -> str:
        return f"tuple<{', '.join(map(str, self.elements))}>"


@dataclass(frozen=True, slots=True)
class FunctionType(Type):
    """``(inputs) -> results``."""

    inputs: tuple[Type, ...]
    results: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.inputs))}) -> {print_results(self.results)}"


def print_results(results: tuple[Type, ...]) -> str:
    """Result list of a function type: parentheses unless one plain type."""
    if len(results) == 1 and not isinstance(results[0], FunctionType):
        return str(results[0])
    return f"({', '.join(map(str, results))})"


def _print_shape(shape: Shape) -> str:
    return "".join("?x" if extent is None else f"{extent}x" for extent in shape)


@dataclass(frozen=True, slots=True)
class VectorType(Type):
    """``vector<4x[8]xf32>``; ``scalable`` holds one flag per dimension, or is empty."""

    shape: tuple[int, ...]
    element: Type
    scalable: tuple[bool, ...] = ()

    def __str__(self) -> str:
        flags = self.scalable or (False,) * len(self.shape)
        dims = "".join(
            f"[{n}]x" if scales else f"{n}x"
            for n, scales in zip(self.shape, flags, strict=True)
        )
        return f"vector<{dims}{self.element}>"


@dataclass(frozen=True, slots=True)
class TensorType(Type):
    """Ranked tensor with an optional encoding."""

    shape: Shape
    element: Type
    encoding: Attribute | None = None

    def __str__(self) -> str:
        encoding = "" if self.encoding is None else f", {self.encoding}"
        return f"tensor<{_print_shape(self.shape)}{self.element}{encoding}>"


@dataclass(frozen=True, slots=True)
class UnrankedTensorType(Type):
    """``tensor<*xelement>``."""

    element: Type

    def __str__(self) -> str:
        return f"tensor<*x{self.element}>"


@dataclass(frozen=True, slots=True)
class MemRefType(Type):
    """Ranked memref; ``layout`` is None for row-major, else a layout attribute."""

    shape: Shape
    element: Type
    layout: Attribute | None = None
    memory_space: Attribute | None = None

    def __str__(self) -> str:
        layout = "" if self.layout is None else f", {self.layout}"
        space = "" if self.memory_space is None else f", {self.memory_space}"
        return f"memref<{_print_shape(self.shape)}{self.element}{layout}{space}>"

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class UnrankedMemRefType(Type):
    """``memref<*xelement, space>``."""

    element: Type
    memory_space: Attribute | None = None

    def __str__(self) -> str:
        space = "" if self.memory_space is None else f", {self.memory_space}"
        return f"memref<*x{self.element}{space}>"


@dataclass(frozen=True, slots=True)
class DialectType(Type):
    """A type of another dialect, kept as its text without the leading ``!``."""

    text: str

    def __str__(self) -> str:
        return f"!{self.text}"


INDEX = IndexType()
I1, I8, I16, I32, I64 = (IntegerType(n) for n in (1, 8, 16, 32, 64))
F16, BF16, F32, F64 = (FloatType(n) for n in ("f16", "bf16", "f32", "f64"))

ShapedType = VectorType | TensorType | MemRefType
AnyShaped = ShapedType | UnrankedTensorType | UnrankedMemRefType


def element_type(ty: Type) -> Type:
    """Element of a shaped type, or the type itself.

    >>> print(element_type(VectorType((4,), F32)), element_type(I32))
    f32 i32
    """
    return ty.element if isinstance(ty, AnyShaped) else ty


SMALL = "f4E", "f6E", "f8E"
"""Prefixes of the names of one-byte float types."""


def element_bytes(ty: Type) -> int | None:
    """Bytes that an element of a buffer takes; None if its type has no fixed size.

    >>> element_bytes(FloatType("bf16")), element_bytes(I1), element_bytes(NoneType())
    (2, 1, None)
    >>> element_bytes(FloatType("f8E5M2")), element_bytes(FloatType("f4E2M1FN"))
    (1, 1)
    """
    if isinstance(ty, IntegerType):
        return max(1, ty.width // 8)
    if isinstance(ty, IndexType):
        return 8
    if isinstance(ty, FloatType) and ty.name.startswith(SMALL):
        return 1
    bits = ty.name.strip("bf") if isinstance(ty, FloatType) else ""
    return int(bits) // 8 if bits.isdigit() else None
