"""Carries out the rewriting of chosen loops of a module."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import chain

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.passes.framework.functions import with_blocks
from gpucodegen.passes.loops.framework.naming import Site, find_loops, functions, sites
from gpucodegen.passes.loops.framework.replacement import Replacement

Transform = Callable[[Site, Operation], Replacement | None]
"""From a loop, and the same with the loops inside it rewritten, to its replacement."""


def chosen_loops(
    module: Module, function: str, loop: str, default: Callable[[Site], bool]
) -> list[Site]:
    """The loops of a name, or without one those that ``default`` picks."""
    if loop:
        return find_loops(module, function, loop)
    every = (site for op in functions(module, function) for site in sites(op))
    return [site for site in every if default(site)]


def is_innermost(site: Site) -> bool:
    """Whether no loop of any kind is inside."""
    return not any(op is not site.loop and op.regions for op in site.loop.walk())


def is_outermost(site: Site) -> bool:
    """Whether no operation of the function's body is around."""
    return not site.around


def rewrite_loops(
    module: Module, chosen: Collection[Site], transform: Transform
) -> Module:
    """The module with each chosen loop transformed, inner loops first."""
    if not chosen:
        return module
    by_loop = {site.loop: site for site in chosen}
    renamed: dict[Value, Value] = {}

    def visit(op: Operation) -> Sequence[Operation]:
        rebuilt = op
        if any(inner in by_loop for inner in op.walk() if inner is not op):
            rebuilt = with_blocks(op, lambda ops: chain.from_iterable(map(visit, ops)))
        if op not in by_loop:
            return [rebuilt]
        current = substitute_values(rebuilt, _resolved(renamed))
        made = transform(by_loop[op], current)
        if made is None:
            return [current]
        renamed.update((old, new) for old, new in made.values.items() if old is not new)
        return made.operations

    (root,) = visit(module.operation)
    return Module(substitute_values(root, _resolved(renamed)))


def _resolved(renamed: dict[Value, Value]) -> dict[Value, Value]:
    """Follow chains of renamings to their ends."""
    ends: dict[Value, Value] = {}
    for old, last in renamed.items():
        new = last
        while new in renamed:
            new = renamed[new]
        ends[old] = new
    return ends


Block = Callable[[Sequence[Operation]], Sequence[Operation]]


def in_block_of(root: Operation, target: Operation, rewrite: Block) -> Operation:
    """``root`` with the block that holds ``target`` rewritten."""
    if all(inner is not target for inner in root.walk()):
        return root

    def inside(operations: Sequence[Operation]) -> Sequence[Operation]:
        if target in operations:
            return rewrite(operations)
        return [in_block_of(op, target, rewrite) for op in operations]

    return with_blocks(root, inside)
