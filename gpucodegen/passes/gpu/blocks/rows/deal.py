"""Rows dealt out to the members of a team, a few neighbours at a time.

    for i = lower + member * width .. by size * width:  iterations i .. i + width - 1

Rows that fit in registers are walked without a loop: all loads stand first, and what a
member has of an array stays with it for the next loop over the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpucodegen.dialects import affine, arith
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact, from_map, substituted
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.blocks.rows.early_loads import loads_first
from gpucodegen.passes.gpu.blocks.rows.kept_elements import KeptElements
from gpucodegen.passes.gpu.blocks.rows.side_by_side import Lane, SideBySide
from gpucodegen.passes.gpu.blocks.rows.team import Team

Totals = Sequence[Value]


@dataclass(frozen=True, slots=True)
class Row:
    """A loop as it is dealt out: what it carries before and after an iteration."""

    iv: Value
    lowers: tuple[Index, ...]
    uppers: tuple[Index, ...]
    step: int
    body: tuple[Operation, ...]
    befores: tuple[Value, ...] = ()
    afters: tuple[Value, ...] = ()

    @property
    def trips(self) -> int | None:
        """How many iterations there are, if that is known."""
        if len(self.lowers) != 1 or len(self.uppers) != 1:
            return None
        span = compact(self.uppers[0] - self.lowers[0]).constant
        return None if span is None else max(0, -(-span // self.step))


def row_of(
    op: Operation,
    befores: Sequence[Value] = (),
    afters: Sequence[Value] = (),
    known: Mapping[Value, Index] | None = None,
) -> Row:
    """An ``affine.for`` as a row; ``known``: what outer variables are."""
    loop = affine.For(op)
    lowers = from_map(loop.lower_map, loop.lower_operands)
    uppers = from_map(loop.upper_map, loop.upper_operands)
    return Row(
        loop.iv,
        tuple(substituted(index, known or {}) for index in lowers),
        tuple(substituted(index, known or {}) for index in uppers),
        loop.step,
        inner_operations(op),
        tuple(befores),
        tuple(afters),
    )


@dataclass(frozen=True, slots=True)
class Deal:
    """How a team deals rows out: ``width`` neighbours to a member at a time."""

    team: Team
    definitions: Mapping[Value, Operation] = field(
        default_factory=dict[Value, Operation]
    )
    width: int = 1
    kept: KeptElements = field(default_factory=KeptElements)

    @property
    def lanes(self) -> int:
        """Totals that a member has of each that a loop carries."""
        return self.width

    @property
    def takes_neighbours(self) -> bool:
        """Whether a member has more than every ``size``-th iteration of a loop."""
        return self.width > 1 or self.kept.is_on

    def run(
        self, b: Builder, row: Row, totals: Totals, outer: Mapping[Value, Index]
    ) -> Totals:
        """The member's iterations; totals are those of each of ``width`` lanes.

        ``outer``: what variables of loops around are.
        """
        if self.kept.is_on:
            return self._straight(b, row, totals, outer)
        first, step = self.team.number * self.width, row.step * self.width
        return b.carried_loop(
            [lower + first * row.step for lower in row.lowers],
            row.uppers,
            totals,
            lambda i, iv, values: self.chunk(i, row, Index.of(iv), values, outer),
            step=step * self.team.size,
            hint=row.iv.name,
        )

    def _straight(
        self, b: Builder, row: Row, totals: Totals, outer: Mapping[Value, Index]
    ) -> Totals:
        trips, (lower,), (upper,) = row.trips or 0, row.lowers, row.uppers
        whole, parts = self.team.size * self.width, list[list[Operation]]()
        for slot in range(-(-trips // whole)):
            part = Builder(b.location)
            parts.append(part.operations)
            position = (self.team.number + slot * self.team.size) * self.width
            at = lower + position * row.step
            if (slot + 1) * whole <= trips:
                totals = self.chunk(part, row, at, totals, outer, slot)
                continue
            last = compact(upper - self.width)
            inside = Index.of(part.smallest([at, last], row.iv.name))
            limits = (compact(last - at),)
            new = self.chunk(part, row, inside, totals, outer, slot, limits)
            totals = self._chosen(part, at, last, new, totals)
        b.operations += loads_first(parts, self.kept.may_change)
        return totals

    def _chosen(
        self, b: Builder, at: Index, last: Index, new: Totals, old: Totals
    ) -> Totals:
        """The new totals where the iterations exist."""
        if not new:
            return new
        compared = arith.compare("arith.cmpi", "sle", b.index(at), b.index(last))
        b.operations.append(compared)
        return [
            b.add("arith.select", (compared.result, one, other), [one.type])[0]
            for one, other in zip(new, old, strict=True)
        ]

    def chunk(
        self,
        b: Builder,
        row: Row,
        first: Index,
        totals: Totals,
        outer: Mapping[Value, Index],
        slot: int = 0,
        limits: tuple[Index, ...] = (),
    ) -> Totals:
        """``width`` iterations from ``first`` on."""
        count = len(row.befores)
        around = {iv: b.index(place, iv.name) for iv, place in outer.items()}
        lanes: list[Lane] = []
        for lane in range(self.width):
            iv = b.index(first + lane * row.step, row.iv.name)
            own = totals[lane * count : (lane + 1) * count]
            pairs = zip(row.befores, own, strict=True)
            lanes.append({**around, row.iv: iv, **dict(pairs)})
        iterations = SideBySide(row.iv, self.definitions, self.kept, slot, limits)
        iterations.emit(b, row.body, lanes)
        return [lane.get(v, v) for lane in lanes for v in row.afters]
