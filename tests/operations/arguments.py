"""Numbers for the functions of examples: small, positive, of every type."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from gpucodegen.interp.values import array_of, element
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import (
    ComplexType,
    FloatType,
    FunctionType,
    IndexType,
    IntegerType,
    MemRefType,
    TensorType,
    Type,
    UnrankedMemRefType,
    VectorType,
)

EXTENT = 4
"""Of dimensions that a type leaves open."""


def arguments_of(function: Operation) -> list[Any]:
    """One value for each argument of a function."""
    from gpucodegen.dialects.func import Function

    ty: FunctionType = Function(function).type
    numbers = count(1)
    return [made(input_, numbers) for input_ in ty.inputs]


def made(ty: Type, numbers: Iterator[int]) -> Any:
    """A value of a type, of the next numbers."""
    match ty:
        case MemRefType(shape, of) | TensorType(shape, of) | VectorType(shape, of):
            extents = tuple(EXTENT if n is None else n for n in shape)
            return _array(extents, of, numbers)
        case UnrankedMemRefType(of):
            return _array((EXTENT,), of, numbers)
        case _:
            return _number(ty, next(numbers))


def _array(extents: tuple[int, ...], of: Type, numbers: Iterator[int]) -> Any:
    inner = element(of).inner
    scalar = of.element if isinstance(of, VectorType) else of
    whole = (*extents, *inner)
    values = [_number(scalar, next(numbers)) for _ in range(int(np.prod(whole)))]
    return array_of(values, whole, scalar)


def _number(ty: Type, at: int) -> Any:
    """Floats in (0, 1), where every function is defined; integers of 1 and 2."""
    match ty:
        case FloatType():
            return (at % 7 + 1) / 8
        case ComplexType(FloatType()):
            return complex((at % 7 + 1) / 8, (at % 3) / 4)
        case ComplexType():
            return complex(at % 3, 1)
        case IntegerType(1):
            return bool(at % 2)
        case IntegerType() | IndexType():
            return at % 2 + 1
        case _:
            raise TypeError(f"no value of {ty}")
