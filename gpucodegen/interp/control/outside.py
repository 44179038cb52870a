"""What `gpucodegen.library` runs: prints, checks, clocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpucodegen.interp.handlers import plain, taken
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.buffers import MemRef, contiguous
from gpucodegen.interp.values.constants import constant
from gpucodegen.interp.values.elements import Array
from gpucodegen.ir.attributes import ElementsAttr
from gpucodegen.ir.locations import file_location
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import (
    AnyShaped,
    TensorType,
    Type,
    UnrankedTensorType,
    element_type,
)
from gpucodegen.library.given import Given, Routine
from gpucodegen.library.routines import ROUTINES


class _Shown(NamedTuple):
    """A buffer as the library prints it: ``base`` is an address."""

    array: Array
    base: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def run(
    op: Operation,
    name: str,
    routine: Routine,
    operands: Sequence[Any],
    types: Sequence[Type],
    attributes: Mapping[str, Any],
) -> Any:
    """The results of an operation, or of a call of ``name``, that a routine runs."""
    found = file_location(op.location)
    place = (found.filename, found.line, found.column) if found else ()
    values, kinds = tuple(map(_shown, operands, types)), tuple(map(_kind, types))
    made = routine(Given(name, values, kinds, attributes, place, _contents))
    results = tuple(map(taken, made, op.results))
    return results[0] if len(results) == 1 else results


def _shown(value: Any, ty: Type) -> Any:
    """A buffer with where it lies; so is a tensor, in rows."""
    if isinstance(ty, TensorType | UnrankedTensorType):
        base = int(value.ctypes.data)
        return _Shown(value, base, 0, value.shape, contiguous(value.shape))
    if not isinstance(value, MemRef):
        return value
    base = int(value.memory.ctypes.data) + value.base * value.memory.strides[0]
    return _Shown(value.array(), base, value.offset, value.shape, value.strides)


def _contents(value: Any) -> Array:
    return value.array if isinstance(value, _Shown) else np.asarray(value)


def _kind(ty: Type) -> str:
    return f"{element_type(ty)}{'[]' if isinstance(ty, AnyShaped) else ''}"


def _evaluate(_: Machine, op: Operation, *operands: Any) -> Any:
    """An operation; a constant that it compares with becomes an operand."""
    values, types = list(operands), [value.type for value in op.operands]
    stated = op.attributes.get("value")
    if isinstance(stated, ElementsAttr):
        values.append(constant(stated, stated.type))
        types.append(stated.type)
    given = {name: plain(value) for name, value in op.attributes.items()}
    return run(op, op.name, ROUTINES[op.name], values, types, given)


OPERATIONS: dict[str, Evaluate] = {name: _evaluate for name in ROUTINES if "." in name}
