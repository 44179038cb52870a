"""cf: branches between blocks; ub: values that must not be used."""

from __future__ import annotations

from typing import Any

from gpucodegen import errors
from gpucodegen.interp.machine import Jump, Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.elements import bits_of, canonical, empty
from gpucodegen.ir.attributes import DenseElementsAttr
from gpucodegen.ir.data.packing import wrapped
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import (
    AnyShaped,
    ComplexType,
    FloatType,
    TensorType,
    VectorType,
)


def _br(_: Machine, op: Operation) -> Jump:
    return Jump(op.successors[0])


def _cond_br(_: Machine, op: Operation, condition: int) -> Jump:
    return Jump(op.successors[0 if condition else 1])


def _switch(_: Machine, op: Operation, flag: int) -> Jump:
    """The case of equal bits, else the default, which is written first."""
    listed = op.attributes.get("case_values")
    values = listed.values if isinstance(listed, DenseElementsAttr) else ()
    cases = values * (len(op.successors) - 1) if len(values) == 1 else values
    bits = bits_of(op.operands[0].type)
    for case, target in zip(cases, op.successors[1:], strict=False):
        if wrapped(int(str(case)), bits) == wrapped(flag, bits):
            return Jump(target)
    return Jump(op.successors[0])


def _unreachable(_: Machine, op: Operation) -> None:
    raise errors.AssertionFailed(op.location, message="ub.unreachable was reached")


def _poison(_: Machine, op: Operation) -> Any:
    """Any value will do: zero."""
    ty = op.results[0].type
    if isinstance(ty, VectorType | TensorType):
        return empty([n or 0 for n in ty.shape], ty.element)
    if isinstance(ty, AnyShaped):
        raise errors.UnsupportedOperation(operation=op.name, target="interp")
    zero = (
        0.0 if isinstance(ty, FloatType) else 0j if isinstance(ty, ComplexType) else 0
    )
    return canonical(zero, ty)


OPERATIONS: dict[str, Evaluate] = {
    "cf.br": _br,
    "cf.cond_br": _cond_br,
    "cf.switch": _switch,
    "ub.poison": _poison,
    "ub.unreachable": _unreachable,
}
