"""Bodies of reductions: tensors of rank 0 become numbers."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.ir.attributes import Attribute, DenseElementsAttr, number
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.ir.types import TensorType, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.forms import refusal

_SCALAR = frozenset(["arith", "math", "complex", "builtin"])


def inlined(
    b: Builder, owner: Operation, block: Block, arguments: Sequence[Value]
) -> Sequence[Value]:
    """The body of a reduction on numbers: appended to ``b``, its values returned."""
    values = dict(zip(block.arguments, arguments, strict=True))
    for op in block.operations[:-1]:
        if op.dialect not in _SCALAR or op.regions:
            raise refusal(owner, "Combine numbers by arithmetic only", op.name)
        b.operations.append(_on_numbers(op, values))
    return [values.get(v, v) for v in block.operations[-1].operands]


def _on_numbers(op: Operation, values: dict[Value, Value]) -> Operation:
    results = tuple(v.renewed(_number_type(v)) for v in op.results)
    values.update(zip(op.results, results, strict=True))
    operands = tuple(values.get(v, v) for v in op.operands)
    made = op.with_(operands=operands, results=results)
    value = op.attributes.get("value")
    if isinstance(value, DenseElementsAttr):
        made = made.with_attribute("value", _first(value))
    return made


def _first(value: DenseElementsAttr) -> Attribute:
    (stored,) = value.values
    if isinstance(stored, Attribute):
        return stored
    assert isinstance(stored, int | float)
    return number(stored, value.element)


def _number_type(value: Value) -> Type:
    return (
        element_type(value.type) if isinstance(value.type, TensorType) else value.type
    )
