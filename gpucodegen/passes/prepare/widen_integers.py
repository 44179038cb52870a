"""Integers of odd widths, stored in integers of 8, 16, 32 or 64 bits.

An N-bit number is held as the M-bit number, M > N, of equal signed value.  Signed
operations are unchanged; unsigned ones mask off the copies of the sign bit, and
operations that may overflow N bits wrap around.  In memory an element takes the bytes
of its container, as in LLVM, and the bits beyond its width are ignored by loads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from gpucodegen import errors
from gpucodegen.dialects.arith import bit_width, held, holds_odd
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.ir.attributes import (
    Attribute,
    DenseElementsAttr,
    IntegerAttr,
    TypeAttr,
)
from gpucodegen.ir.operation import Block, Operation, Value, renamed
from gpucodegen.ir.types import I1, IntegerType, Type, element_type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.records import dataclass


@dataclass(slots=True)
class WidenedInteger:
    """An operation, and its widened operands."""

    op: Operation
    operands: Sequence[Value]
    results: Sequence[Type]
    b: Builder

    @property
    def before(self) -> int:
        return bit_width(element_type(self.op.operands[0].type))

    @property
    def after(self) -> int:
        return bit_width(element_type(self.op.results[0].type))

    def same(self, *operands: Value) -> tuple[Value, ...]:
        return self.b.add(
            self.op.name, operands or self.operands, self.results, self.op.attributes
        )

    def made(self, name: str, *operands: Value) -> Value:
        """An operation whose result has the type of its first operand."""
        return self.b.value(f"arith.{name}", operands, operands[0].type)

    def number(self, value: int, like: Value) -> Value:
        """A constant, broadcast to every element."""
        return self.b.constant(value, like.type)

    def wrapped(self, value: Value, bits: int) -> Value:
        """The low bits of a number, sign-extended."""
        rest = bit_width(element_type(value.type)) - bits
        if rest <= 0 or not isinstance(element_type(value.type), IntegerType):
            return value
        count = self.number(rest, value)
        return self.made("shrsi", self.made("shli", value, count), count)

    def natural(self, value: Value, bits: int) -> Value:
        """The low bits of a number, zero-extended."""
        if bits in (0, bit_width(element_type(value.type))):
            return value
        return self.made("andi", value, self.number((1 << bits) - 1, value))

    def naturals(self) -> list[Value]:
        """All operands, zero-extended."""
        return [self.natural(value, self.before) for value in self.operands]


Rule = Callable[[WidenedInteger], Sequence[Value]]


def _same(h: WidenedInteger) -> Sequence[Value]:
    return h.same()


def _wrapped(h: WidenedInteger) -> Sequence[Value]:
    """Operations whose results only have to wrap around."""
    return [h.wrapped(value, h.after) for value in h.same()]


def _unsigned(h: WidenedInteger) -> Sequence[Value]:
    """Operations on zero-extended operands."""
    return [h.wrapped(value, h.after) for value in h.same(*h.naturals())]


def _leading(h: WidenedInteger) -> Sequence[Value]:
    (value,) = h.same(*h.naturals())
    rest = bit_width(element_type(value.type)) - h.before
    return [h.wrapped(h.made("subi", value, h.number(rest, value)), h.before)]


def _trailing(h: WidenedInteger) -> Sequence[Value]:
    """A bit above the number ends the zeros."""
    (operand,) = h.operands
    (value,) = h.same(h.made("ori", operand, h.number(1 << h.before, operand)))
    return [h.wrapped(value, h.before)]


def _sum(h: WidenedInteger) -> Sequence[Value]:
    """``addui_extended``: the container holds the sum; the carry is bit N."""
    total = h.made("addi", *h.naturals())
    most = h.number((1 << h.before) - 1, total)
    return [h.wrapped(total, h.before), _below(h, most, total)]


def _difference(h: WidenedInteger) -> Sequence[Value]:
    """``subui_extended``: copies of the sign keep the order of unsigned numbers."""
    difference = h.made("subi", *h.operands)
    return [h.wrapped(difference, h.before), _below(h, *h.operands)]


def _below(h: WidenedInteger, a: Value, b: Value) -> Value:
    from gpucodegen.dialects import arith

    made = arith.compare("arith.cmpi", "ult", a, b, location=h.op.location)
    result = made.result.renewed(with_element(a.type, I1))
    h.b.operations.append(made.with_(results=(result,)))
    return result


def _product(h: WidenedInteger) -> Sequence[Value]:
    """``mul*_extended``: a factor at the top of its word moves the product there."""
    signed = h.op.name == "arith.mulsi_extended"
    a, b = h.operands if signed else h.naturals()
    rest = bit_width(element_type(a.type)) - h.before
    raised = h.made("shli", a, h.number(rest, a))
    _, high = h.b.add(h.op.name, [raised, b], [a.type, a.type])
    low = h.made("muli", a, b)
    return [h.wrapped(low, h.before), h.wrapped(high, h.before)]


def _resized(h: WidenedInteger) -> Sequence[Value]:
    """``extsi``, ``extui`` and ``trunci`` between containers."""
    (value,), (ty,) = h.operands, h.results
    if h.op.name == "arith.extui":
        value = h.natural(value, h.before)
    old, new = (bit_width(element_type(t)) for t in (value.type, ty))
    if old != new:
        name = "arith.trunci" if new < old else h.op.name
        value = h.b.value(name, [value], ty)
    return [h.wrapped(value, h.after) if h.op.name == "arith.trunci" else value]


def _from_unsigned(h: WidenedInteger) -> Sequence[Value]:
    """``uitofp`` and ``index_castui``."""
    return [h.wrapped(v, h.after) if h.after else v for v in h.same(*h.naturals())]


def _cast(h: WidenedInteger) -> Sequence[Value]:
    return [h.wrapped(v, h.after) if h.after else v for v in h.same()]


_NAMES: dict[Rule, str] = {
    _same: "andi ori xori divsi remsi floordivsi ceildivsi minsi maxsi minui maxui "
    "shrsi cmpi select sitofp",
    _wrapped: "addi subi muli shli",
    _unsigned: "divui remui ceildivui shrui",
    _sum: "addui_extended",
    _difference: "subui_extended",
    _product: "mulsi_extended mului_extended",
    _resized: "extsi extui trunci",
    _cast: "index_cast fptosi fptoui",
    _from_unsigned: "uitofp index_castui",
}
RULES: Mapping[str, Rule] = {
    **{f"arith.{name}": rule for rule, row in _NAMES.items() for name in row.split()},
    "math.absi": _wrapped,
    "math.ipowi": _wrapped,
    "math.fpowi": _same,
    "math.ctpop": _unsigned,
    "math.ctlz": _leading,
    "math.cttz": _trailing,
}
"""Operations of arith and math."""


PASSING = frozenset("func cf scf affine memref gpu vector builtin gcg".split())
"""Dialects that pass integers on."""
REFUSED = frozenset(
    "vector.bitcast arith.bitcast memref.view memref.generic_atomic_rmw".split()
)
"""Operations that depend on the number of bits."""
WRAPPING = frozenset(
    "memref.load affine.load affine.vector_load vector.load vector.transfer_read "
    "vector.maskedload vector.gather vector.expandload memref.atomic_rmw "
    "vector.reduction vector.multi_reduction vector.outerproduct vector.contract "
    "affine.parallel".split()
)
"""Operations whose results may exceed the width: loads, sums, products."""
TYPED = ("value", "type", "initial_value", "function_type", "case_values")
"""Attributes that hold types and values of integers."""


@dataclass(frozen=True, slots=True)
class WidenIntegers(ModulePass, name="widen-integers"):
    """Integers of odd widths up to 64 bits become integers of machine widths."""

    def apply(self, module: Module) -> Module:
        if not any(map(_mentions, module.operation.walk())):
            return module
        (root,) = _Widener().operation(module.operation)
        return Module(root)


def _mentions(op: Operation) -> bool:
    values = (*op.operands, *op.defined)
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
        if holds_odd(value.type) and value not in self.values:
            self.values[value] = value.renewed(held(value.type))
        return self.values.get(value, value)

    def operation(self, op: Operation) -> Sequence[Operation]:
        odd = [v for v in (*op.operands, *op.results) if holds_odd(v.type)]
        if odd and op.name in RULES:
            return self._by_rule(op)
        constant = op.name == "arith.constant"
        if odd and not constant and (op.dialect not in PASSING or op.name in REFUSED):
            raise errors.UnsupportedOperation.at(
                op,
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
        h = WidenedInteger(op, new.operands, [v.type for v in raw], b)
        for old, value in zip(op.results, raw, strict=True):
            bits = bit_width(element_type(old.type)) if holds_odd(old.type) else 64
            self.values[old] = h.wrapped(value, bits)
        return b.operations

    def _by_rule(self, op: Operation) -> Sequence[Operation]:
        b = Builder(op.location)
        operands = [self.values.get(v, v) for v in op.operands]
        h = WidenedInteger(op, operands, [held(v.type) for v in op.results], b)
        found = RULES[op.name](h)
        self.values.update(zip(op.results, found, strict=True))
        return b.operations
