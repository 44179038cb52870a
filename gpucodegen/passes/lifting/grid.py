"""A ``gpu.func`` as nested block and thread loops around its body."""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.dialects.gpu import dimension_of
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.lifting.environment import Environment
from gpucodegen.tiling.scop import Loop, Node, Role, nest

SOURCES = {
    "gpu.block_id": (Role.BLOCK, "gcg.grid"),
    "gpu.thread_id": (Role.THREAD, "gcg.block"),
}
"""Per index operation the role of its loops and the attribute with their extents."""


def within_grid(
    op: Operation, env: Environment, body: Callable[[], tuple[Node, ...]]
) -> tuple[Node, ...]:
    """Block loops, thread loops, body; extents of -1 are unbounded."""
    around: list[Loop] = []
    for source, (role, attribute) in SOURCES.items():
        extents = op.attributes.get(attribute)
        for position, dimension in enumerate("xyz"):
            name = env.names.fresh(f"{role.value}_{dimension}")
            upper = _upper(extents, position)
            around.append(Loop(name, ("0",), upper, role=role, loc=op.location))
            env.bounded(name, ("0",), upper)
            for nested in op.walk():
                if nested.name == source and dimension_of(nested) == dimension:
                    env.texts[nested.results[0]] = name
    env.scope = tuple(loop.name for loop in around if loop.role is Role.BLOCK)
    env.threads = tuple(loop.name for loop in around if loop.role is Role.THREAD)
    return nest(around, body())


def _upper(extents: Attribute | None, position: int) -> tuple[str, ...]:
    """The exclusive bound of an index; open where the extent is not known."""
    if not isinstance(extents, DenseArrayAttr) or extents.values[position] < 0:
        return ()
    return (str(extents.values[position]),)
