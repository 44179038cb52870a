"""Index set splitting: iterations whose conditions all hold need not test them.

    for k in 0..n { v = 0 <= i + k - p < m ? x[i + k - p] : c; .. }

    if (0 <= i - p and i + n - 1 - p < m) { for k in 0..n { v = x[i + k - p]; .. } }
    else { as before }

A condition that is linear in the variables of loops with constant bounds holds in all
of their iterations iff it holds where it is least, at one end of each range; the sign
of the variable's factor tells which.  After Griebl, Feautrier and Lengauer ("Index set
splitting", 2000).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen.dialects import affine
from gpucodegen.ir.attributes import IntegerSetAttr
from gpucodegen.ir.operation import (
    Operation,
    Region,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.passes.contraction.operands import coefficients, is_linear
from gpucodegen.passes.framework.indexing import (
    Index,
    affine_over_dims,
    compact,
    replace_values,
)
from gpucodegen.records import dataclass

Ranges = Mapping[Value, tuple[Index, Index]]
"""First and last value of variables."""


@dataclass(frozen=True, slots=True)
class Interior:
    """A body where all ``limits`` are >= 0: without the conditions that these imply."""

    limits: tuple[Index, ...]
    body: tuple[Operation, ...]


def interior_of(operations: Sequence[Operation], ranges: Ranges) -> Interior | None:
    """The interior of a body whose conditional values depend on linear limits.

    ``ranges``: those of the variables that the limits may not have.  None where there
    is no condition, or where one depends on what the body computes.
    """
    inside = dict(ranges)
    made: set[Value] = set()
    conditions: list[Operation] = []
    for op in (inner for root in operations for inner in root.walk()):
        made |= {*op.results, *(v for r in op.regions for v in _arguments(r))}
        if op.name == "affine.for":
            found = loop_range(op)
            if found is None:
                return None
            inside[affine.For(op).iv] = found
        elif op.name == "affine.if" and op.results:
            conditions.append(op)
    limits: dict[Index, None] = {}
    for op in conditions:
        for limit in limits_of(op):
            least = least_value(limit, inside)
            if least is None or not made.isdisjoint(least.values):
                return None
            limits[least] = None
    if not limits:
        return None
    body = [new for op in operations for new in _taken(op, conditions)]
    return Interior(tuple(limits), tuple(body))


def _arguments(region: Region) -> list[Value]:
    return [v for block in region.blocks for v in block.arguments]


def limits_of(op: Operation) -> list[Index | None]:
    """Expressions that are >= 0 where a condition holds; None for an equality."""
    condition = op.attributes["condition"]
    assert isinstance(condition, IntegerSetAttr)
    return [
        None if c.equality else compact(Index(c.expr, tuple(op.operands)))
        for c in affine_over_dims(condition.set)
    ]


def loop_range(op: Operation) -> tuple[Index, Index] | None:
    """First and last value of a loop's variable; None if unknown, or if it has none."""
    loop = affine.For(op)
    bounds = loop.constant_bounds
    if bounds is None or bounds[0] >= bounds[1]:
        return None
    last = bounds[0] + (bounds[1] - 1 - bounds[0]) // loop.step * loop.step
    return Index.of(bounds[0]), Index.of(last)


def least_value(limit: Index | None, ranges: Ranges) -> Index | None:
    """The least value of a linear expression over ranges; None if it is not linear."""
    if limit is None or not is_linear(limit):
        return None
    ends = {
        value: ranges[value][factor < 0]
        for value, factor in coefficients(limit).items()
        if value in ranges
    }
    return replace_values(limit, ends)


def _taken(op: Operation, conditions: Sequence[Operation]) -> list[Operation]:
    """An operation with the first branch in the place of conditions."""
    values: dict[Value, Value] = {}
    known = {value: one for one in conditions for value in one.results}

    def rewrite(op: Operation) -> list[Operation] | None:
        op = substitute_values(op, values) if values else op
        if not op.results or op.results[0] not in known:
            return [op]
        *body, end = op.regions[0].blocks[0].operations
        values.update(zip(op.results, end.operands, strict=True))
        return body

    return [substitute_values(new, values) for new in rewrite_bottom_up(op, rewrite)]
