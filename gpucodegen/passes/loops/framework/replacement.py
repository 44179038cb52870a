"""What is put in place of a loop: copies in sequence, copies below conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.passes.framework.indexing import Index, as_set
from gpucodegen.passes.loops.framework.naming import with_suffix
from gpucodegen.passes.loops.framework.ranges import LoopRange, range_of, with_range


@dataclass(frozen=True, slots=True)
class Replacement:
    """Operations in place of a loop, and what its results become."""

    operations: tuple[Operation, ...]
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])


Rewrite = Callable[[Operation, LoopRange], Replacement]


def in_sequence(op: Operation, loops: Sequence[Operation]) -> Replacement:
    """Copies of ``op`` one after the other, each carrying on the values of the last."""
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
    """``rewrite`` the loop for each bound that may count, the one that does chosen.

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
