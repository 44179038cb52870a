"""Loops and branches: ``scf`` on tensors."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Block, Operation, Region, Value
from gpucodegen.ir.types import I1, I64
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.forms import Rule, extract, scalar


def while_(b: Builder, op: Operation) -> Sequence[Value]:
    """``scf.while``: the first region asks whether the second one runs."""
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
    """A branch by number; the last one also for any number that is none of them."""
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
    (is_it,) = b.add("arith.cmpi", (number, wanted), [I1], predicate)
    inner = Builder(b.location)
    values = _chosen(inner, op, number, blocks, first + 1)
    inner.add("scf.yield", values)
    regions = [Region((blocks[first],)), Region((Block((), tuple(inner.operations)),))]
    return b.add("scf.if", (is_it,), types, {}, regions)


def _yielding(block: Block) -> Block:
    *body, end = block.operations
    last = Operation("scf.yield", end.operands, location=end.location)
    return block.with_operations([*body, last])


RULES: dict[str, Rule] = {
    "stablehlo.while": while_,
    "stablehlo.if": if_,
    "stablehlo.case": case,
}
