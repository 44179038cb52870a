"""Reductions dealt out to the members of a team.

    partial = neutral;  for i = lower + member * step .. by size * step:  partial OP= x
    s = initial OP (the partial results of all members)

Outer loops of the reduction stay around the dealt one, unless that is too short for all
members: then the iterations of all loops are dealt out as one row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.cpu.vectorize.accumulations import Accumulation
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, from_map, substituted
from gpucodegen.passes.gpu.blocks.rows.deal import Deal, Totals, row_of
from gpucodegen.passes.gpu.blocks.rows.free_reductions import Reduction
from gpucodegen.passes.prepare.linalg.linalg_to_affine import REASSOCIABLE


def reduce(b: Builder, reduction: Reduction, deal: Deal) -> None:
    """Append what defines the results of a reduction for each member."""
    partial = partials(b, reduction, deal)
    ends = zip(
        reduction.totals, partial, reduction.initial, reduction.results, strict=True
    )
    for accumulation, own, initial, result in ends:
        total = deal.team.combined(b, own, accumulation.kind)
        b.operations.append(combination(accumulation, initial, total, result))


def combination(
    accumulation: Accumulation, one: Value, other: Value, result: Value
) -> Operation:
    """``result = one OP other``, in an order that is free."""
    kind = accumulation.kind
    flags = {"fastmath": REASSOCIABLE} if kind.is_ordered else {}
    return Operation(
        kind.name, (one, other), (result,), flags, location=result.location
    )


def partials(b: Builder, reduction: Reduction, deal: Deal) -> list[Value]:
    """What the iterations of one member combine to."""
    return joined(b, reduction, lane_totals(b, reduction, deal))


def neutral(b: Builder, accumulation: Accumulation) -> Value:
    """What a total starts from that is combined with others later."""
    ty = accumulation.before.type
    return b.constant(accumulation.kind.neutral_of(ty), ty)


def joined(b: Builder, reduction: Reduction, lanes: Totals) -> list[Value]:
    """The lanes of each total combined, neighbours first."""
    count = len(reduction.totals)
    made: list[Value] = []
    for at, accumulation in enumerate(reduction.totals):
        values = list(lanes[at::count])
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=True)
            values = [_combined(b, accumulation, *pair) for pair in pairs]
        made += values
    return made


def _combined(
    b: Builder, accumulation: Accumulation, one: Value, other: Value
) -> Value:
    result = one.renewed()
    b.operations.append(combination(accumulation, one, other, result))
    return result


def lane_totals(b: Builder, reduction: Reduction, deal: Deal) -> Totals:
    """What the iterations of one member combine to in each of its lanes."""
    start = [neutral(b, a) for a in reduction.totals] * deal.lanes
    extents = [extent(op) for op in reduction.loops]
    known = [n for n in extents if n is not None]
    whole = deal.team.size * deal.width
    is_short = len(known) == len(extents) > 1 and known[-1] < whole
    if is_short and known[-1] % deal.width == 0:
        return _as_one_row(b, reduction, deal, known, start)
    return _nested(b, reduction, deal, reduction.loops, start, {})


def _nested(
    b: Builder,
    reduction: Reduction,
    deal: Deal,
    loops: Sequence[Operation],
    totals: Totals,
    known: Mapping[Value, Index],
) -> Totals:
    op, *inner = loops
    if not inner:
        befores = [a.before for a in reduction.totals]
        afters = [a.after for a in reduction.totals]
        return deal.run(b, row_of(op, befores, afters, known), totals, known)
    loop = affine.For(op)
    lowers = from_map(loop.lower_map, loop.lower_operands)
    uppers = from_map(loop.upper_map, loop.upper_operands)

    def body(i: Builder, iv: Value, values: Totals) -> Totals:
        here = {**known, loop.iv: Index.of(iv)}
        return _nested(i, reduction, deal, inner, values, here)

    return b.carried_loop(
        [substituted(lower, known) for lower in lowers],
        [substituted(upper, known) for upper in uppers],
        totals,
        body,
        step=loop.step,
        hint=loop.iv.name,
    )


def _as_one_row(
    b: Builder,
    reduction: Reduction,
    deal: Deal,
    extents: Sequence[int],
    start: Totals,
) -> Totals:
    """All loops counted as one; members take whole chunks of the innermost."""
    loops = [affine.For(op) for op in reduction.loops]
    befores = [a.before for a in reduction.totals]
    afters = [a.after for a in reduction.totals]
    row = row_of(reduction.loops[-1], befores, afters)
    sizes = [*extents[:-1], extents[-1] // deal.width]

    def body(i: Builder, number: Value, values: Totals) -> Totals:
        known: dict[Value, Index] = {}
        rest = Index.of(number)
        for loop, size in reversed([*zip(loops, sizes, strict=True)]):
            here = rest % size if loop is not loops[0] else rest
            (lower,) = from_map(loop.lower_map, loop.lower_operands)
            width = deal.width if loop is loops[-1] else 1
            known[loop.iv] = lower + here * (width * loop.step)
            rest = rest // size
        first = known.pop(row.iv)
        return deal.chunk(i, row, first, values, known)

    size = deal.team.size
    return b.carried_loop(
        deal.team.number, prod(sizes), start, body, step=size, hint="e"
    )


def extent(op: Operation) -> int | None:
    """How often a loop runs, if that is known."""
    loop = affine.For(op)
    bounds = loop.constant_bounds
    if bounds is None:
        return None
    lower, upper = bounds
    return max(0, -(-(upper - lower) // loop.step))
