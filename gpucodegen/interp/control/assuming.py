"""shape: constraints, and regions that rely on them."""

from __future__ import annotations

from typing import Any

from gpucodegen import errors
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.tensors.shape import broadcast, dims
from gpucodegen.interp.values.indices import given
from gpucodegen.ir.operation import Operation


def _constant(_: Machine, op: Operation) -> bool:
    return bool(op.integer("passing"))


def _equal(_: Machine, __: Operation, *shapes: Any) -> bool:
    return len({dims(shape) for shape in shapes}) <= 1


def _broadcastable(_: Machine, __: Operation, *shapes: Any) -> bool:
    return broadcast(*map(dims, shapes)) is not None


def _require(_: Machine, __: Operation, condition: int) -> bool:
    return bool(condition)


def _all(_: Machine, __: Operation, *witnesses: bool) -> bool:
    return all(witnesses)


def _assuming(m: Machine, op: Operation, witness: bool) -> Any:
    """Raises AssertionFailed."""
    if not witness:
        raise errors.AssertionFailed(message="the constraint of 'shape.assuming'")
    return given(m.results(op.regions[0]))


OPERATIONS: dict[str, Evaluate] = {
    "shape.assuming": _assuming,
    "shape.assuming_all": _all,
    "shape.const_witness": _constant,
    "shape.cstr_broadcastable": _broadcastable,
    "shape.cstr_eq": _equal,
    "shape.cstr_require": _require,
}
