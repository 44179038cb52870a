"""Loops and conditions as nodes of a scop.

Comes in: an operation with regions whose bounds or conditions may be affine, and the
walk that has reached it.  Goes out: its node, appended to those of the walk; bounds
without affine form leave their side open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpucodegen.dialects import affine
from gpucodegen.dialects.arith import predicate
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import IntegerAttr, IntegerSetAttr
from gpucodegen.ir.operation import Block, Operation, Region, Value
from gpucodegen.passes.analysis.lifting.environment import Environment
from gpucodegen.passes.analysis.lifting.values.expressions import (
    constraint_texts,
    map_texts,
)
from gpucodegen.passes.analysis.lifting.values.uniform import is_uniform
from gpucodegen.passes.analysis.lifting.walk.walk import Walk
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect
from gpucodegen.tiling.model.scop import If, Loop, Node

Nodes = list[Node]


def _bound(
    map_: AffineMap, operands: Sequence[Value], env: Environment
) -> tuple[str, ...]:
    """Bound texts; a result without affine form leaves that side open."""
    texts = map_texts(map_, env.all_texts(operands))
    return tuple(text for text in texts if text is not None)


def affine_for(walk: Walk, op: Operation, nodes: Nodes) -> None:
    """``affine.for``: one loop, registers for its iteration arguments."""
    loop = affine.For(op)
    lower = _bound(loop.lower_map, loop.lower_operands, walk.env)
    upper = _bound(loop.upper_map, loop.upper_operands, walk.env)
    walk.initialise(loop, nodes)
    name = walk.env.names.fresh(loop.iv.name, "i")
    walk.env.texts[loop.iv] = name
    walk.env.texts.update(dict.fromkeys(op.body.arguments[1:]))
    walk.env.bounded(name, lower, upper, loop.step)
    body = walk.enter(name, op.body.operations, lambda: walk.carry(loop))
    nodes.append(Loop(name, lower, upper, loop.step, body, payload=op, loc=op.location))


def counts(
    op: Operation, env: Environment, definitions: Mapping[Value, Operation]
) -> bool:
    """Whether it is an ``scf.for`` whose bounds and step have an affine form."""
    return (
        op.name == "scf.for"
        and "unsignedCmp" not in op.attributes
        and _step(op, definitions) > 0
        and None not in env.all_texts(op.operands[:2])
    )


def _step(op: Operation, definitions: Mapping[Value, Operation]) -> int:
    """The step of an ``scf.for`` if it is a number, else 0."""
    made = definitions.get(op.operands[2])
    value = made.attributes.get("value") if made is not None else None
    return value.value if isinstance(value, IntegerAttr) else 0


def scf_for(walk: Walk, op: Operation, nodes: Nodes) -> None:
    """``scf.for`` that `counts`; what it carries is not known."""
    lower, upper = map(str, walk.env.all_texts(op.operands[:2]))
    step = _step(op, walk.definitions)
    iv, *carried = op.body.arguments
    name = walk.env.names.fresh(iv.name, "i")
    walk.env.texts[iv] = name
    walk.env.texts.update(dict.fromkeys(carried))
    walk.env.bounded(name, (lower,), (upper,), step)
    body = walk.enter(name, op.body.operations)
    walk.env.forget(op)
    loop = Loop(name, (lower,), (upper,), step, body, payload=op, loc=op.location)
    nodes.append(loop)


def affine_parallel(walk: Walk, op: Operation, nodes: Nodes) -> None:
    """``affine.parallel``: one loop per variable."""
    loop = affine.Parallel(op)
    outer = walk.env.scope
    names = [walk.env.names.fresh(iv.name, "i") for iv in loop.ivs]
    bounds = [
        (
            _bound(low, loop.lower_operands, walk.env),
            _bound(up, loop.upper_operands, walk.env),
        )
        for low, up in zip(loop.lower_maps, loop.upper_maps, strict=True)
    ]
    walk.env.texts.update(zip(loop.ivs, names, strict=True))
    walk.env.scope = (*outer, *names)
    body = walk.body(op.body.operations)
    walk.env.scope = outer
    walk.env.forget(op)
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
                parallel=walk.trust_parallel,
                payload=op,
                loc=op.location,
            ),
        )
    nodes.extend(body)


def affine_if(walk: Walk, op: Operation, nodes: Nodes) -> None:
    """``affine.if`` with its integer set."""
    condition = op.attributes["condition"]
    assert isinstance(condition, IntegerSetAttr)
    texts = walk.env.all_texts(op.operands)
    split = condition.set.num_dims
    constraints = constraint_texts(
        condition.set.constraints, texts[:split], texts[split:]
    )
    nodes.append(_branches(walk, op, constraints))


def scf_if(walk: Walk, op: Operation, nodes: Nodes) -> None:
    """``scf.if``: either branch may run; after a refusal two numbers are equal."""
    if op not in walk.agreed:
        nodes.append(_branches(walk, op, None))
        return
    differ = walk.definitions.get(op.operands[0])
    if differ is not None and differ.name == "arith.cmpi":
        one, other = walk.env.all_texts(differ.operands)
        if one is not None and other is not None and predicate(differ) == "ne":
            walk.env.context.append(f"{one} = {other}")


def agreements(operations: Sequence[Operation]) -> Iterator[Operation]:
    """The refusals with which a function begins, where they are about two numbers."""
    for op in operations:
        if op.name == "scf.if" and any(o.name == "gcg.refuse" for o in op.walk()):
            yield op
        elif op.name != "memref.dim" and not has_no_effect(op):
            return


def _branches(walk: Walk, op: Operation, constraints: tuple[str, ...] | None) -> If:
    branches = [
        walk.body([o for b in region.blocks for o in b.operations])
        for region in op.regions
    ]
    walk.env.forget(op)
    then, orelse = (*branches, (), ())[:2]
    uniform = constraints is None and all(
        is_uniform(value, walk.definitions, walk.env.given) for value in op.operands
    )
    return If(constraints, then, orelse, uniform, op.location)


def opaque(walk: Walk, op: Operation) -> Loop:
    """A loop or region operation without affine form."""
    name = walk.env.names.fresh("opaque")
    for region in op.regions:
        for block in _repeated(op, region):
            walk.env.texts.update(dict.fromkeys(block.arguments))
    blocks = [block for region in op.regions for block in region.blocks]
    if len(blocks) > 1:
        walk.env.rounds.add(name)
    body = walk.enter(name, (), lambda: _one_round(walk, blocks))
    walk.env.forget(op)
    return Loop(name, body=body, opaque=True, payload=op, loc=op.location)


def _one_round(walk: Walk, blocks: Sequence[Block]) -> Nodes:
    """What may run in one iteration: the only block, or any of several."""
    bodies = [walk.body(block.operations) for block in blocks]
    if len(bodies) == 1:
        return list(bodies[0])
    return [If(None, body) for body in bodies]


def _repeated(op: Operation, region: Region) -> tuple[Block, ...]:
    """The blocks whose arguments change; those of a function's entry do not."""
    return region.blocks[1:] if op.name == "func.func" else region.blocks
