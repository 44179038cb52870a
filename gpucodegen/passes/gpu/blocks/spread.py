"""Nested parallel loops spread over the positions of a team, loop by loop."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.dma import TRANSFERS
from gpucodegen.ir.affine import AffineExpr, Binary
from gpucodegen.ir.operation import Operation, Value, clone, substitute_values
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


def is_straight(chain: Sequence[Operation]) -> bool:
    """Whether iterations of the innermost loop are plain operations that load.

    Bounds that divide make proofs too long if there are several of them.
    """
    body = inner_operations(chain[-1])
    loads = any(op.name == "affine.load" for op in body)
    return loads and not divides(chain) and not any(op.regions for op in body)


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
    b: Builder,
    chain: Sequence[Operation],
    lanes: Sequence[tuple[Index, int]],
    together: int = 1,
) -> None:
    """Let every thread run each so many-th iteration of nested parallel loops.

    ``together``: iterations of the innermost loop that a thread runs side by side, so
    that it waits for the loads of all of them at once.
    """
    body = inner_operations(chain[-1])

    def level(inner: Builder, depth: int, values: dict[Value, Value]) -> None:
        loop = affine.For(chain[depth])
        place, count = lanes[depth]
        known = {old: Index.of(new) for old, new in values.items()}
        lowers = from_map(loop.lower_map, loop.lower_operands)
        uppers = from_map(loop.upper_map, loop.upper_operands)
        starts = [
            compact(substituted(lower, known) + place * loop.step) for lower in lowers
        ]
        ends = [substituted(upper, known) for upper in uppers]
        stride, hint = loop.step * count, loop.iv.name

        def one(i: Builder, iv: Value) -> None:
            now = {**values, loop.iv: iv}
            if depth + 1 < len(chain):
                level(i, depth + 1, now)
            else:
                i.operations += [substitute_values(o, now) for o in body]

        def several(i: Builder, iv: Value) -> None:
            last = Index.of(iv) + (together - 1) * stride
            i.guard(
                [compact(end - 1 - last) for end in ends],
                lambda whole: _side_by_side(whole, body, places(whole, iv)),
                lambda rest: rest.loop(iv, ends, one, step=stride, hint=hint),
            )

        def places(i: Builder, iv: Value) -> list[dict[Value, Value]]:
            others = [Index.of(iv) + n * stride for n in range(1, together)]
            found = [iv, *(i.index(other, hint) for other in others)]
            return [{**values, loop.iv: place} for place in found]

        joins = together > 1 and depth + 1 == len(chain)
        step = stride * together if joins else stride
        inner.loop(starts, ends, several if joins else one, step=step, hint=hint)

    level(b, 0, {})


def _side_by_side(
    b: Builder, body: Sequence[Operation], known: list[dict[Value, Value]]
) -> None:
    """Copies of a body, operation by operation; ``known``: what values are in each."""
    for op in body:
        for values in known:
            b.operations.append(clone(op, values))
