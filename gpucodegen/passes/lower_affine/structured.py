"""Affine loops and conditions as ``scf`` ones, where a body must stay one block."""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen.dialects import affine, scf
from gpucodegen.ir.operation import Operation, Region, rewrite_bottom_up
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.lower_affine.bounds import condition, lower_bound, upper_bound
from gpucodegen.passes.lower_affine.sequential import sequential


def to_scf(op: Operation) -> list[Operation] | None:
    """The operations in place of a loop or condition, None for anything else."""
    lower = _LOWERINGS.get(op.name)
    return None if lower is None else lower(op)


def _yielding(region: Region) -> Region:
    """The region with its ``affine.yield`` renamed."""
    blocks = [
        block.with_operations(
            (*block.operations[:-1], block.operations[-1].with_(name=scf.TERMINATOR))
        )
        for block in region.blocks
    ]
    return Region(tuple(blocks))


def _replaced(b: Builder, op: Operation, structured: Operation) -> list[Operation]:
    regions = tuple(map(_yielding, op.regions))
    return [
        *b.operations,
        structured.with_(results=op.results, regions=regions, location=op.location),
    ]


def _for(op: Operation) -> list[Operation]:
    loop = affine.For(op)
    b = Builder(op.location)
    lower, upper = lower_bound(b, loop), upper_bound(b, loop)
    step = b.constant(loop.step, INDEX)
    return _replaced(b, op, Operation("scf.for", (lower, upper, step, *loop.inits)))


def _if(op: Operation) -> list[Operation]:
    b = Builder(op.location)
    holds = condition(b, op)
    return _replaced(b, op, Operation("scf.if", (holds,)))


def _parallel(op: Operation) -> list[Operation]:
    return [
        new for nested in sequential(op) for new in rewrite_bottom_up(nested, to_scf)
    ]


_LOWERINGS: dict[str, Callable[[Operation], list[Operation]]] = {
    "affine.for": _for,
    "affine.if": _if,
    "affine.parallel": _parallel,
}
