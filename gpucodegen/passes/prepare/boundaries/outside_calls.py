"""What runs outside of a program takes and gives numbers and buffers only.

Comes in: functions that print, check, or call what they do not define, also on vectors
and tensors.  Goes out: ``gcg.handle`` of numbers and buffers; calls and unknown
operations that have nothing else stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.dialects.func import Function, named_function
from gpucodegen.dialects.shared.effects import is_external
from gpucodegen.ir.attributes import Attribute, ElementsAttr, StringAttr, dictionary
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.boundaries.carriers import (
    carrier,
    given_back,
    holds_vector,
    inward,
    is_carried,
    outward,
)

HANDLE = "gcg.handle"


@dataclass(frozen=True, slots=True)
class OutsideCalls(ModulePass):
    """Vectors and tensors go through buffers where something outside takes them."""

    name: ClassVar[str] = "outside-calls"

    def apply(self, module: Module) -> Module:
        """Rewrite all functions."""
        without_body = {
            name for name, op in module.functions.items() if Function(op).is_external
        }

        def rewrite(op: Operation) -> Sequence[Operation] | None:
            if op.name == "func.call":
                callee = named_function(op)
                is_outside = callee in without_body and any(
                    map(is_carried, _values(op))
                )
                return _handled(op, callee, {}) if is_outside else None
            if op.name == HANDLE or op.regions or not is_external(op):
                return None
            is_known = lookup(op.name) is not None
            if is_known or any(map(holds_vector, _values(op))):
                return _handled(op, op.name, op.attributes)
            return None

        (root,) = rewrite_bottom_up(module.operation, rewrite)
        return Module(root)


def _values(op: Operation) -> tuple[Value, ...]:
    return (*op.operands, *op.results)


def _handled(
    op: Operation, name: str, attributes: Mapping[str, Attribute]
) -> list[Operation]:
    """The operation on carriers of its operands; a constant becomes an operand."""
    b = Builder(op.location)
    values, given = list(op.operands), dict(attributes)
    constant = given.get("value")
    if op.dialect == "check" and isinstance(constant, ElementsAttr):
        del given["value"]
        stated = {"value": constant}
        values += b.add("arith.constant", (), [constant.type], stated, hint="wanted")
    boxes = [outward(b, value) for value in values]
    about = {"operation": StringAttr(name), "given": dictionary(given)}
    results = tuple(
        v.renewed(carrier(v.type)) if is_carried(v) else v for v in op.results
    )
    b.operations.append(
        Operation(HANDLE, tuple(boxes), results, about, location=op.location)
    )
    given_back(b, boxes, values)
    for box, value in zip(results, op.results, strict=True):
        if box is not value:
            inward(b, box, value)
    return b.operations
