"""Reductions dealt out to the members of a team.

    partial = neutral;  for i = lower + member * step .. by size * step: partial OP= x[i]
    s = initial OP (the partial results of all members)

Outer loops of the reduction stay around the dealt one, unless that is too short for all
members: then the iterations of all loops are dealt out as one row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.passes.cpu.vectorize.accumulations import Accumulation
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, from_map, substituted
from gpucodegen.passes.gpu.blocks.team import Team
from gpucodegen.passes.gpu.reductions.free_reductions import Reduction
from gpucodegen.passes.prepare.linalg.linalg_to_affine import REASSOCIABLE

Totals = Sequence[Value]


def reduce(b: Builder, reduction: Reduction, team: Team) -> None:
    """Append what defines the results of a reduction for each member."""
    start = [
        b.constant(a.kind.neutral_of(a.before.type), a.before.type)
        for a in reduction.totals
    ]
    partial = _Dealt(reduction, team).partial(b, start)
    ends = zip(
        reduction.totals, partial, reduction.initial, reduction.results, strict=True
    )
    for accumulation, own, initial, result in ends:
        total = team.combined(b, own, accumulation.kind)
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


@dataclass(frozen=True, slots=True)
class _Dealt:
    """The part of one member."""

    reduction: Reduction
    team: Team

    def partial(self, b: Builder, start: Totals) -> Totals:
        """What the iterations of one member combine to."""
        extents = [_extent(op) for op in self.reduction.loops]
        known = [extent for extent in extents if extent is not None]
        is_short = known and extents[-1] is not None and extents[-1] < self.team.size
        if len(known) == len(extents) > 1 and is_short:
            return self._as_one_row(b, known, start)
        return self._nested(b, self.reduction.loops, start, {})

    def _nested(
        self,
        b: Builder,
        loops: Sequence[Operation],
        totals: Totals,
        known: Mapping[Value, Index],
    ) -> Totals:
        op, *inner = loops
        loop, step = affine.For(op), affine.For(op).step
        lowers = from_map(loop.lower_map, loop.lower_operands)
        uppers = from_map(loop.upper_map, loop.upper_operands)
        starts = [substituted(lower, known) for lower in lowers]
        if not inner:
            starts = [lower + Index.of(self.team.member) * step for lower in starts]
            step *= self.team.size

        def body(i: Builder, iv: Value, values: Totals) -> Totals:
            here = {**known, loop.iv: Index.of(iv)}
            if inner:
                return self._nested(i, inner, values, here)
            return self._iteration(i, here, values)

        ends = [substituted(upper, known) for upper in uppers]
        hint = loop.iv.name
        return b.carried_loop(starts, ends, totals, body, step=step, hint=hint)

    def _as_one_row(self, b: Builder, extents: Sequence[int], start: Totals) -> Totals:
        loops = [affine.For(op) for op in self.reduction.loops]

        def body(i: Builder, number: Value, values: Totals) -> Totals:
            known: dict[Value, Index] = {}
            rest = Index.of(number)
            for loop, extent in reversed([*zip(loops, extents, strict=True)]):
                here = rest % extent if loop is not loops[0] else rest
                (lower,) = from_map(loop.lower_map, loop.lower_operands)
                known[loop.iv] = lower + here * loop.step
                rest = rest // extent
            return self._iteration(i, known, values)

        member, size = self.team.member, self.team.size
        return b.carried_loop(member, prod(extents), start, body, step=size, hint="e")

    def _iteration(
        self, b: Builder, known: Mapping[Value, Index], values: Totals
    ) -> Totals:
        mapping = {iv: b.index(place, iv.name) for iv, place in known.items()}
        befores = (a.before for a in self.reduction.totals)
        mapping.update(zip(befores, values, strict=True))
        b.operations += [clone(op, mapping) for op in self.reduction.body]
        return [mapping[a.after] for a in self.reduction.totals]


def _extent(op: Operation) -> int | None:
    """How often a loop runs, if that is known."""
    loop = affine.For(op)
    bounds = loop.constant_bounds
    if bounds is None:
        return None
    lower, upper = bounds
    return max(0, -(-(upper - lower) // loop.step))
