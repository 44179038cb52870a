"""arith: comparisons."""

from __future__ import annotations

import math
import operator
from typing import Any

from gpucodegen.dialects.arith import predicate
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.scalars.arith import unsigned
from gpucodegen.interp.values.elements import bits_of
from gpucodegen.interp.values.elementwise import elementwise
from gpucodegen.ir.data.packing import wrapped
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import element_type

_RELATIONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def compared(name: str, a: int, b: int, bits: int) -> int:
    """``slt`` and its like, of two integers of a width.

    >>> compared("slt", -1, 1, 8), compared("ult", -1, 1, 8)
    (1, 0)
    """
    relation = _RELATIONS[name[-2:]]
    if name[0] == "u":
        return int(relation(unsigned(a, bits), unsigned(b, bits)))
    return int(relation(wrapped(a, bits), wrapped(b, bits)))


def compared_floats(name: str, a: float, b: float) -> int:
    """``olt`` and its like: of NaN, ``o`` is false and ``u`` is true.

    >>> compared_floats("olt", 1.0, 2.0), compared_floats("ult", 1.0, float("nan"))
    (1, 1)
    """
    is_ordered = not (math.isnan(a) or math.isnan(b))
    if name in ("false", "true"):
        return int(name == "true")
    if name in ("ord", "uno"):
        return int(is_ordered == (name == "ord"))
    if not is_ordered:
        return int(name[0] == "u")
    return int(_RELATIONS[name[1:]](a, b))


def _cmpi(_: Machine, op: Operation, *values: Any) -> Any:
    name, bits = predicate(op), bits_of(element_type(op.operands[0].type))
    return elementwise(op, lambda a, b: compared(name, a, b, bits), values)


def _cmpf(_: Machine, op: Operation, *values: Any) -> Any:
    name = predicate(op)
    return elementwise(op, lambda a, b: compared_floats(name, a, b), values)


OPERATIONS: dict[str, Evaluate] = {"arith.cmpi": _cmpi, "arith.cmpf": _cmpf}
