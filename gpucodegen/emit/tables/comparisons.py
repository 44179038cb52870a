"""Emits comparisons of scalars and vectors, and tests for NaN and infinity.

Python's operators are used where they mean the same as MLIR's predicates; otherwise
intrinsics.
"""

from __future__ import annotations

import math

from gpucodegen.dialects import arith
from gpucodegen.emit.context import Emitter, Handler, vector_constant
from gpucodegen.emit.expressions import Precedence, Text, binary, call
from gpucodegen.ir.attributes import DenseElementsAttr
from gpucodegen.ir.number_formats import FORMATS, NARROW
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import F32, VectorType, element_type

SIGNED_COMPARISONS = {
    "eq": "==",
    "ne": "!=",
    "slt": "<",
    "sle": "<=",
    "sgt": ">",
    "sge": ">=",
}

FLOAT_COMPARISONS = {
    "false": "False",
    "oeq": "{a} == {b}",
    "ogt": "{a} > {b}",
    "oge": "{a} >= {b}",
    "olt": "{a} < {b}",
    "ole": "{a} <= {b}",
    "one": "({a} < {b}) | ({a} > {b})",
    "ord": "({a} == {a}) & ({b} == {b})",
    "ueq": "not ({a} < {b}) | ({a} > {b})",
    "ugt": "not {a} <= {b}",
    "uge": "not {a} < {b}",
    "ult": "not {a} >= {b}",
    "ule": "not {a} > {b}",
    "une": "{a} != {b}",
    "uno": "({a} != {a}) | ({b} != {b})",
    "true": "True",
}
"""Ordered comparisons are Python's; an unordered one negates its opposite."""


def compare_integers(e: Emitter, op: Operation) -> None:
    """``arith.cmpi``: signed predicates are Python operators."""
    predicate = arith.predicate(op)
    symbol = SIGNED_COMPARISONS.get(predicate)
    lhs, rhs = op.operands
    is_vector = isinstance(lhs.type, VectorType)
    is_boolean = not is_vector and e.dtype(op, lhs) == "i1"
    by_operator = predicate in {"eq", "ne"} if is_boolean else symbol is not None
    if is_vector or not by_operator or symbol is None:
        _compare_by_intrinsic(e, op, "cmpi")
        return
    e.define(op.result, binary(e.text(lhs), symbol, e.text(rhs), Precedence.COMPARE))


def compare_floats(e: Emitter, op: Operation) -> None:
    """``arith.cmpf``."""
    lhs, rhs = op.operands
    if isinstance(lhs.type, VectorType):
        _compare_by_intrinsic(e, op, "cmpf")
        return
    operands = {
        "a": e.text(lhs).within(Precedence.ATOM),
        "b": e.text(rhs).within(Precedence.ATOM),
    }
    template = FLOAT_COMPARISONS[arith.predicate(op)]
    e.define(op.result, Text(template.format(**operands), Precedence.NOT))


def _compare_by_intrinsic(e: Emitter, op: Operation, factory: str) -> None:
    made = _comparison(e, factory, arith.predicate(op))
    e.define(op.result, call(made, *(e.typed(value) for value in op.operands)))


def _comparison(e: Emitter, factory: str, predicate: str) -> str:
    return e.make(f"{factory}_{predicate}", factory, predicate)


def is_nan(e: Emitter, op: Operation) -> None:
    """``math.isnan``: only a NaN differs from itself."""
    (operand,) = op.operands
    if isinstance(operand.type, VectorType):
        _define_bits(e, op, ("uno", e.typed(operand), e.typed(operand)))
        return
    x = e.text(operand).within(Precedence.ATOM)
    e.define(op.result, Text(f"{x} != {x}", Precedence.COMPARE))


BOUNDS = {
    "math.isinf": (("oeq", "infinity"),),
    "math.isfinite": (("olt", "infinity"),),
    "math.isnormal": (("oge", "smallest"), ("olt", "infinity")),
}
"""Comparisons of the absolute value: predicates and constants."""


def within_bounds(e: Emitter, op: Operation) -> None:
    """``math.isinf``, ``math.isfinite`` and ``math.isnormal``."""
    (operand,) = op.operands
    smallest = 2.0 ** FORMATS[str(element_type(operand.type))].low
    limits = {"infinity": math.inf, "smallest": smallest}
    size = call(e.use("absf"), e.typed(operand))
    tests = ((p, _same_everywhere(e, op, limits[n])) for p, n in BOUNDS[op.name])
    _define_bits(e, op, *((predicate, size, limit) for predicate, limit in tests))


def _same_everywhere(e: Emitter, op: Operation, value: float) -> Text:
    """A number of the operand's dtype, or a vector filled with it."""
    ty = op.operands[0].type
    element = element_type(ty)
    carrier = F32 if str(element) in NARROW else element
    if not isinstance(ty, VectorType):
        return e.constant(value, str(carrier))
    shape = VectorType(ty.shape, carrier)
    return vector_constant(e, op, DenseElementsAttr((value,), shape, carrier))


def _define_bits(e: Emitter, op: Operation, *tests: tuple[str, Text, Text]) -> None:
    """Define an i1, or one per element, that is the conjunction of comparisons."""
    if isinstance(op.result.type, VectorType):
        made = [call(_comparison(e, "cmpf", p), a, b) for p, a, b in tests]
        text = made[0] if len(made) == 1 else call(e.use("andi"), *made)
    else:
        parts = (
            FLOAT_COMPARISONS[p].format(a=a.within(Precedence.ATOM), b=b)
            for p, a, b in tests
        )
        text = Text(" and ".join(parts), Precedence.NOT)
    e.define(op.result, text)


HANDLERS: dict[str, Handler] = {
    "arith.cmpi": compare_integers,
    "arith.cmpf": compare_floats,
    "math.isnan": is_nan,
} | dict.fromkeys(BOUNDS, within_bounds)
