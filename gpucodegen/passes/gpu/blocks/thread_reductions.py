"""Reductions and prefix sums over the members of a thread group.

A reduction loop combines terms in an order that is free:

    s = for i iter_args(p = v) {
      q = for j iter_args(r = p) { yield r OP x[i, j] }
      yield q }

    partial = neutral;  for i = lower + member * step .. by size * step:  partial OP= x
    s = initial OP (the partial results of all members)

The outer loops of the reduction stay around the distributed loop, unless that is too
short for all members: then the iterations of all loops are distributed as one row.

`Prefixes` combines the values of all members before each one:

    for d in 1, 2, 4, 8, 16:  s = lane >= d ? s of lane - d OP s : s      (in a warp)
    cells[warp] = s of lane 31;  barrier
    the same over cells[lane] in each warp;  barrier
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.ir.attributes import OpaqueAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I1, I32, MemRefType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import Index, bounds_of, from_map, substituted
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.blocks.row_distribution import (
    LaneGroup,
    RowDistribution,
    Totals,
    combines,
    row_of,
)
from gpucodegen.passes.outlining.gpu_launch import SHARED
from gpucodegen.passes.prepare.linalg_to_affine import REASSOCIABLE
from gpucodegen.passes.vectorize.accumulations import (
    Accumulation,
    Order,
    carried_totals,
)
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP


@dataclass(frozen=True, slots=True)
class Reduction:
    """Perfectly nested loops, outermost first, and the totals of the innermost.

    ``is_free``: the terms of all totals may come in any order.
    """

    loops: tuple[Operation, ...]
    totals: tuple[Accumulation, ...]
    is_free: bool

    @property
    def initial(self) -> tuple[Value, ...]:
        """The initial totals of the outermost loop."""
        return affine.For(self.loops[0]).inits

    @property
    def results(self) -> tuple[Value, ...]:
        return self.loops[0].results

    @property
    def body(self) -> tuple[Operation, ...]:
        return inner_operations(self.loops[-1])


def reduction_of(op: Operation, order: Order) -> Reduction | None:
    """The reduction that a loop is, if it does nothing else."""
    if op.name != "affine.for" or not op.results:
        return None
    loops = [op]
    while (inner := _passed_on(loops[-1])) is not None:
        loops.append(inner)
    body = inner_operations(loops[-1])
    if not all(map(_is_read, body)):
        return None
    totals = carried_totals(loops[-1])
    if totals is None or not all(combines(a.kind, a.before.type) for a in totals):
        return None
    return Reduction(tuple(loops), tuple(totals), all(map(order.frees, totals)))


def made_for(operations: Sequence[Operation], loop: Operation) -> list[Operation]:
    """The operations that define values used in the iterations of a reduction.

    Definitions of initial values only are excluded.
    """
    bounds = (*affine.For(loop).lower_operands, *affine.For(loop).upper_operands)
    wanted = {*bounds, *(v for op in loop.body.operations for v in op.used)}
    wanted.update(v for op in loop.body.operations for o in op.walk() for v in o.used)
    needed: list[Operation] = []
    for op in reversed(operations):
        if not wanted.isdisjoint(op.results):
            wanted.update(op.operands)
            needed.insert(0, op)
    return needed


def _is_read(op: Operation) -> bool:
    is_load = op.name in ("affine.load", "memref.load")
    return not op.regions and (is_load or has_no_effect(op))


def _passed_on(op: Operation) -> Operation | None:
    """The only inner loop, if it carries exactly the outer loop's values."""
    loop, inner = affine.For(op), inner_operations(op)
    if len(inner) != 1 or inner[0].name != "affine.for":
        return None
    given = affine.For(inner[0]).inits == loop.iter_args
    yielded = op.body.operations[-1].operands == inner[0].results
    return inner[0] if given and yielded else None


def reduce(b: Builder, reduction: Reduction, deal: RowDistribution) -> None:
    """Append the definitions of a reduction's results for each member."""
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


def partials(b: Builder, reduction: Reduction, deal: RowDistribution) -> list[Value]:
    """The partial results of one member."""
    return joined(b, reduction, lane_totals(b, reduction, deal))


def neutral(b: Builder, accumulation: Accumulation) -> Value:
    """The neutral element, for totals that are combined later."""
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


def lane_totals(b: Builder, reduction: Reduction, deal: RowDistribution) -> Totals:
    """The partial results of one member in each of its lanes."""
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
    deal: RowDistribution,
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
    lowers, uppers = bounds_of(loop)

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
    deal: RowDistribution,
    extents: Sequence[int],
    start: Totals,
) -> Totals:
    """All loops flattened to one; members take whole chunks of the innermost."""
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
    """The number of iterations of a loop, if known."""
    return affine.For(op).trip_count


@dataclass(frozen=True, slots=True)
class Prefixes:
    """A group of whole warps, with a shared-memory cell per warp.

    ``again``: the code may run more than once.
    """

    team: LaneGroup
    totals: tuple[Accumulation, ...]
    cells: tuple[Value, ...]
    again: bool

    @staticmethod
    def of(
        b: Builder, team: LaneGroup, totals: Sequence[Accumulation], *, again: bool
    ) -> Prefixes:
        """Prefix sums with the memory that a group of several warps needs."""
        warps = team.size // WARP
        types = [MemRefType((warps,), a.before.type, None, SHARED) for a in totals]
        cells = [b.allocate("memref.alloca", ty, "cells") for ty in types if warps > 1]
        return Prefixes(team, tuple(totals), tuple(cells), again)

    def combined(
        self, b: Builder, values: Sequence[Value]
    ) -> list[tuple[Value, Value]]:
        """For each total: the exclusive prefix of this member, and the whole."""
        pairs = zip(self.totals, values, strict=True)
        parts = [self._in_warp(b, a, value) for a, value in pairs]
        if not self.cells:
            return [(left, self._of_lane(b, upto, WARP - 1)) for upto, left in parts]
        number = self.team.number
        warp = b.index(number // WARP, "warp")
        lane = number % WARP

        def put(i: Builder) -> None:
            for cells, (upto, _) in zip(self.cells, parts, strict=True):
                i.store(upto, cells, [warp])

        b.guard([lane - (WARP - 1)], put)
        self.team.meet(b)
        found = [
            self._over_warps(b, a, cells, left)
            for a, cells, (_, left) in zip(self.totals, self.cells, parts, strict=True)
        ]
        if self.again:
            self.team.meet(b)
        return found

    def _in_warp(
        self, b: Builder, a: Accumulation, value: Value
    ) -> tuple[Value, Value]:
        """The inclusive and the exclusive prefix of a lane."""
        for power in range(WARP.bit_length() - 1):
            other, exists = self._shuffled(b, "up", value, b.constant(1 << power, I32))
            joined = self._joined(b, a, other, value)
            operands = (exists, joined, value)
            (value,) = b.add("arith.select", operands, [value.type])
        left, exists = self._shuffled(b, "up", value, b.constant(1, I32))
        operands = (exists, left, neutral(b, a))
        return value, b.add("arith.select", operands, [value.type])[0]

    def _over_warps(
        self, b: Builder, a: Accumulation, cells: Value, mine: Value
    ) -> tuple[Value, Value]:
        """The prefix over warps, which each warp computes with a lane per warp."""
        warps, lane = self.team.size // WARP, self.team.number % WARP
        own = b.choose(
            [Index.of(warps - 1) - lane],
            lambda i: i.load(cells, [lane]),
            lambda i: neutral(i, a),
        )
        upto, before = self._in_warp(b, a, own)
        number = b.index(self.team.number // WARP, "warp")
        (warp,) = b.add("arith.index_cast", (number,), [I32])
        left, _ = self._shuffled(b, "idx", before, warp)
        return self._joined(b, a, left, mine), self._of_lane(b, upto, warps - 1)

    def _of_lane(self, b: Builder, value: Value, lane: int) -> Value:
        return self._shuffled(b, "idx", value, b.constant(lane, I32))[0]

    def _joined(self, b: Builder, a: Accumulation, one: Value, other: Value) -> Value:
        result = one.renewed()
        b.operations.append(combination(a, one, other, result))
        return result

    def _shuffled(
        self, b: Builder, mode: str, value: Value, other: Value
    ) -> tuple[Value, Value]:
        attributes = {"mode": OpaqueAttr(f"#gpu.shuffle_mode<{mode}>")}
        operands = (value, other, b.constant(WARP, I32))
        first, exists = b.add("gpu.shuffle", operands, [value.type, I1], attributes)
        return first, exists
