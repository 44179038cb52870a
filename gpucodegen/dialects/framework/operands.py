"""How checks speak of operands, and where in the text they point."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.errors.base import Note
from gpucodegen.errors.focus import Focus
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import Type


def shown(value: Value) -> str:
    """The value's name in a message."""
    return f"'%{value.name}'" if value.name else "this value"


def defined_here(value: Value) -> list[Note]:
    """A note at the definition."""
    return [(value.location, "defined here")]


def focus(op: Operation, value: Value) -> Focus | None:
    """Where the operation names the value, if it is an operand or passed on."""
    passed = (v for s in op.successors for v in s.operands)
    is_used = value in op.operands or value in passed
    return Focus(value.location) if is_used else None


def first_difference(values: Sequence[Value], types: Sequence[Type]) -> Value | None:
    """The first value of another type, if there are as many as types."""
    if len(values) != len(types):
        return None
    pairs = zip(values, types, strict=True)
    return next((value for value, ty in pairs if value.type != ty), None)


def wrong_operand(op: Operation, types: Sequence[Type]) -> Focus | None:
    """Where the operation names the first operand that is not of its type."""
    wrong = first_difference(op.operands, types)
    return None if wrong is None else focus(op, wrong)
