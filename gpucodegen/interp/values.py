"""Values of the interpreter: numbers, arrays, and their conversion to stored bits.

Integers are Python integers in the range of their type: signless ones are signed,
except ``i1``, which is 0 or 1. Floats are Python floats, rounded to their format. The
module also maps scalar functions over arrays, evaluates affine maps, and turns
attributes into values.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import repeat
from typing import Any, TypeGuard

import numpy as np

from gpucodegen import errors
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
)
from gpucodegen.ir.constants import DenseResourceAttr, SparseElementsAttr
from gpucodegen.ir.literals import unpack, wrapped
from gpucodegen.ir.number_formats import FORMATS, SMALL, of_bits, to_bits
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import (
    I1,
    INDEX,
    ComplexType,
    FloatType,
    IndexType,
    IntegerType,
    Type,
    VectorType,
    element_type,
)
from gpucodegen.records import dataclass


def rounded(value: float, name: str) -> float:
    """The nearest number of a format, ties to even.

    >>> rounded(0.1, "bf16"), rounded(1e9, "f16")
    (0.10009765625, inf)
    """
    if name == "f64":
        return value
    if name == "f32":
        return _single(value)
    return of_bits(to_bits(float(value), name), name)


def _single(value: float) -> float:
    try:
        return _UNPACK(_PACK(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


_PACK, _UNPACK = struct.Struct("<f").pack, struct.Struct("<f").unpack


def nearest(value: Fraction, name: str) -> float:
    """The nearest number of a format to an exact value.

    >>> nearest(Fraction(1, 3), "f16")
    0.333251953125
    """
    return of_bits(FORMATS[name].encode(value), name)


def fma(a: float, b: float, c: float, name: str) -> float:
    """``a * b + c`` with one rounding.

    >>> fma(1.0 + 2.0**-23, 1.0 - 2.0**-23, -1.0, "f32") == -(2.0**-46)
    True
    """
    if not all(map(math.isfinite, (a, b, c))):
        return rounded(a * b + c, name)
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    return nearest(exact, name) if exact else rounded(a * b + c, name)


Array = np.ndarray[Any, Any]
TARGET = "interp"

_FLOATS = {"f16": "f2", "f32": "f4", "f64": "f8"}
_COMPLEX = {"f32": "c8", "f64": "c16"}
_BITS = {"bf16": "u2"} | dict.fromkeys(SMALL, "u1")
INDEX_BITS = 64


def is_array(value: object) -> TypeGuard[Array]:
    """Whether a value is an array, of whatever elements."""
    return isinstance(value, np.ndarray)


@dataclass(frozen=True, slots=True)
class Element:
    """Storage of an element: its NumPy type, and its extents if it is a vector.

    ``format`` names the float format whose bits are stored.
    """

    dtype: np.dtype[Any]
    inner: tuple[int, ...] = ()
    format: str = ""

    @property
    def is_object(self) -> bool:
        """Whether elements are stored as Python objects, without bytes."""
        return self.dtype.kind == "O"


@cache
def element(ty: Type) -> Element:
    """The storage of a type's elements.

    >>> from gpucodegen.ir.types import BF16, F32
    >>> element(BF16), element(IntegerType(5)).dtype, element(VectorType((4,), F32))
    (Element(dtype=dtype('uint16'), inner=(), format='bf16'), dtype('int8'), \
Element(dtype=dtype('float32'), inner=(4,), format=''))
    """
    match ty:
        case VectorType(shape, of):
            inner = element(of)
            return Element(inner.dtype, (*shape, *inner.inner), inner.format)
        case IntegerType(1, ""):
            return Element(np.dtype(bool))
        case IntegerType(bits, sign) if bits <= INDEX_BITS:
            size = next(n for n in (1, 2, 4, 8) if 8 * n >= bits)
            return Element(np.dtype(f"{'u' if sign == 'u' else 'i'}{size}"))
        case IndexType():
            return Element(np.dtype("i8"))
        case FloatType(name) if name in _FLOATS:
            return Element(np.dtype(_FLOATS[name]))
        case FloatType(name) if name in _BITS:
            return Element(np.dtype(_BITS[name]), (), name)
        case FloatType():
            raise errors.UnsupportedType(type=ty, target=TARGET)
        case ComplexType(FloatType(name)) if name in _COMPLEX:
            return Element(np.dtype(_COMPLEX[name]))
        case _:
            return Element(np.dtype(object))


def scalar_type(ty: Type) -> Type:
    """The number type of an element, which may be a vector."""
    return ty.element if isinstance(ty, VectorType) else ty


def bits_of(ty: Type) -> int:
    """Width of an integer type; ``index`` has 64 bits."""
    return ty.width if isinstance(ty, IntegerType) else INDEX_BITS


def canonical(value: Any, ty: Type) -> Any:
    """A number converted to its type: integers wrapped, floats rounded.

    >>> canonical(130, IntegerType(8)), canonical(3, IntegerType(1))
    (-126, 1)
    """
    return converter(ty)(value)


@cache
def converter(ty: Type) -> Callable[[Any], Any]:
    """The function from a number to the number of a type that it becomes."""
    match ty:
        case IntegerType(1, ""):
            return lambda value: value & 1
        case IntegerType(bits, sign):
            return lambda value: wrapped(value, bits, sign)
        case IndexType():
            return lambda value: wrapped(value, INDEX_BITS)
        case FloatType("f32"):
            return _single
        case FloatType(name):
            return lambda value: rounded(value, name)
        case ComplexType(part):
            of = converter(part)
            return lambda value: complex(of(value.real), of(value.imag))
        case _:
            return lambda value: value


def numbers(array: Array, ty: Type) -> list[Any]:
    """The elements in row-major order as numbers."""
    stored = element(ty)
    flat = array.reshape(-1).tolist()
    if stored.format:
        return [of_bits(code, stored.format) for code in flat]
    return list(map(int, flat)) if ty == I1 else flat


def number(stored: Any, ty: Type) -> Any:
    """A stored element as a number, or as an array if it is a vector."""
    value = stored.item() if isinstance(stored, np.generic) else stored
    reader = _reader(ty)
    return value if reader is None else reader(value)


@cache
def _reader(ty: Type) -> Callable[[Any], Any] | None:
    """The function from a stored Python number to a value; None for the identity."""
    if isinstance(ty, VectorType):
        return np.array
    name = element(ty).format
    if name:
        return lambda bits: of_bits(bits, name)
    return int if ty == I1 else None


def code(value: Any, ty: Type) -> Any:
    """The stored form of a number."""
    name = element(ty).format
    return to_bits(float(value), name) if name else value


def array_of(values: Iterable[Any], shape: Sequence[int], ty: Type) -> Array:
    """An array of numbers in row-major order.

    >>> from gpucodegen.ir.types import BF16
    >>> array_of([1.0, 2.0], (2,), BF16).tolist()
    [16256, 16384]
    """
    stored = element(ty)
    made = np.empty(tuple(shape), stored.dtype)
    flat = made.reshape(-1)
    for at, value in enumerate(values):
        flat[at] = code(value, ty)
    return made


def filled(value: Any, shape: Sequence[int], ty: Type) -> Array:
    """An array filled with one number or one vector."""
    stored = element(ty)
    made = np.empty((*shape, *stored.inner), stored.dtype)
    if stored.is_object:
        made.fill(value)
    else:
        made[...] = code(value, ty) if not stored.inner else value
    return made


def empty(shape: Sequence[int], ty: Type) -> Array:
    """Fresh memory; arrays of numbers hold zeros."""
    stored = element(ty)
    made = np.zeros((*shape, *stored.inner), stored.dtype)
    if stored.is_object:
        made.fill(0 if isinstance(ty, IntegerType | ComplexType) else None)
    return made


def constant(value: Attribute | None, ty: Type) -> Any:
    """An attribute as a value of a type.

    >>> from gpucodegen.ir.types import I32, TensorType
    >>> ty = TensorType((2,), I32)
    >>> constant(DenseElementsAttr((7,), ty, I32), ty).tolist()
    [7, 7]
    """
    match value:
        case IntegerAttr(number):
            return canonical(number, ty)
        case FloatAttr(_, FloatType(name), int(bits)):
            return of_bits(bits, name)
        case FloatAttr(number):
            return canonical(number, ty)
        case ArrayAttr((real, imaginary)):
            return complex(_part(real), _part(imaginary))
        case SparseElementsAttr():
            return constant(value.dense(), ty)
        case DenseResourceAttr() if value.data is not None:
            return constant(value.dense(), ty)
        case DenseElementsAttr():
            return _elements(value, ty)
        case StringAttr(text) | SymbolRefAttr((text,)):
            return text
        case _:
            raise errors.UnsupportedOperation(
                operation=f"constant {value}", target=TARGET
            )


def _part(value: Attribute) -> float:
    assert isinstance(value, FloatAttr | IntegerAttr)
    return float(value.value)


def _elements(value: DenseElementsAttr, ty: Type) -> Any:
    shape = tuple(n or 0 for n in getattr(value.type, "shape", ()))
    of = element_type(ty)
    values = unpack(value.data(), value.element)
    if value.is_splat:
        return (
            filled(values[0], shape, of) if np.prod(shape) else array_of([], shape, of)
        )
    return array_of(values, shape, of)


def elementwise(
    op: Operation, function: Callable[..., Any], values: Sequence[Any]
) -> Any:
    """Apply a scalar function to each element; numbers are broadcast to arrays."""
    shapes = [v.shape for v in values if isinstance(v, np.ndarray)]
    if not shapes:
        return function(*values)
    lists = [
        numbers(value, element_type(operand.type))
        if isinstance(value, np.ndarray)
        else repeat(value)
        for value, operand in zip(values, op.operands, strict=True)
    ]
    made = [function(*row) for row in zip(*lists)]  # noqa: B905 - numbers repeat
    types = [element_type(v.type) for v in op.results]
    if len(types) == 1:
        return array_of(made, shapes[0], types[0])
    columns = list(zip(*made, strict=True)) or [()] * len(types)
    return tuple(
        array_of(column, shapes[0], ty)
        for column, ty in zip(columns, types, strict=True)
    )


def given(values: tuple[Any, ...]) -> Any:
    """Results as evaluators return them: a single value or a tuple."""
    return values[0] if len(values) == 1 else values


def steps(lower: int, upper: int, step: int) -> range:
    """Values of a loop variable. Raises InvalidLoopStep."""
    if step <= 0:
        raise errors.InvalidLoopStep(step=step)
    return range(lower, upper, step)


def at(map_: AffineMap, operands: Sequence[int]) -> tuple[int, ...]:
    """The results of a map.

    Raises DivisionByZero.

    >>> at(AffineMap.identity(2), [3, 4])
    (3, 4)
    """
    dims = map_.num_dims
    try:
        made = map_.evaluate(operands[:dims], operands[dims:])
    except ZeroDivisionError as problem:
        raise errors.DivisionByZero from problem
    return tuple([n if -_HALF <= n < _HALF else canonical(n, INDEX) for n in made])


_HALF = 1 << (INDEX_BITS - 1)
