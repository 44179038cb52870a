"""Unsigned integers as integers without a sign, which is all that arith knows.

The rules have chosen the operations by then; the bits of all values stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.ir.attributes import Attribute, DenseElementsAttr, IntegerAttr, TypeAttr
from gpucodegen.ir.operation import Block, Operation, Region, Value
from gpucodegen.ir.types import FunctionType, IntegerType, Type, element_type


def without_signs(root: Operation) -> Operation:
    """The same operations on types without signs."""
    walked = [v for op in root.walk() for v in (*op.results, *_arguments(op))]
    has_any = any(signless(v.type) != v.type for v in walked)
    return _Eraser().operation(root) if has_any else root


def _arguments(op: Operation) -> list[Value]:
    return [v for r in op.regions for block in r.blocks for v in block.arguments]


def signless(ty: Type) -> Type:
    """A type without signs.

    >>> print(signless(IntegerType(8, "u")))
    i8
    """
    if isinstance(ty, FunctionType):
        inputs, results = (
            tuple(map(signless, side)) for side in (ty.inputs, ty.results)
        )
        return FunctionType(inputs, results)
    element = element_type(ty)
    if not isinstance(element, IntegerType) or not element.signedness:
        return ty
    plain = IntegerType(element.width)
    return plain if element is ty else with_element(ty, plain)


@dataclass(slots=True)
class _Eraser:
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def operation(self, op: Operation) -> Operation:
        """An operation and all inside, on types without signs."""
        operands = tuple(self.values.get(v, v) for v in op.operands)
        results = tuple(map(self._defined, op.results))
        attributes = {name: _plain(value) for name, value in op.attributes.items()}
        regions = tuple(
            Region(tuple(map(self._block, region.blocks))) for region in op.regions
        )
        return op.with_(
            operands=operands, results=results, attributes=attributes, regions=regions
        )

    def _block(self, block: Block) -> Block:
        arguments = tuple(map(self._defined, block.arguments))
        operations: list[Operation] = []
        for op in block.operations:
            made = self.operation(op)
            is_sign_cast = op.name == "builtin.unrealized_conversion_cast"
            if is_sign_cast and made.operands[0].type == made.result.type:
                self.values[op.result] = made.operands[0]
            else:
                operations.append(made)
        return replace(block, arguments=arguments, operations=tuple(operations))

    def _defined(self, value: Value) -> Value:
        ty = signless(value.type)
        if ty == value.type:
            return value
        return self.values.setdefault(value, value.renewed(ty))


def _plain(value: Attribute) -> Attribute:
    match value:
        case TypeAttr(ty):
            return TypeAttr(signless(ty))
        case IntegerAttr(number, ty):
            return IntegerAttr(number, signless(ty))
        case DenseElementsAttr(stored, ty, element):
            return DenseElementsAttr(stored, signless(ty), signless(element))
        case _:
            return value
