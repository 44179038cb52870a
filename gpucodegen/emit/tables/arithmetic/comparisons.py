"""Comparisons of scalars and vectors, and the tests for NaN and infinity.

Python's operators where they mean the same as MLIR's predicates; else intrinsics.
"""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.dialects import arith
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.text.fragments import Precedence, Text, binary, call
from gpucodegen.ir.data.float_formats import NARROW
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import VectorType

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
"""Ordered comparisons are Python's; an unordered one is the opposite one's negation."""


def compare_integers(e: Emitter, op: Operation) -> None:
    """``arith.cmpi``: signed predicates are Python's."""
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
    predicate = arith.predicate(op)
    made = e.make(f"{factory}_{predicate}", factory, predicate)
    e.define(op.result, call(made, *(e.typed(value) for value in op.operands)))


def is_nan(e: Emitter, op: Operation) -> None:
    """``math.isnan``: only a NaN differs from itself."""
    _test(e, op, lambda x, _: Text(f"{x} != {x}", Precedence.COMPARE))


def is_infinite(e: Emitter, op: Operation) -> None:
    """``math.isinf``."""
    _test(
        e, op, lambda x, inf: Text(f"{e.use('absf')}({x}) == {inf}", Precedence.COMPARE)
    )


def is_finite(e: Emitter, op: Operation) -> None:
    """``math.isfinite``."""
    _test(
        e, op, lambda x, inf: Text(f"{e.use('absf')}({x}) < {inf}", Precedence.COMPARE)
    )


def _test(e: Emitter, op: Operation, test: Callable[[str, str], Text]) -> None:
    (operand,) = op.operands
    kind = e.dtype(op, operand)
    infinity = e.constant(float("inf"), "f32" if kind in NARROW else kind)
    e.define(op.result, test(e.text(operand).within(Precedence.ATOM), str(infinity)))


HANDLERS: dict[str, Handler] = {
    "arith.cmpi": compare_integers,
    "arith.cmpf": compare_floats,
    "math.isnan": is_nan,
    "math.isinf": is_infinite,
    "math.isfinite": is_finite,
}
