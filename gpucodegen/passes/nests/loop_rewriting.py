"""Replacement of chosen loops by copies in sequence or under conditions.

`rewrite_loops` replaces the chosen loops of a module, inner loops first, and renames
the uses of their results.  A loop with several bounds on a side is rewritten once for
each, under conditions that select the effective bound at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import chain

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Value, clone, substitute_values
from gpucodegen.passes.framework.functions import with_blocks
from gpucodegen.passes.framework.indexing import Index, as_set
from gpucodegen.passes.nests.loop_names import (
    Site,
    find_loops,
    functions,
    sites,
    with_suffix,
)
from gpucodegen.passes.nests.loop_ranges import LoopRange, range_of, with_range
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Replacement:
    """Operations in place of a loop, and the values for its results."""

    operations: tuple[Operation, ...]
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])


Rewrite = Callable[[Operation, LoopRange], Replacement]


def in_sequence(op: Operation, loops: Sequence[Operation]) -> Replacement:
    """Copies of ``op`` one after the other, with carried values chained."""
    values: Sequence[Value] = affine.For(op).inits
    placed: list[Operation] = []
    for loop in loops:
        bounds = loop.operands[: len(loop.operands) - len(values)]
        placed.append(loop.with_(operands=(*bounds, *values)))
        values = loop.results
    return Replacement(tuple(placed), dict(zip(op.results, values, strict=True)))


def in_pieces(op: Operation, pieces: Sequence[tuple[str, LoopRange]]) -> Replacement:
    """The loop over one range after the other, with suffixes to its name."""
    copies = [
        with_range(with_suffix(clone(op), suffix), piece) for suffix, piece in pieces
    ]
    return in_sequence(op, copies)


def with_single_bounds(
    op: Operation, rewrite: Rewrite, sides: Sequence[str] = ("lowers", "uppers")
) -> Replacement:
    """``rewrite`` the loop for each bound that may be effective, chosen at run time.

    ``max(a, b)`` becomes two loops below ``affine.if a >= b``: an affine expression has
    no maximum, and other loops may only be bounded by affine expressions.
    """
    given = range_of(op)
    for side in sides:
        bounds: tuple[Index, ...] = getattr(given, side)
        if len(bounds) > 1:
            first, *others = bounds
            rest = tuple(others)
            chosen = replace(given, **{side: (first,)})
            otherwise = replace(given, **{side: rest})
            conditions = [(first - other) * _SIGNS[side] for other in rest]
            again = partial(with_single_bounds, rewrite=rewrite, sides=sides)
            return _either(op, conditions, (chosen, otherwise), again)
    return rewrite(op, given)


_SIGNS = {"lowers": 1, "uppers": -1}


def _either(
    op: Operation,
    conditions: Sequence[Index],
    ranges: Sequence[LoopRange],
    rewrite: Callable[[Operation], Replacement],
) -> Replacement:
    """The loop over the first range where all conditions are >= 0, else the second."""
    branches: list[tuple[Operation, ...]] = []
    for chosen in ranges:
        copy = with_range(clone(op), chosen)
        made = rewrite(copy)
        results = tuple(made.values.get(v, v) for v in copy.results)
        branches.append((*made.operations, affine.yield_(results)))
    condition, operands = as_set(conditions)
    branch = affine.if_(
        condition,
        operands,
        *branches,
        result_types=[v.type for v in op.results],
        location=op.location,
    )
    return Replacement((branch,), dict(zip(op.results, branch.results, strict=True)))


Transform = Callable[[Site, Operation], Replacement | None]
"""From a loop, and the same with the loops inside it rewritten, to its replacement."""


def chosen_loops(
    module: Module, function: str, loop: str, default: Callable[[Site], bool]
) -> list[Site]:
    """The loops of a name, or without one those that ``default`` selects."""
    if loop:
        return find_loops(module, function, loop)
    every = (site for op in functions(module, function) for site in sites(op))
    return [site for site in every if default(site)]


def is_innermost(site: Site) -> bool:
    """Whether it contains no loop of any kind."""
    return not any(op is not site.loop and op.regions for op in site.loop.walk())


def is_outermost(site: Site) -> bool:
    """Whether it stands in the function's body itself."""
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
