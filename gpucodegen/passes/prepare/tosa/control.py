"""Branches and loops, as those of StableHLO."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.ir.operation import Block, Operation, Region, Value, substitute_values
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo import control
from gpucodegen.passes.prepare.stablehlo.forms import Rule
from gpucodegen.passes.prepare.stablehlo.movement import reshaped


def _cond_if(b: Builder, op: Operation) -> Sequence[Value]:
    """Branches get the operands after the condition as their arguments, or none."""
    condition, *given = op.operands
    regions = tuple(_bound(region.blocks[0], given) for region in op.regions)
    number = reshaped(b, condition, ())
    return control.if_(b, op.with_(operands=(number,), regions=regions))


def _bound(block: Block, given: Sequence[Value]) -> Region:
    known = dict(zip(block.arguments, given, strict=False))
    operations = tuple(substitute_values(op, known) for op in block.operations)
    return Region((Block((), operations),))


def _while_loop(b: Builder, op: Operation) -> Sequence[Value]:
    """The first region asks by a tensor of one element."""
    first, *others = op.regions
    block = first.blocks[0]
    *body, end = block.operations
    inner = Builder(end.location, body)
    asked = reshaped(inner, end.operands[0], ())
    block = block.with_operations([*inner.operations, end.with_(operands=(asked,))])
    return control.while_(b, op.with_(regions=(Region((block,)), *others)))


RULES: dict[str, Rule] = {"tosa.cond_if": _cond_if, "tosa.while_loop": _while_loop}
