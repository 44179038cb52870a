"""Array library interface of the kernels: conversion, allocation, layout checks.

Operands are arrays of NumPy, CuPy, PyTorch or JAX; results are arrays of the operands'
library. No library but NumPy is imported here: the owner of an array has already
imported its library. Arrays of the emulated device belong to a module that stands in
for CuPy.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from ctypes import addressof, c_char
from math import prod
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from gpucodegen import errors
from gpucodegen.calls.foreign_arrays import LIBRARIES, Library, Memory


class Array(Protocol):
    """An array of NumPy, CuPy, PyTorch or JAX."""

    @property
    def shape(self) -> Any: ...

    @property
    def dtype(self) -> Any: ...


ArrayT = TypeVar("ArrayT", bound=Array)
KNOWN = "a NumPy, CuPy, PyTorch or JAX array"


def library(array: object, *, function: str, argument: str) -> tuple[Library, Any]:
    """The conversion of a library's arrays, and the library's module.

    >>> import numpy
    >>> library(numpy.zeros(3), function="f", argument="a")[1].__name__
    'numpy'
    """
    kind = type(array)
    name = kind.__module__.partition(".")[0]
    if name not in LIBRARIES:
        raise errors.WrongArgumentType(
            function=function, argument=argument, expected=KNOWN, actual=kind.__name__
        )
    own = kind.__module__ if name == "gpucodegen" else name.removesuffix("lib")
    return LIBRARIES[name], sys.modules[own]


def memory_module(array: Memory) -> Any:
    """NumPy, CuPy, or its stand-in: the module of a converted array."""
    kind = type(array).__module__
    return sys.modules[
        kind if kind.startswith("gpucodegen") else kind.partition(".")[0]
    ]


ALIGNMENT = 64
"""Bytes of a cache line: vectors stored to an aligned result cross none."""


def empty(xp: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Memory for a result, aligned to a cache line.

    >>> import numpy
    >>> a = empty(numpy, (3, 5), numpy.dtype("f4"))
    >>> a.shape, a.ctypes.data % ALIGNMENT
    ((3, 5), 0)
    """
    if xp is not np:
        return xp.empty(shape, dtype)
    memory = np.empty(prod(shape) * dtype.itemsize + ALIGNMENT, np.uint8)
    start = -addressof(c_char.from_buffer(cast("bytearray", memory))) % ALIGNMENT
    return np.ndarray(shape, dtype, memory, start)


def contiguous(array: Memory) -> Memory:
    """The array, or a copy that is contiguous.

    >>> contiguous(np.zeros((2, 3)).T).strides
    (16, 8)
    """
    return array if array.flags.c_contiguous else array.copy(order="C")


def is_turned(array: Memory) -> bool:
    """Whether matrices are stored column-major.

    >>> a = np.zeros((2, 3))
    >>> is_turned(a), is_turned(a.T), is_turned(a.T[::2])
    (False, True, False)
    """
    if array.ndim < 2 or array.flags.c_contiguous:
        return False
    return bool(array.swapaxes(-1, -2).flags.c_contiguous)


def require_rank(
    array: Memory, ranks: Sequence[int], *, function: str, argument: str
) -> None:
    """Refuse an array of another rank."""
    if array.ndim not in ranks:
        raise errors.WrongArgumentRank(
            function=function,
            argument=argument,
            expected=_listed(ranks),
            actual=array.ndim,
        )


def _listed(ranks: Sequence[int]) -> str:
    """Ranks in words.

    >>> _listed((2,)), _listed(range(1, 33))
    ('2', '1 or 2 or more')
    """
    few = " or ".join(map(str, ranks[:3]))
    return few if len(ranks) < 4 else f"{ranks[0]} or {ranks[1]} or more"


def require_positive(name: str, value: Any) -> float:
    """An option that is a number above 0; refuses others."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.0
    if not number > 0:
        raise errors.InvalidOption(name=name, value=value, hint="Pass a number above 0")
    return number


def require_shape(
    array: Memory, shape: tuple[int, ...], *, function: str, argument: str
) -> None:
    """Refuse an array of another shape."""
    require_rank(array, (len(shape),), function=function, argument=argument)
    for dimension, (want, have) in enumerate(zip(shape, array.shape, strict=True)):
        if want != have:
            raise errors.WrongExtent(
                function=function,
                argument=argument,
                expected=want,
                dimension=dimension,
                actual=have,
                shape=shape,
            )
