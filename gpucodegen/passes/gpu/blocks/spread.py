"""Nested parallel loops spread over the positions of a team, loop by loop."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.transfers import TRANSFERS
from gpucodegen.ir.affine.expressions import AffineExpr, Binary
from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact, from_map, substituted
from gpucodegen.passes.framework.nests import inner_operations


def divides(chain: Sequence[Operation]) -> bool:
    """Whether bounds of loops divide, as those of skewed wavefronts do."""
    maps = [
        m for op in chain for m in (affine.For(op).lower_map, affine.For(op).upper_map)
    ]
    return any(_divides(result) for m in maps for result in m.results)


def _divides(expression: AffineExpr) -> bool:
    if not isinstance(expression, Binary):
        return False
    here = expression.op not in ("+", "*")
    return here or _divides(expression.lhs) or _divides(expression.rhs)


def parallel_chain(op: Operation, analysis: NestAnalysis) -> list[Operation]:
    """The perfectly nested parallel loops from ``op`` inwards, of any bounds.

    All threads execute a transfer together, so none may stand inside.
    """
    chain: list[Operation] = []
    if any(inner.name in TRANSFERS for inner in op.walk()):
        return chain
    while op.name == "affine.for" and analysis.is_parallel(op):
        chain.append(op)
        inner = inner_operations(op)
        if len(inner) != 1:
            break
        op = inner[0]
    return chain


def spread(
    b: Builder, chain: Sequence[Operation], lanes: Sequence[tuple[Index, int]]
) -> None:
    """Let every thread run each so many-th iteration of nested parallel loops."""
    body = inner_operations(chain[-1])

    def level(inner: Builder, depth: int, values: dict[Value, Value]) -> None:
        if depth == len(chain):
            inner.operations += [substitute_values(o, values) for o in body]
            return
        loop = affine.For(chain[depth])
        place, count = lanes[depth]
        known = {old: Index.of(new) for old, new in values.items()}
        lowers = from_map(loop.lower_map, loop.lower_operands)
        uppers = from_map(loop.upper_map, loop.upper_operands)
        first = place * loop.step
        inner.loop(
            [compact(substituted(lower, known) + first) for lower in lowers],
            [substituted(upper, known) for upper in uppers],
            lambda i, iv: level(i, depth + 1, {**values, loop.iv: iv}),
            step=loop.step * count,
            hint=loop.iv.name,
        )

    level(b, 0, {})
