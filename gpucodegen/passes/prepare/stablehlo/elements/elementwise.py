"""Arithmetic, comparisons and conversions, as operations of arith and math on tensors.

A table names the operation for each kind of number; what takes several is a function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects.arith import bit_width
from gpucodegen.dialects.stablehlo.syntax import word
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import TensorType, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.elements import bits, functions
from gpucodegen.passes.prepare.stablehlo.elements.conversions import convert
from gpucodegen.passes.prepare.stablehlo.elements.expressions import Expression
from gpucodegen.passes.prepare.stablehlo.elements.table import (
    CHLO,
    COMPLEX,
    FLOAT,
    SIGNED,
    TABLE,
    TRUTH,
    UNSIGNED,
    compared,
    kind_of,
)
from gpucodegen.passes.prepare.stablehlo.forms import (
    Rule,
    chosen,
    mapped,
    refusal,
    splat,
)


def table_rule(b: Builder, op: Operation) -> Sequence[Value]:
    """An operation of the table."""
    name = op.name.partition(".")[2]
    made = TABLE[name][kind_of(op.operands[0].type)]
    if made == "=":
        return op.operands
    if made == "-":
        element = element_type(op.operands[0].type)
        raise refusal(op, "Convert the operands to another type first", str(element))
    return [_applied(b, made, op.operands, op.result.type)]


def _applied(b: Builder, name: str, operands: Sequence[Value], ty: Type) -> Value:
    """An operation on all elements; those of complex take numbers only."""
    if not name.startswith("complex.") or not isinstance(ty, TensorType):
        return b.add(name, operands, [ty])[0]

    def body(inner: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        return inner.add(name, elements[:-1], [ty.element])

    whole = [Dim(d) for d in range(len(ty.shape))]
    return mapped(b, operands, [whole] * len(operands), ty, body)


def chlo_rule(b: Builder, op: Operation) -> Sequence[Value]:
    """A function of CHLO that math has."""
    made = CHLO[op.name.partition(".")[2]]
    return b.add(made, op.operands, [op.result.type])


# -- several operations ----------------------------------------------------------------


def _binary(b: Builder, name: str, x: Value, y: Value) -> Value:
    return b.add(name, (x, y), [x.type])[0]


def _negate(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    kind = kind_of(x.type)
    if kind in (FLOAT, COMPLEX):
        name = "arith.negf" if kind == FLOAT else "complex.neg"
        return [_applied(b, name, (x,), x.type)]
    return [_binary(b, "arith.subi", splat(b, 0, x.type), x)]


def _not(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    ones = 1 if kind_of(x.type) == TRUTH else -1
    return [_binary(b, "arith.xori", x, splat(b, ones, x.type))]


def _logistic(b: Builder, op: Operation) -> Sequence[Value]:
    """``1 / (1 + exp(-x))``."""
    (x,) = op.operands
    one = splat(b, 1, x.type)
    (negative,) = b.add("arith.negf", (x,), [x.type])
    (power,) = b.add("math.exp", (negative,), [x.type])
    return [_binary(b, "arith.divf", one, _binary(b, "arith.addf", one, power))]


def _sign(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    zero, one = splat(b, 0, x.type), splat(b, 1, x.type)
    kind = kind_of(x.type)
    if kind == FLOAT:
        signed = _binary(b, "math.copysign", one, x)
        # Zeros keep their sign, and what is no number stays so.
        return [chosen(b, compared(b, "one", x, zero), signed, x)]
    if kind == UNSIGNED:
        return [_binary(b, "arith.minui", x, one)]
    above = _binary(b, "arith.minsi", x, one)
    return [_binary(b, "arith.maxsi", above, splat(b, -1, x.type))]


def _square(b: Builder, op: Operation) -> Sequence[Value]:
    (x,) = op.operands
    return [_binary(b, TABLE["multiply"][kind_of(x.type)], x, x)]


def _infinite(sign: float) -> Rule:
    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        (x,) = op.operands
        return [compared(b, "oeq", x, splat(b, sign * float("inf"), x.type))]

    return rule


def _shift(name: str) -> Rule:
    """Shifts by all bits or more give what is shifted in."""

    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        x, by = op.operands
        width = bit_width(element_type(x.type))
        if name == "arith.shrsi":
            by = _binary(b, "arith.minui", by, splat(b, width - 1, x.type))
            return [_binary(b, name, x, by)]
        inside = compared(b, "ult", by, splat(b, width, x.type))
        kept = _binary(b, "arith.minui", by, splat(b, width - 1, x.type))
        shifted = _binary(b, name, x, kept)
        return [chosen(b, inside, shifted, splat(b, 0, x.type))]

    return rule


_COMPARISONS = {
    FLOAT: ("FLOAT", "TOTALORDER"),
    COMPLEX: ("FLOAT",),
    SIGNED: ("SIGNED",),
    UNSIGNED: ("UNSIGNED",),
    TRUTH: ("UNSIGNED",),
}
"""The kinds of comparison of each kind of number."""


def _compare(b: Builder, op: Operation) -> Sequence[Value]:
    x, y = op.operands
    kind = word(op.attributes.get("compare_type"))
    if kind not in ("", "NOTYPE", *_COMPARISONS[kind_of(x.type)]):
        element = element_type(x.type)
        raise refusal(op, "Leave the kind of comparison out", f"{kind} of {element}")
    if kind == "TOTALORDER":
        x, y = bits.ordered(b, x), bits.ordered(b, y)
    direction = word(op.attributes.get("comparison_direction")).lower()
    if kind_of(x.type) == COMPLEX:
        name = {"eq": "complex.eq", "ne": "complex.neq"}[direction]
        return [_applied(b, name, (x, y), op.result.type)]
    return [Expression(b, x).compared(direction, Expression(b, y)).value]


def _select(b: Builder, op: Operation) -> Sequence[Value]:
    return [chosen(b, *op.operands)]


def _clamp(b: Builder, op: Operation) -> Sequence[Value]:
    low, x, high = op.operands
    kind = kind_of(x.type)
    low, high = (spread(b, v, x.type) for v in (low, high))
    raised = _binary(b, TABLE["maximum"][kind], low, x)
    return [_binary(b, TABLE["minimum"][kind], raised, high)]


def spread(b: Builder, value: Value, ty: Type) -> Value:
    """A tensor of rank 0 as one of a shape."""
    return value if value.type == ty else mapped(b, [value], [()], ty)


SEVERAL: dict[str, Callable[[Builder, Operation], Sequence[Value]]] = {
    "stablehlo.negate": _negate,
    "stablehlo.not": _not,
    "stablehlo.logistic": _logistic,
    "stablehlo.sign": _sign,
    "stablehlo.compare": _compare,
    "stablehlo.select": _select,
    "stablehlo.clamp": _clamp,
    "stablehlo.convert": convert,
    "stablehlo.shift_left": _shift("arith.shli"),
    "stablehlo.shift_right_logical": _shift("arith.shrui"),
    "stablehlo.shift_right_arithmetic": _shift("arith.shrsi"),
    "chlo.square": _square,
    "chlo.is_pos_inf": _infinite(1),
    "chlo.is_neg_inf": _infinite(-1),
}

RULES: dict[str, Rule] = {
    **{f"stablehlo.{name}": table_rule for name in TABLE},
    **{f"chlo.{name}": chlo_rule for name in CHLO},
    **SEVERAL,
    **bits.RULES,
    **functions.RULES,
}
