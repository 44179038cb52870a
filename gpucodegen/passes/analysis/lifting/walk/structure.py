"""Loops and conditions as nodes of a scop.

Comes in: an operation with regions whose bounds or conditions may be affine, and the
walk that has reached it.  Goes out: its node, appended to those of the walk; bounds
without affine form leave their side open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gpucodegen.dialects import affine
from gpucodegen.dialects.arith import predicate
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.attributes import IntegerAttr, IntegerSetAttr
from gpucodegen.ir.operation import Block, Operation, Region, Value
from gpucodegen.passes.analysis.lifting.environment import Environment
from gpucodegen.passes.analysis.lifting.values.expressions import (
    constraint_texts,
    map_texts,
)
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect
from gpucodegen.tiling.model.scop import If, Loop, Node

if TYPE_CHECKING:
    from gpucodegen.passes.analysis.lifting.walk.walker import Lifter

Nodes = list[Node]


def _bound(
    map_: AffineMap, operands: Sequence[Value], env: Environment
) -> tuple[str, ...]:
    """Bound texts; a result without affine form leaves that side open."""
    texts = map_texts(map_, env.all_texts(operands))
    return tuple(text for text in texts if text is not None)


def affine_for(lifter: Lifter, op: Operation, nodes: Nodes) -> None:
    """``affine.for``: one loop, registers for its iteration arguments."""
    loop = affine.For(op)
    lower = _bound(loop.lower_map, loop.lower_operands, lifter.env)
    upper = _bound(loop.upper_map, loop.upper_operands, lifter.env)
    lifter.initialise(loop, nodes)
    name = lifter.env.names.fresh(loop.iv.name, "i")
    lifter.env.texts[loop.iv] = name
    lifter.env.texts.update(dict.fromkeys(op.body.arguments[1:]))
    lifter.env.bounded(name, lower, upper, loop.step)
    body = lifter.enter(name, op.body.operations, lambda: lifter.carry(loop))
    nodes.append(Loop(name, lower, upper, loop.step, body, payload=op, loc=op.location))


def counts(
    op: Operation, env: Environment, definitions: Mapping[Value, Operation]
) -> bool:
    """Whether it is an ``scf.for`` whose bounds and step have an affine form."""
    return (
        op.name == "scf.for"
        and _step(op, definitions) > 0
        and None not in env.all_texts(op.operands[:2])
    )


def _step(op: Operation, definitions: Mapping[Value, Operation]) -> int:
    """The step of an ``scf.for`` if it is a number, else 0."""
    made = definitions.get(op.operands[2])
    value = made.attributes.get("value") if made is not None else None
    return value.value if isinstance(value, IntegerAttr) else 0


def scf_for(lifter: Lifter, op: Operation, nodes: Nodes) -> None:
    """``scf.for`` that `counts`; what it carries is not known."""
    lower, upper = map(str, lifter.env.all_texts(op.operands[:2]))
    step = _step(op, lifter.definitions)
    iv, *carried = op.body.arguments
    name = lifter.env.names.fresh(iv.name, "i")
    lifter.env.texts[iv] = name
    lifter.env.texts.update(dict.fromkeys(carried))
    lifter.env.bounded(name, (lower,), (upper,), step)
    body = lifter.enter(name, op.body.operations)
    lifter.env.forget(op)
    loop = Loop(name, (lower,), (upper,), step, body, payload=op, loc=op.location)
    nodes.append(loop)


def affine_parallel(lifter: Lifter, op: Operation, nodes: Nodes) -> None:
    """``affine.parallel``: one loop per variable."""
    loop = affine.Parallel(op)
    outer = lifter.env.scope
    names = [lifter.env.names.fresh(iv.name, "i") for iv in loop.ivs]
    bounds = [
        (
            _bound(low, loop.lower_operands, lifter.env),
            _bound(up, loop.upper_operands, lifter.env),
        )
        for low, up in zip(loop.lower_maps, loop.upper_maps, strict=True)
    ]
    lifter.env.texts.update(zip(loop.ivs, names, strict=True))
    lifter.env.scope = (*outer, *names)
    body = lifter.body(op.body.operations)
    lifter.env.scope = outer
    lifter.env.forget(op)
    for name, (low, up), step in reversed(
        list(zip(names, bounds, loop.steps, strict=True))
    ):
        body = (
            Loop(
                name,
                low,
                up,
                step,
                body,
                parallel=lifter.trust_parallel,
                payload=op,
                loc=op.location,
            ),
        )
    nodes.extend(body)


def affine_if(lifter: Lifter, op: Operation, nodes: Nodes) -> None:
    """``affine.if`` with its integer set."""
    condition = op.attributes["condition"]
    assert isinstance(condition, IntegerSetAttr)
    texts = lifter.env.all_texts(op.operands)
    split = condition.set.num_dims
    constraints = constraint_texts(
        condition.set.constraints, texts[:split], texts[split:]
    )
    nodes.append(_branches(lifter, op, constraints))


def scf_if(lifter: Lifter, op: Operation, nodes: Nodes) -> None:
    """``scf.if``: either branch may run; behind a refusal two numbers are equal."""
    if op not in lifter.agreed:
        nodes.append(_branches(lifter, op, None))
        return
    differ = lifter.definitions.get(op.operands[0])
    if differ is not None and differ.name == "arith.cmpi":
        one, other = lifter.env.all_texts(differ.operands)
        if one is not None and other is not None and predicate(differ) == "ne":
            lifter.env.context.append(f"{one} = {other}")


def agreements(operations: Sequence[Operation]) -> Iterator[Operation]:
    """The refusals with which a function begins, where they are about two numbers."""
    for op in operations:
        if op.name == "scf.if" and any(o.name == "gcg.refuse" for o in op.walk()):
            yield op
        elif op.name != "memref.dim" and not has_no_effect(op):
            return


def _branches(lifter: Lifter, op: Operation, constraints: tuple[str, ...] | None) -> If:
    branches = [
        lifter.body([o for b in region.blocks for o in b.operations])
        for region in op.regions
    ]
    lifter.env.forget(op)
    then, orelse = (*branches, (), ())[:2]
    return If(constraints, then, orelse, loc=op.location)


def opaque(lifter: Lifter, op: Operation) -> Loop:
    """A loop or region operation without affine form."""
    name = lifter.env.names.fresh("opaque")
    for region in op.regions:
        for block in _repeated(op, region):
            lifter.env.texts.update(dict.fromkeys(block.arguments))
    blocks = [block for region in op.regions for block in region.blocks]
    if len(blocks) > 1:
        lifter.env.rounds.add(name)
    body = lifter.enter(name, (), lambda: _one_round(lifter, blocks))
    lifter.env.forget(op)
    return Loop(name, body=body, opaque=True, payload=op, loc=op.location)


def _one_round(lifter: Lifter, blocks: Sequence[Block]) -> Nodes:
    """What may run in one iteration: the only block, or any of several."""
    bodies = [lifter.body(block.operations) for block in blocks]
    if len(bodies) == 1:
        return list(bodies[0])
    return [If(None, body) for body in bodies]


def _repeated(op: Operation, region: Region) -> tuple[Block, ...]:
    """The blocks whose arguments change; those of a function's entry do not."""
    return region.blocks[1:] if op.name == "func.func" else region.blocks
