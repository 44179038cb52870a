"""Reductions along an axis, which keeps one element, and the place of a maximum."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan

from gpucodegen.dialects.stablehlo.syntax import enumeration
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I1, I64, FloatType, IntegerType, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.elements.conversions import converted
from gpucodegen.passes.prepare.stablehlo.elements.table import TABLE, compared, kind_of
from gpucodegen.passes.prepare.stablehlo.forms import (
    PARALLEL,
    REDUCTION,
    Rule,
    filled,
    generic,
    position,
    scalar,
    shape,
    tensor,
)
from gpucodegen.passes.prepare.stablehlo.movement import reshaped
from gpucodegen.passes.prepare.tosa.elementwise import computed, ignores_nan

_STARTS = {"all": 1, "any": 0, "prod": 1, "product": 1, "sum": 0}
_COMBINED = {
    "all": "and",
    "any": "or",
    "max": "maximum",
    "min": "minimum",
    "prod": "multiply",
    "product": "multiply",
    "sum": "add",
}


def _extreme(kind: str, ty: Type) -> float:
    """What changes no maximum, or no minimum."""
    if not isinstance(ty, IntegerType):
        return -inf if kind == "max" else inf
    least = -(1 << (ty.width - 1))
    return least if kind == "max" else -least - 1


def _reduced(kind: str) -> Rule:
    def rule(b: Builder, op: Operation) -> Sequence[Value]:
        x, axis = op.operands[0], op.integer("axis")
        element = element_type(x.type)
        rank = len(shape(x))
        kept = [n for d, n in enumerate(shape(x)) if d != axis]
        ignores = ignores_nan(op, element)
        begin = _STARTS[kind] if kind in _STARTS else _extreme(kind, element)
        begin = nan if ignores else begin
        start = filled(b, scalar(b, begin, element), tensor(kept, element))
        name = TABLE[_COMBINED[kind]][kind_of(x.type)]
        name = f"arith.{kind}numf" if ignores else name
        maps = [list(map(Dim, range(rank))), [Dim(d) for d in range(rank) if d != axis]]
        kinds = [REDUCTION if d == axis else PARALLEL for d in range(rank)]

        def body(inner: Builder, elements: Sequence[Value]) -> Sequence[Value]:
            value, total = elements
            return inner.add(name, (total, value), [element])

        (total,) = generic(b, [x], [start], maps, kinds, body)
        return [reshaped(b, total, shape(op.result))]

    return rule


def _argmax(b: Builder, op: Operation) -> Sequence[Value]:
    """The place of the first largest element, or of the first NaN unless ignored."""
    x, axis = op.operands[0], op.integer("axis")
    element, place = element_type(x.type), element_type(op.result.type)
    rank = len(shape(x))
    best = tensor(shape(op.result), element)
    starts = [
        filled(b, scalar(b, _extreme("max", element), element), best),
        filled(b, scalar(b, 0, place), op.result.type),
    ]
    whole = list(map(Dim, range(rank)))
    rest = [Dim(d) for d in range(rank) if d != axis]
    kinds = [REDUCTION if d == axis else PARALLEL for d in range(rank)]
    ignores, is_float = ignores_nan(op, element), isinstance(element, FloatType)
    direction = {"comparison_direction": enumeration("comparison_direction", "GT")}

    def body(inner: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        value, largest, at = elements
        (here,) = inner.add("arith.index_cast", (position(inner, axis),), [I64])
        here = converted(inner, here, place)
        larger = computed(inner, "compare", (value, largest), I1, dict(direction))
        if is_float and not ignores:
            is_nan, had_nan = (compared(inner, "uno", v, v) for v in (value, largest))
            first = compared(inner, "ugt", is_nan, had_nan)
            (larger,) = inner.add("arith.ori", (larger, first), [I1])
        (kept,) = inner.add("arith.select", (larger, value, largest), [element])
        return [kept, *inner.add("arith.select", (larger, here, at), [place])]

    return generic(b, [x], starts, [whole, rest, rest], kinds, body)[1:]


RULES: dict[str, Rule] = {
    **{f"tosa.reduce_{kind}": _reduced(kind) for kind in _COMBINED},
    "tosa.argmax": _argmax,
}
