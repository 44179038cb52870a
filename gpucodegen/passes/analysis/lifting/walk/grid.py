"""Blocks and threads as nested loops around the body of a kernel.

A ``gpu.func`` is lifted for its race proof: its loops have the roles of blocks and
threads.  A ``gpu.launch`` inside of a function is lifted for what it touches: loops
like any others, which the program declares parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects import gpu
from gpucodegen.dialects.func import Function
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting.environment import Environment, Text
from gpucodegen.passes.analysis.lifting.walk.walk import Walk
from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.model.scop import Loop, Node, Role, nest

IDENTITIES = {"gpu.block_id": Role.BLOCK, "gpu.thread_id": Role.THREAD}
"""The operations that give a position, and the loops that it stands for."""


def within_grid(
    op: Operation, env: Environment, body: Callable[[], tuple[Node, ...]]
) -> tuple[Node, ...]:
    """Block loops, thread loops, body; extents that are not known are unbounded."""
    extents = {
        Role.BLOCK: gpu.known_grid(op),
        Role.THREAD: gpu.known_block(op),
    }
    around: list[Loop] = []
    for source, role in IDENTITIES.items():
        for dimension, extent in zip("xyz", extents[role], strict=True):
            size = None if extent is None else str(extent)
            loop = _loop(env, (role, dimension), size)
            around.append(Loop(*loop, role=role, loc=op.location))
            for nested in op.walk():
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
    """The buffers that a kernel's signature gives to each block or thread."""
    function = Function(op)
    count = len(function.type.inputs)
    env.given = frozenset(function.arguments[:count])
    buffers = function.arguments[count:]
    shared = gpu.workgroup_count(op)
    for position, value in enumerate(buffers):
        env.declare(value, local=True, private=position >= shared, forgotten=True)


def gpu_launch(walk: Walk, op: Operation, nodes: list[Node]) -> None:
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


def _body(walk: Walk, op: Operation, buffers: Sequence[Value]) -> tuple[Node, ...]:
    shared = gpu.workgroup_count(op)
    for position, value in enumerate(buffers):
        walk.env.declare(value, local=True, private=position >= shared)
    return walk.function_body(op, op.regions[0].blocks)
