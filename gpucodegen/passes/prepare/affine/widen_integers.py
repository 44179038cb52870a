"""Integers of odd widths, held by those of 8, 16, 32 or 64 bits.

In memory an element of an odd width takes the bytes of what holds it, as in LLVM; the
bits beyond its width are ignored when it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.arith import bit_width, held, holds_odd
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.attributes import (
    Attribute,
    DenseElementsAttr,
    IntegerAttr,
    TypeAttr,
)
from gpucodegen.ir.operation import Block, Operation, Value, renamed
from gpucodegen.ir.types import element_type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.affine.integer_rules import RULES, Held

PASSING = frozenset("func cf scf affine memref gpu vector builtin gcg".split())
"""Dialects that hand numbers on."""
REFUSED = frozenset(
    "vector.bitcast arith.bitcast memref.view memref.generic_atomic_rmw".split()
)
"""What depends on the number of bits."""
WRAPPING = frozenset(
    "memref.load affine.load affine.vector_load vector.load vector.transfer_read "
    "vector.maskedload vector.gather vector.expandload memref.atomic_rmw "
    "vector.reduction vector.multi_reduction vector.outerproduct vector.contract "
    "affine.parallel".split()
)
"""What may give more bits than the type has: memory, sums, products."""
TYPED = ("value", "type", "initial_value", "function_type", "case_values")
"""Attributes that hold types and numbers of values."""


@dataclass(frozen=True, slots=True)
class WidenIntegers(ModulePass):
    """Integers of any width up to 64 bits are held by those that processors have."""

    name: ClassVar[str] = "widen-integers"

    def apply(self, module: Module) -> Module:
        """Rewrite all operations, if there is such a type."""
        if not any(map(_mentions, module.operation.walk())):
            return module
        (root,) = _Widener().operation(module.operation)
        return Module(root)


def _mentions(op: Operation) -> bool:
    values = (
        *op.operands,
        *op.results,
        *(
            a
            for region in op.regions
            for block in region.blocks
            for a in block.arguments
        ),
    )
    attributes = (op.attributes[name] for name in TYPED if name in op.attributes)
    return any(holds_odd(v.type) for v in values) or any(
        _held_attribute(a) is not a for a in attributes
    )


def _held_attribute(value: Attribute) -> Attribute:
    match value:
        case TypeAttr(ty) if held(ty) != ty:
            return TypeAttr(held(ty))
        case IntegerAttr(number, ty) if holds_odd(ty):
            return IntegerAttr(_signed(number, bit_width(ty)), held(ty))
        case DenseElementsAttr(type=ty, element=element) if holds_odd(element):
            bits = bit_width(element)
            numbers = (
                _signed(int(v), bits) for v in value.values if isinstance(v, int)
            )
            return DenseElementsAttr(tuple(numbers), held(ty), held(element))
        case _:
            return value


def _signed(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


@dataclass(slots=True)
class _Widener:
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def block(self, block: Block) -> Block:
        """Arguments and operations, as they are held."""
        arguments = tuple(map(self.value, block.arguments))
        operations = [o for op in block.operations for o in self.operation(op)]
        return replace(block, arguments=arguments, operations=tuple(operations))

    def value(self, value: Value) -> Value:
        """A value of the type that holds it."""
        if holds_odd(value.type) and value not in self.values:
            self.values[value] = value.renewed(held(value.type))
        return self.values.get(value, value)

    def operation(self, op: Operation) -> Sequence[Operation]:
        """What takes the place of an operation."""
        odd = [v for v in (*op.operands, *op.results) if holds_odd(v.type)]
        if odd and op.name in RULES:
            return self._by_rule(op)
        constant = op.name == "arith.constant"
        if odd and not constant and (op.dialect not in PASSING or op.name in REFUSED):
            raise errors.UnsupportedOperation(
                op.location,
                operation=op.name,
                target=f"numbers of type {odd[0].type}",
                advice="Extend them to 8, 16, 32 or 64 bits first",
            )
        attributes = {
            name: _held_attribute(value) if name in TYPED else value
            for name, value in op.attributes.items()
        }
        new = renamed(op, self.values).with_(attributes=attributes)
        new = new.with_(regions=op.with_blocks(self.block).regions)
        if op.name in WRAPPING:
            return self._wrapping(op, new)
        return [new.with_(results=tuple(map(self.value, op.results)))]

    def _wrapping(self, op: Operation, new: Operation) -> Sequence[Operation]:
        """Results cut off to their widths."""
        b = Builder(op.location)
        raw = [v.renewed(held(v.type)) for v in op.results]
        b.operations.append(new.with_(results=tuple(raw)))
        h = Held(op, new.operands, [v.type for v in raw], b)
        for old, value in zip(op.results, raw, strict=True):
            bits = bit_width(element_type(old.type)) if holds_odd(old.type) else 64
            self.values[old] = h.wrapped(value, bits)
        return b.operations

    def _by_rule(self, op: Operation) -> Sequence[Operation]:
        b = Builder(op.location)
        operands = [self.values.get(v, v) for v in op.operands]
        h = Held(op, operands, [held(v.type) for v in op.results], b)
        found = RULES[op.name](h)
        self.values.update(zip(op.results, found, strict=True))
        return b.operations
