"""Elements of arrays: how each type lies in memory, and which number that is.

Integers are Python's, in the range of their type: without a sign they are signed, but
``i1``, which is 0 or 1.  Floats are Python's, rounded to their format.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeGuard

import numpy as np

from gpucodegen import errors
from gpucodegen.interp.values.floats import rounded
from gpucodegen.ir.data.float_formats import SMALL, of_bits, to_bits
from gpucodegen.ir.data.packing import wrapped
from gpucodegen.ir.types import (
    I1,
    ComplexType,
    FloatType,
    IndexType,
    IntegerType,
    Type,
    VectorType,
)

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
    """NumPy's type of an element, and the extents of a vector that is an element.

    ``format`` names the float format whose bits are stored.
    """

    dtype: np.dtype[Any]
    inner: tuple[int, ...] = ()
    format: str = ""

    @property
    def is_object(self) -> bool:
        """Whether memory holds Python's objects, which have no bytes."""
        return self.dtype.kind == "O"


@cache
def element(ty: Type) -> Element:
    """How elements of a type are stored.

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
    """The numbers that an element, itself perhaps a vector, is made of."""
    return ty.element if isinstance(ty, VectorType) else ty


def bits_of(ty: Type) -> int:
    """Width of an integer type; ``index`` has 64 bits."""
    return ty.width if isinstance(ty, IntegerType) else INDEX_BITS


def canonical(value: Any, ty: Type) -> Any:
    """A number brought into its type: integers wrapped, floats rounded.

    >>> canonical(130, IntegerType(8)), canonical(3, IntegerType(1))
    (-126, 1)
    """
    match ty:
        case IntegerType(1, ""):
            return value & 1
        case IntegerType(bits, sign):
            return wrapped(value, bits, sign)
        case IndexType():
            return wrapped(value, INDEX_BITS)
        case FloatType(name):
            return rounded(value, name)
        case ComplexType(part):
            return complex(canonical(value.real, part), canonical(value.imag, part))
        case _:
            return value


def numbers(array: Array, ty: Type) -> list[Any]:
    """The elements in row-major order as numbers."""
    stored = element(ty)
    flat = array.reshape(-1).tolist()
    if stored.format:
        return [of_bits(code, stored.format) for code in flat]
    return list(map(int, flat)) if ty == I1 else flat


def number(stored: Any, ty: Type) -> Any:
    """One stored element as a number; a vector that is one as an array."""
    if isinstance(ty, VectorType):
        return np.array(stored)
    name = element(ty).format
    value = stored.item() if isinstance(stored, np.generic) else stored
    if name:
        return of_bits(value, name)
    return int(value) if ty == I1 else value


def code(value: Any, ty: Type) -> Any:
    """A number as it is stored."""
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
    """An array of one number, or of one vector."""
    stored = element(ty)
    made = np.empty((*shape, *stored.inner), stored.dtype)
    if stored.is_object:
        made.fill(value)
    else:
        made[...] = code(value, ty) if not stored.inner else value
    return made


def empty(shape: Sequence[int], ty: Type) -> Array:
    """Fresh memory; of numbers it holds zeros."""
    stored = element(ty)
    made = np.zeros((*shape, *stored.inner), stored.dtype)
    if stored.is_object:
        made.fill(0 if isinstance(ty, IntegerType | ComplexType) else None)
    return made
