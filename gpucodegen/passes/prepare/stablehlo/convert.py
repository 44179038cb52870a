"""Conversion of StableHLO to linalg, tensor, arith, math and scf on tensors.

Loops and branches become ``scf`` on tensors.  Unsigned integers become signless ones,
as arith requires, after the rules have chosen operations by signedness; bits are
unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.declare import with_element
from gpucodegen.dialects.stablehlo.operations import REFUSED
from gpucodegen.ir.attributes import Attribute, DenseElementsAttr, IntegerAttr, TypeAttr
from gpucodegen.ir.operation import Block, Operation, Region, Value, rewrite_bottom_up
from gpucodegen.ir.types import I1, I64, FunctionType, IntegerType, Type, element_type
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.inline import without_calls
from gpucodegen.passes.prepare.stablehlo import (
    elementwise,
    gather_scatter,
    library_calls,
    movement,
    reductions,
    sorting,
)
from gpucodegen.passes.prepare.stablehlo.forms import (
    STABLEHLO,
    Rule,
    check,
    extract,
    refusal,
    scalar,
)
from gpucodegen.records import dataclass


def while_(b: Builder, op: Operation) -> Sequence[Value]:
    """``scf.while``: the first region computes the condition."""
    before, after = (region.blocks[0] for region in op.regions)
    end = before.operations[-1]
    inner = Builder(end.location)
    goes_on = extract(inner, end.operands[0])
    inner.add("scf.condition", (goes_on, *before.arguments))
    asked = before.with_operations([*before.operations[:-1], *inner.operations])
    regions = [Region((asked,)), Region((_yielding(after),))]
    return b.add("scf.while", op.operands, [v.type for v in op.results], {}, regions)


def if_(b: Builder, op: Operation) -> Sequence[Value]:
    """``scf.if``."""
    condition = extract(b, op.operands[0])
    regions = [Region((_yielding(region.blocks[0]),)) for region in op.regions]
    return b.add("scf.if", (condition,), [v.type for v in op.results], {}, regions)


def case(b: Builder, op: Operation) -> Sequence[Value]:
    """A branch by number; the last one also for all other numbers."""
    number = extract(b, op.operands[0])
    blocks = [_yielding(region.blocks[0]) for region in op.regions]
    return _chosen(b, op, number, blocks, 0)


def _chosen(
    b: Builder, op: Operation, number: Value, blocks: Sequence[Block], first: int
) -> Sequence[Value]:
    types = [v.type for v in op.results]
    if len(blocks) == first + 1:
        *body, end = blocks[first].operations
        b.operations += body
        return end.operands
    wanted = scalar(b, first, number.type)
    predicate = {"predicate": IntegerAttr(0, I64)}
    is_it = b.value("arith.cmpi", (number, wanted), I1, predicate)
    inner = Builder(b.location)
    values = _chosen(inner, op, number, blocks, first + 1)
    inner.add("scf.yield", values)
    regions = [Region((blocks[first],)), Region((Block((), tuple(inner.operations)),))]
    return b.add("scf.if", (is_it,), types, {}, regions)


def _yielding(block: Block) -> Block:
    *body, end = block.operations
    last = Operation("scf.yield", end.operands, location=end.location)
    return block.with_operations([*body, last])


def composite(b: Builder, op: Operation) -> Sequence[Value]:
    """The call of its decomposition, which computes the same."""
    types = [v.type for v in op.results]
    callee = {"callee": op.attributes["decomposition"]}
    return b.add("func.call", op.operands, types, callee)


CONTROL_RULES: dict[str, Rule] = {
    "stablehlo.while": while_,
    "stablehlo.if": if_,
    "stablehlo.case": case,
    "stablehlo.composite": composite,
}


def without_signs(root: Operation) -> Operation:
    """The same operations on types without signs."""
    walked = [v for op in root.walk() for v in op.defined]
    has_any = any(signless(v.type) != v.type for v in walked)
    return _Eraser().operation(root) if has_any else root


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


RULES: dict[str, Rule] = {
    **elementwise.ELEMENTWISE_RULES,
    **movement.MOVEMENT_RULES,
    **reductions.CONTRACTION_RULES,
    **reductions.REDUCTION_RULES,
    **gather_scatter.GATHER_RULES,
    **gather_scatter.SCATTER_RULES,
    **gather_scatter.SELECT_AND_SCATTER_RULES,
    **sorting.sorting_rules(sorting.by_network),
    **library_calls.library_rules(on_cpu=False),
    **CONTROL_RULES,
}
"""Every operation that has a meaning in linalg."""
CPU_RULES = {
    **RULES,
    **sorting.sorting_rules(sorting.by_merging),
    **library_calls.library_rules(on_cpu=True),
}
"""The same with less work where it need not be parallel."""

_DIALECTS = ("stablehlo", "chlo")
_RETURN = "stablehlo.return"
"""Ends regions; the rules of the operations around them replace it."""


@dataclass(slots=True)
class _Converter:
    """``values``: the replacements of results; ``slices``, by their replacements."""

    rules: dict[str, Rule]
    slices: dict[Value, Operation] = field(default_factory=dict[Value, Operation])
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def rewrite(self, op: Operation) -> Sequence[Operation] | None:
        operands = tuple(self.values.get(v, v) for v in op.operands)
        op = op.with_(operands=operands)
        if op.dialect not in _DIALECTS or op.name == _RETURN:
            return [op]
        check(op, STABLEHLO)
        b = Builder(op.location)
        roll = None
        if op.name == "stablehlo.concatenate":
            roll = movement.roll_of(op, self.slices)
        made = [movement.rolled(b, roll)] if roll else self.rules[op.name](b, op)
        if op.name == "stablehlo.slice":
            self.slices[made[0]] = op
        self.values.update(zip(op.results, made, strict=True))
        return b.operations


_WITH_SCALAR_REGIONS = frozenset(
    f"stablehlo.{name}"
    for name in ("reduce", "reduce_window", "scatter", "select_and_scatter", "sort")
)


def without_calls_in_reducers(module: Module) -> Module:
    """Functions that combine or compare numbers are inlined in the operations.

    JAX prints ``jnp.where`` or ``jnp.clip`` as calls of private functions.
    """
    functions = module.functions

    def rewritten(op: Operation) -> list[Operation] | None:
        if op.name not in _WITH_SCALAR_REGIONS:
            return None
        return [without_calls(op, functions)]

    (root,) = rewrite_bottom_up(module.operation, rewritten)
    return Module(root)


def _unknown(op: Operation) -> Exception:
    advice = REFUSED.get(op.name.partition(".")[2])
    return refusal(op, advice or "Write it with other operations of StableHLO")


@dataclass(frozen=True, slots=True)
class StablehloToLinalg(ModulePass, name="stablehlo-to-linalg"):
    """Convert StableHLO to linalg, tensor, arith, math and scf.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
    ...   %zero = stablehlo.constant dense<0.0> : tensor<f32>
    ...   %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add
    ...     across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    ...   return %sum : tensor<f32>
    ... }''')
    >>> made = StablehloToLinalg().apply(module).functions["main"].body.operations
    >>> [op.name for op in made if op.dialect == "linalg"]
    ['linalg.fill', 'linalg.generic']

    ``on_cpu``: sorts merge, and factorizations of small matrices are loops.
    """

    looks_for: ClassVar[frozenset[str]] = frozenset(_DIALECTS)
    on_cpu: bool = False

    def apply(self, module: Module) -> Module:
        """Rewrite all operations; those without a rule are refused by name."""
        found = [op for op in module.walk() if op.dialect in _DIALECTS]
        if not found:
            return module
        for op in found:
            if op.name not in RULES and op.name != _RETURN:
                raise _unknown(op)
        rules = CPU_RULES if self.on_cpu else RULES
        inner = without_calls_in_reducers(module)
        (root,) = rewrite_bottom_up(inner.operation, _Converter(rules).rewrite)
        return Module(without_signs(root))
