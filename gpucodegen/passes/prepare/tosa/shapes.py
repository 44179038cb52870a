"""Operations that only place elements; lists that were operands are attributes."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I64, INDEX, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo import movement
from gpucodegen.passes.prepare.stablehlo.forms import (
    Rule,
    extract,
    mapped,
    position,
    scalar,
    shape,
)


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
    attributes = {"dim": IntegerAttr(op.integer("axis"), I64)}
    return b.add("tensor.concat", op.operands, [op.result.type], attributes)


def _pad(b: Builder, op: Operation) -> Sequence[Value]:
    """Pairs of room in front and behind; zero where no number is given."""
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
    """The whole operand again and again."""
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
        (row,) = inner.add("arith.index_cast", elements[:1], [INDEX])
        return [extract(inner, values, (position(inner, 0), row, position(inner, 2)))]

    return [mapped(b, [indices], [[Dim(0), Dim(1)]], op.result.type, body)]


RULES: dict[str, Rule] = {
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
