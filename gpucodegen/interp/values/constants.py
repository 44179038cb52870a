"""Attributes as values."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.interp.values.elements import TARGET, array_of, canonical, filled
from gpucodegen.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
)
from gpucodegen.ir.constants.elements import DenseResourceAttr, SparseElementsAttr
from gpucodegen.ir.data.float_formats import of_bits
from gpucodegen.ir.data.packing import unpack
from gpucodegen.ir.types import FloatType, Type, element_type


def constant(value: Attribute | None, ty: Type) -> Any:
    """What an attribute is as a value of a type.

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
