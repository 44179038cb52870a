"""Loops, conditions, grids and launches as nodes of a scop.

Each rule appends the node of one operation to the walk that reached it.  A loop bound
without an affine form leaves that side of the domain open.  The blocks and threads of a
``gpu.func``, which is lifted for its race proof, are loops with those roles; a
``gpu.launch`` inside a function is lifted for its accesses, as loops that the program
declares parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from gpucodegen.dialects import affine, gpu
from gpucodegen.dialects.arith import predicate
from gpucodegen.dialects.func import Function
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import IntegerAttr, IntegerSetAttr
from gpucodegen.ir.operation import Block, Operation, Region, Value
from gpucodegen.passes.analysis.lifting.environment import (
    Environment,
    Text,
    constraint_texts,
    map_texts,
)
from gpucodegen.passes.analysis.lifting.index_values import is_uniform
from gpucodegen.passes.analysis.lifting.module_context import LiftingWalk
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.model.scop import If, Loop, Node, Role, nest

Nodes = list[Node]


def _bound(
    map_: AffineMap, operands: Sequence[Value], env: Environment
) -> tuple[str, ...]:
    """Bound texts; a result without affine form leaves that side open."""
    texts = map_texts(map_, env.all_texts(operands))
    return tuple(text for text in texts if text is not None)


def affine_for(walk: LiftingWalk, op: Operation, nodes: Nodes) -> None:
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
    """Whether an ``scf.for`` has bounds and a step with an affine form."""
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


def scf_for(walk: LiftingWalk, op: Operation, nodes: Nodes) -> None:
    """``scf.for`` that `counts`; its carried values are unknown."""
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


def affine_parallel(walk: LiftingWalk, op: Operation, nodes: Nodes) -> None:
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


def affine_if(walk: LiftingWalk, op: Operation, nodes: Nodes) -> None:
    """``affine.if`` with its integer set."""
    condition = op.attributes["condition"]
    assert isinstance(condition, IntegerSetAttr)
    texts = walk.env.all_texts(op.operands)
    split = condition.set.num_dims
    constraints = constraint_texts(
        condition.set.constraints, texts[:split], texts[split:]
    )
    nodes.append(_branches(walk, op, constraints))


def scf_if(walk: LiftingWalk, op: Operation, nodes: Nodes) -> None:
    """``scf.if``: either branch may run; refusals of unequal extents give equality."""
    if op not in walk.agreed:
        nodes.append(_branches(walk, op, None))
        return
    differ = walk.definitions.get(op.operands[0])
    if differ is not None and differ.name == "arith.cmpi":
        one, other = walk.env.all_texts(differ.operands)
        if one is not None and other is not None and predicate(differ) == "ne":
            walk.env.context.append(f"{one} = {other}")


def agreements(operations: Sequence[Operation]) -> Iterator[Operation]:
    """The refusals at the start of a function that compare two numbers."""
    for op in operations:
        if op.name == "scf.if" and any(o.name == "gcg.refuse" for o in op.walk()):
            yield op
        elif op.name != "memref.dim" and not has_no_effect(op):
            return


def _branches(
    walk: LiftingWalk, op: Operation, constraints: tuple[str, ...] | None
) -> If:
    outer, branches = walk.env.guards, list[tuple[Node, ...]]()
    for number, region in enumerate(op.regions):
        walk.env.guards = (*outer, *(constraints or ())) if number == 0 else outer
        branches.append(walk.body([o for b in region.blocks for o in b.operations]))
    walk.env.guards = outer
    walk.env.forget(op)
    then, orelse = (*branches, (), ())[:2]
    uniform = constraints is None and all(
        is_uniform(value, walk.definitions, walk.env.given) for value in op.operands
    )
    return If(constraints, then, orelse, uniform, op.location)


def opaque(walk: LiftingWalk, op: Operation) -> Loop:
    """A loop or region operation without affine form."""
    name = walk.env.names.fresh("opaque")
    for region in op.regions:
        for block in _repeated(op, region):
            walk.env.texts.update(dict.fromkeys(block.arguments))
    blocks = op.blocks
    if len(blocks) > 1:
        walk.env.rounds.add(name)
    body = walk.enter(name, (), lambda: _one_round(walk, blocks))
    walk.env.forget(op)
    return Loop(name, body=body, opaque=True, payload=op, loc=op.location)


def _one_round(walk: LiftingWalk, blocks: Sequence[Block]) -> Nodes:
    """The nodes of one iteration: the only block, or any of several."""
    bodies = [walk.body(block.operations) for block in blocks]
    if len(bodies) == 1:
        return list(bodies[0])
    return [If(None, body) for body in bodies]


def _repeated(op: Operation, region: Region) -> tuple[Block, ...]:
    """The blocks whose arguments change, all but a function's entry."""
    return region.blocks[1:] if op.name == "func.func" else region.blocks


IDENTITIES = {"gpu.block_id": Role.BLOCK, "gpu.thread_id": Role.THREAD}
"""The operations that give a position, and the role of its loop."""


def within_grid(
    op: Operation, env: Environment, body: Callable[[], tuple[Node, ...]]
) -> tuple[Node, ...]:
    """Block loops, thread loops and the body; unknown extents are unbounded.

    A launch of fewer blocks than there may be has fewer pairs of accesses.
    """
    extents = {
        Role.BLOCK: gpu.most_blocks(op),
        Role.THREAD: gpu.known_block(op),
    }
    around: list[Loop] = []
    identities = [nested for nested in op.walk() if nested.name in IDENTITIES]
    for source, role in IDENTITIES.items():
        for dimension, extent in zip("xyz", extents[role], strict=True):
            size = None if extent is None else str(extent)
            loop = _loop(env, (role, dimension), size)
            around.append(Loop(*loop, role=role, loc=op.location))
            for nested in identities:
                is_same = nested.name == source
                if is_same and gpu.dimension_of(nested) == dimension:
                    env.texts[nested.results[0]] = loop[0]
    env.scope = tuple(loop.name for loop in around if loop.role is Role.BLOCK)
    env.blocks = env.scope
    env.threads = tuple(loop.name for loop in around if loop.role is Role.THREAD)
    env.lane = _lane(env.threads, [str(n) for n in extents[Role.THREAD]])
    _declare_buffers(op, env)
    return nest(around, body())


def _lane(names: Sequence[str], extents: Sequence[str]) -> Text:
    """The number of a thread in its block modulo those of a warp, x fastest.

    >>> _lane(["x", "y", "z"], ["8", "4", "1"]), _lane(["x", "y", "z"], ["n", "4", "1"])
    ('(x + 8*y) mod 32', None)
    """
    terms: list[str] = []
    factor: int | None = 1
    for name, extent in zip(names, extents, strict=True):
        if extent == "1":
            continue
        if factor is None:
            return None
        terms.append(name if factor == 1 else f"{factor}*{name}")
        factor = factor * int(extent) if extent.isdecimal() else None
    return f"({' + '.join(terms) or '0'}) mod {WARP}"


def _loop(
    env: Environment, what: tuple[Role, str], size: Text
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Name and bounds of the loop over blocks or threads along a dimension."""
    role, dimension = what
    name = env.names.fresh(f"{role.value}_{dimension}")
    upper = () if size is None else (size,)
    env.bounded(name, ("0",), upper)
    return name, ("0",), upper


def _declare_buffers(op: Operation, env: Environment) -> None:
    """Declare the workgroup and private buffers of a kernel's signature."""
    function = Function(op)
    count = len(function.type.inputs)
    env.given = frozenset(function.arguments[:count])
    buffers = function.arguments[count:]
    shared = gpu.workgroup_count(op)
    for position, value in enumerate(buffers):
        env.declare(value, local=True, private=position >= shared, forgotten=True)


def gpu_launch(walk: LiftingWalk, op: Operation, nodes: list[Node]) -> None:
    """``gpu.launch``: parallel loops over its blocks and threads."""
    env, launch = walk.env, gpu.Launch(op)
    outer, threads, lane = env.scope, env.threads, env.lane
    sizes = env.all_texts(launch.sizes)
    kinds = [(role, d) for role in IDENTITIES.values() for d in "xyz"]
    pairs = zip(kinds, sizes, strict=True)
    loops = [_loop(env, what, size) for what, size in pairs]
    names = tuple(name for name, *_ in loops)
    env.texts.update(zip(launch.arguments, (*names, *sizes), strict=False))
    env.scope, env.threads = (*outer, *names[:3]), names[3:]
    env.lane = _lane(names[3:], [str(size) for size in sizes[3:]])
    body = _body(walk, op, launch.attributions)
    env.scope, env.threads, env.lane = outer, threads, lane
    trusted = walk.trust_parallel
    chain = [
        Loop(*loop, parallel=trusted, payload=op, loc=op.location) for loop in loops
    ]
    nodes.extend(nest(chain, body))


def _body(
    walk: LiftingWalk, op: Operation, buffers: Sequence[Value]
) -> tuple[Node, ...]:
    shared = gpu.workgroup_count(op)
    for position, value in enumerate(buffers):
        walk.env.declare(value, local=True, private=position >= shared)
    return walk.function_body(op, op.regions[0].blocks)
