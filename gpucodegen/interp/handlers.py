"""Operations and functions that Python runs: ``handlers=`` of a program.

They get buffers as NumPy arrays that share memory, tensors and vectors as copies,
numbers, and the attributes by keyword.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.interp.values.elements import array_of, canonical, element
from gpucodegen.ir.attributes import Attribute, FloatAttr, IntegerAttr, StringAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    AnyShaped,
    MemRefType,
    UnrankedMemRefType,
    element_type,
)


def handled(op: Operation, handler: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """An operation as a call of Python."""
    given = {name: plain(value) for name, value in op.attributes.items()}
    return called(op.name, handler, operands, given, op.results)


def called(
    name: str,
    handler: Callable[..., Any],
    operands: Sequence[Any],
    attributes: Mapping[str, Any],
    results: Sequence[Value],
) -> Any:
    """The results of a handler: one value for one, a tuple for several."""
    answer = handler(*map(shown, operands), **attributes)
    answers = answer if isinstance(answer, tuple) else (answer,)
    found = answers if results else ()
    if len(found) != len(results):
        raise errors.HandlerResult(
            operation=name, expected=len(results), actual=len(found)
        )
    made = tuple(map(taken, found, results))
    return made[0] if len(made) == 1 else made


def plain(value: Attribute) -> object:
    """An attribute as a number, a string, or its text."""
    if isinstance(value, IntegerAttr | FloatAttr | StringAttr):
        return value.value
    return str(value)


def shown(value: Any) -> Any:
    """A value as Python gets it."""
    if isinstance(value, MemRef):
        return value.array()
    return value.copy() if isinstance(value, np.ndarray) else value


def taken(value: Any, result: Value) -> Any:
    """A value of Python as one of the machine."""
    ty = result.type
    if not isinstance(ty, AnyShaped):
        return canonical(value, ty)
    of = element_type(ty)
    made = np.asarray(value)
    if made.dtype != element(of).dtype:
        made = array_of(made.reshape(-1).tolist(), made.shape, of)
    if isinstance(ty, MemRefType | UnrankedMemRefType):
        return MemRef.of(made, of)
    return made.copy()
