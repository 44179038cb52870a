"""TOSA reductions along an axis (which keep extent 1), argmax and data movement.

Operands that were lists are attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan

from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.dialects.stablehlo.syntax import enumeration
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    I1,
    I64,
    INDEX,
    FloatType,
    IntegerType,
    Type,
    element_type,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo import movement
from gpucodegen.passes.prepare.stablehlo.expressions import (
    TABLE,
    compared,
    converted,
    kind_of,
)
from gpucodegen.passes.prepare.stablehlo.forms import (
    PARALLEL,
    REDUCTION,
    Rule,
    extract,
    filled,
    generic,
    mapped,
    position,
    scalar,
    shape,
    tensor,
)
from gpucodegen.passes.prepare.stablehlo.movement import reshaped
from gpucodegen.passes.prepare.tosa.elementwise import computed, ignores_nan


def _const(b: Builder, op: Operation) -> Sequence[Value]:
    value = op.attributes.get("values", op.attributes.get("value"))
    assert value is not None
    attributes = {"value": value}
    return b.add("arith.constant", (), [op.result.type], attributes, hint="cst")


def _reshape(b: Builder, op: Operation) -> Sequence[Value]:
    return [movement.reshaped(b, op.operands[0], shape(op.result))]


def _transpose(b: Builder, op: Operation) -> Sequence[Value]:
    order = numbers(op, "perms")
    places = [Dim(order.index(d)) for d in range(len(order))]
    return [mapped(b, op.operands[:1], [places], op.result.type)]


def _concat(b: Builder, op: Operation) -> Sequence[Value]:
    return movement.joined(b, op, op.integer("axis"))


def _pad(b: Builder, op: Operation) -> Sequence[Value]:
    """Pairs of padding before and after; zero where no number is given."""
    x, *given = op.operands
    room = numbers(op, "padding")
    number = given[0] if given else scalar(b, 0, element_type(x.type))
    if len(shape(number)) == 1:
        number = extract(b, number, [scalar(b, 0, INDEX)])
    return [movement.padded(b, x, number, room[::2], room[1::2])]


def _slice(b: Builder, op: Operation) -> Sequence[Value]:
    x, starts = op.operands[0], numbers(op, "start")
    steps = (1,) * len(starts)
    return [movement.part_of(b, x, starts, steps, op.result.type)]


def _reverse(b: Builder, op: Operation) -> Sequence[Value]:
    axis = op.integer("axis")
    places = [
        Dim(d) * -1 + (n - 1) if d == axis else Dim(d)
        for d, n in enumerate(shape(op.result))
    ]
    return [mapped(b, op.operands, [places], op.result.type)]


def _tile(b: Builder, op: Operation) -> Sequence[Value]:
    """Repetition of the whole operand."""
    x = op.operands[0]

    def body(inner: Builder, _: Sequence[Value]) -> Sequence[Value]:
        at: list[Value] = []
        for d, n in enumerate(shape(x)):
            extent = scalar(inner, n, INDEX)
            at += inner.add("arith.remui", (position(inner, d), extent), [INDEX])
        return [extract(inner, x, at)]

    return [mapped(b, [], [], op.result.type, body)]


def _gather(b: Builder, op: Operation) -> Sequence[Value]:
    """``result[n, w, c] = values[n, indices[n, w], c]``."""
    values, indices = op.operands

    def body(inner: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        row = inner.value("arith.index_cast", elements[:1], INDEX)
        return [extract(inner, values, (position(inner, 0), row, position(inner, 2)))]

    return [mapped(b, [indices], [[Dim(0), Dim(1)]], op.result.type, body)]


SHAPE_RULES: dict[str, Rule] = {
    "tosa.const": _const,
    "tosa.reshape": _reshape,
    "tosa.transpose": _transpose,
    "tosa.concat": _concat,
    "tosa.pad": _pad,
    "tosa.slice": _slice,
    "tosa.reverse": _reverse,
    "tosa.tile": _tile,
    "tosa.gather": _gather,
}


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
    """The neutral element of a maximum or minimum."""
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
    """The position of the first largest element, or of the first NaN unless ignored."""
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
        here = inner.value("arith.index_cast", (position(inner, axis),), I64)
        here = converted(inner, here, place)
        larger = computed(inner, "compare", (value, largest), I1, dict(direction))
        if is_float and not ignores:
            is_nan, had_nan = (compared(inner, "uno", v, v) for v in (value, largest))
            first = compared(inner, "ugt", is_nan, had_nan)
            larger = inner.value("arith.ori", (larger, first), I1)
        kept = inner.value("arith.select", (larger, value, largest), element)
        return [kept, *inner.add("arith.select", (larger, here, at), [place])]

    return generic(b, [x], starts, [whole, rest, rest], kinds, body)[1:]


REDUCTION_RULES: dict[str, Rule] = {
    **{f"tosa.reduce_{kind}": _reduced(kind) for kind in _COMBINED},
    "tosa.argmax": _argmax,
}
