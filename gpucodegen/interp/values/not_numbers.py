"""NaN that an operation makes out of numbers: sanitized runs refuse it.

What is loaded, and what other threads send, is made elsewhere: operations are watched
whose results are functions of their operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.framework.definition import Trait
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.interp.values.elements import is_array, numbers, scalar_type
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import ComplexType, FloatType, Type, element_type

Row = tuple[Any, Type]
"""A value of the machine, and its type."""

_ARITHMETIC = frozenset({"arith", "math", "complex", "vector"})
_WHOLE = frozenset(
    f"linalg.{name}"
    for name in (
        "softmax",
        "winograd_filter_transform",
        "winograd_input_transform",
        "winograd_output_transform",
    )
)
"""Arithmetic of linalg that is no body of other operations."""


@cache
def may_make(name: str) -> bool:
    """Whether an operation's results follow from its operands alone.

    >>> may_make("arith.divf"), may_make("memref.load"), may_make("linalg.softmax")
    (True, False, True)
    """
    dialect, definition = name.partition(".")[0], lookup(name)
    if definition is None:
        return False
    return name in _WHOLE or (dialect in _ARITHMETIC and definition.has(Trait.PURE))


def watched(op: Operation, values: Sequence[Any], evaluate: Callable[[], Any]) -> Any:
    """What an operation makes.  Raises NanMade where its operands are numbers."""
    operands = [
        row
        for row in zip(values, (o.type for o in op.operands), strict=True)
        if _is_float(row[1])
    ]
    if not operands or any(first_nan(*row) is not None for row in operands):
        return evaluate()
    made = evaluate()
    several = made if len(op.results) > 1 else (made,)
    results = zip(several, (r.type for r in op.results), strict=False)
    buffers = (row for row in operands if isinstance(row[0], MemRef))
    for value, ty in (*results, *buffers):
        index = first_nan(value, ty)
        if index is not None:
            place = f" at {list(index)}" if index else ""
            given = _shown(value for value, _ in operands)
            raise errors.NanMade(operation=op.name, place=place, operands=given)
    return made


def first_nan(value: Any, ty: Type) -> tuple[int, ...] | None:
    """The index of the first NaN; None where all are numbers.

    >>> from gpucodegen.ir.types import F32, VectorType
    >>> pair = np.array([1, np.nan], "f4")
    >>> first_nan(pair, VectorType((2,), F32)), first_nan(1.0, F32)
    ((1,), None)
    """
    if not _is_float(ty):
        return None
    array = value.elements() if isinstance(value, MemRef) else value
    if not is_array(array):
        return () if array != array else None  # noqa: PLR0124 - NaN alone is unlike it
    of = scalar_type(element_type(ty))
    plain = array.dtype.kind in "fc"
    flat = array.reshape(-1) if plain else np.array(numbers(array, of))
    at = np.flatnonzero(np.isnan(flat))
    if not len(at):
        return None
    return tuple(map(int, np.unravel_index(int(at[0]), array.shape)))


def _is_float(ty: Type) -> bool:
    return isinstance(scalar_type(element_type(ty)), FloatType | ComplexType)


def _shown(values: Iterable[Any]) -> str:
    """Numbers as they are; of arrays that they are some."""
    given = list(values)
    if any(is_array(v) or isinstance(v, MemRef) for v in given):
        return "elements"
    return " and ".join(map(str, given))
