"""Barrier placement: distribute a program over a thread group and separate its phases.

Between two barriers, no thread may touch an element that another thread writes.  A
barrier therefore stands before each part that depends on a part since the last barrier,
unless one thread surely runs both ends of the dependence.  At the head of a loop, the
end of the loop's body counts, too.  A wait for a DMA copy is a barrier.  Undistributed
parts run on one thread, unless other threads need their values.

`is_of_one_member` decides whether dependent iterations of two distributed loops run on
one member: loops of equal start and step are distributed alike, and the iteration at
position p runs on member p mod size in both.  `KeptSums` makes a loop carry a tile
product's sums in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import groupby
from typing import Protocol

from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.dma import TRANSFERS, WAITS
from gpucodegen.ir.operation import (
    Operation,
    Region,
    Value,
    segment_counts,
    single_block,
)
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.analysis.work import Middles, inside
from gpucodegen.passes.contraction.gpu.block_products import RunningProduct
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import Index, compact, from_map
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.blocks.row_distribution import LaneGroup
from gpucodegen.passes.gpu.nest_mapping import LOOPS
from gpucodegen.records import dataclass
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.legality import stays_within

Divide = Callable[[Builder], None]
"""Appends a member's share of an operation."""


class WorkDistribution(Protocol):
    """How operations are distributed over the members of a thread group."""

    def deal(self, op: Operation, middles: Middles) -> Divide | None:
        """A member's share of an operation; None if all members run it.

        It may depend on the middles of the enclosing loops.
        """
        ...

    def is_of_one_member(
        self, found: Sequence[Dependence], before: Operation, after: Operation
    ) -> bool:
        """Whether one member runs both ends of all dependences."""
        ...

    def note(self, op: Operation) -> None:
        """Record that an undistributed operation stands here."""
        ...


def is_of_one_member(
    found: Sequence[Dependence], before: Operation, after: Operation
) -> bool:
    """Whether one member runs both ends of all dependences between two loops."""
    if not found:
        return True
    if not _are_alike(before, after):
        return False
    return all(stays_within(d, before, after) for d in found)


def _are_alike(first: Operation, second: Operation) -> bool:
    """Whether two loops have one start and step and are distributed alone."""
    starts = [_start(op) for op in (first, second)]
    if None in starts:
        return False
    one, other = (affine.For(op) for op in (first, second))
    same = [
        compact(a - b).constant == 0 for a in starts[:1] for b in starts[1:] if a and b
    ]
    return all(same) and one.step == other.step


def _start(op: Operation) -> Index | None:
    """The start of an innermost loop, if it is unique."""
    if op.name != "affine.for" or any(o.regions for o in inner_operations(op)):
        return None
    loop = affine.For(op)
    lowers = from_map(loop.lower_map, loop.lower_operands)
    return lowers[0] if len(lowers) == 1 else None


@dataclass(slots=True)
class KeptSums:
    """A loop that carries a product's sums."""

    product: RunningProduct
    loop: Operation
    carried: Sequence[Value] = field(default_factory=list[Value])

    @property
    def is_outermost(self) -> bool:
        """Whether sums start before the loop and are stored behind it."""
        return self.loop is self.product.loops[0]

    def entered(self, b: Builder) -> Operation:
        """The loop with carried values, which nothing in it uses yet."""
        product, loop = self.product, affine.For(self.loop)
        initial = product.start(b) if self.is_outermost else product.sums
        self.carried = tuple(value.renewed() for value in initial)
        lowers, uppers = loop.lower_operands, loop.upper_operands
        counts = segment_counts(len(lowers), len(uppers), len(initial))
        body = single_block(self.loop.body.operations, (loop.iv, *self.carried))
        return self.loop.with_(
            operands=(*lowers, *uppers, *initial),
            results=tuple(value.renewed() for value in initial),
            attributes={**self.loop.attributes, "operandSegmentSizes": counts},
            regions=(body,),
        )

    def begun(self) -> None:
        """Start an iteration from the carried sums."""
        self.product.sums = self.carried

    def closed(self, loop: Operation) -> Operation:
        """The loop that yields the sums; its results are the final ones."""
        *body, end = loop.body.operations
        made = loop.with_body([*body, end.with_(operands=tuple(self.product.sums))])
        self.product.sums = made.results
        return made


STORES = frozenset({"affine.store", "memref.store", "affine.vector_store"})
SAME = -1
"""In place of a depth: the same iteration of all enclosing loops."""
Pending = dict[int, tuple[Operation, frozenset[int]]]
"""Operations since the last barrier, by identity, with when they may have run: in an
earlier iteration of the loop at a depth, or in the same iteration.
"""


@dataclass(slots=True)
class Phases:
    """Rewrites the program of a thread group; ``pending``: accesses since a barrier.

    ``analysis`` has a statement per access.  ``middles``: of the enclosing loops, as
    far as they are known.  ``keeps``: loops that carry sums.
    """

    analysis: NestAnalysis
    team: LaneGroup
    dealing: WorkDistribution
    middles: Middles = field(default_factory=dict[Value, int])
    keeps: Mapping[Operation, KeptSums] = field(
        default_factory=dict[Operation, KeptSums]
    )
    pending: Pending = field(default_factory=Pending)
    depth: int = 0
    _levels: dict[tuple[int, int], frozenset[int]] = field(
        default_factory=dict[tuple[int, int], frozenset[int]]
    )

    def operations(self, b: Builder, operations: Sequence[Operation]) -> None:
        """Append the operations, with barriers between them."""
        for is_simple, run in groupby(operations, key=_is_simple):
            some = list(run)
            if is_simple and _stores(some) and not _is_needed(some, operations):
                self._alone(b, some)
                continue
            for op in some:
                self._one(b, op)

    def _one(self, b: Builder, op: Operation) -> None:
        divide = self.dealing.deal(op, self.middles)
        if op.name in WAITS:
            self.dealing.note(op)
            b.operations.append(op)
            self.pending.clear()
        elif divide:
            self._meet(b, [op])
            divide(b)
        elif self._is_serial(op):
            self._alone(b, [op])
        elif op.regions:
            self._structured(b, op)
        elif op.name == "affine.yield" or (not op.regions and has_no_effect(op)):
            b.operations.append(op)
        else:
            self._meet(b, [op])
            if op.name in STORES:
                self._by_one(b, [op])
            else:
                b.operations.append(op)
                self.dealing.note(op)

    def _is_serial(self, op: Operation) -> bool:
        """Whether a structure stores and contains no parallel work."""
        inner = list(op.walk())
        deal = self.dealing.deal
        return (
            bool(op.regions)
            and not op.results
            and _stores(inner)
            and not any(o.name in TRANSFERS or deal(o, {}) for o in inner)
        )

    def _alone(self, b: Builder, operations: Sequence[Operation]) -> None:
        """Operations that one thread runs."""
        self._meet(b, operations)
        self._by_one(b, operations)

    def _by_one(self, b: Builder, operations: Sequence[Operation]) -> None:
        first = Index.of(0) - self.team.number
        b.guard([first], lambda i: i.operations.extend(operations))
        for op in operations:
            self.dealing.note(op)

    def _meet(self, b: Builder, operations: Sequence[Operation]) -> None:
        """Insert a barrier if a pending access conflicts with the operations."""
        before = self.pending.values()
        if any(self._must_wait(*old, op) for old in before for op in operations):
            self.team.meet(b)
            self.pending.clear()
        now = frozenset({SAME})
        self.pending |= {id(op): (op, now) for op in operations}

    def _must_wait(
        self, before: Operation, when: frozenset[int], op: Operation
    ) -> bool:
        """Whether a dependence leads from one to the other across threads.

        Dependences carried by enclosing loops are between iterations of these loops.
        """
        key = id(before), id(op)
        if key not in self._levels:
            found = self.analysis.conflicts([before], [op])
            apart = [d for d in found if not self._is_of_one_member(d, before, op)]
            levels = (SAME if d.level is None else d.level for d in apart)
            self._levels[key] = frozenset(levels)
        inside = {level for level in self._levels[key] if level >= self.depth}
        same = frozenset({SAME}) if inside else frozenset[int]()
        here = self._levels[key] - inside | same
        return not when.isdisjoint(here)

    def _is_of_one_member(
        self, found: Dependence, before: Operation, op: Operation
    ) -> bool:
        """Whether one member runs both ends, in one iteration of the outer loops.

        Each member has a copy of the loop-carried values.  One member runs all of a
        loop that is not distributed.
        """
        if found.model.array(found.source.access.array).register:
            return True
        divided = [self.dealing.deal(o, {}) is not None for o in (before, op)]
        same = found.level is None and len({*divided}) == 1
        return same and self.dealing.is_of_one_member([found], before, op)

    def _structured(self, b: Builder, op: Operation) -> None:
        """A loop or branch that all threads execute; it may be skipped."""
        entry, around = dict(self.pending), self.middles
        is_loop = op.name in LOOPS
        sums = self.keeps.get(op)
        if sums:
            op = self._started(b, sums)
        self.dealing.note(op)
        if op.name == "affine.for":
            self.middles = inside(op, around)
        self.depth += is_loop
        while is_loop:
            before = dict(self.pending)
            self._regions(op, before, sums)
            self.pending = _merged(before, self._gone_around())
            if self.pending == before:
                break
        made = op.with_(regions=self._regions(op, dict(self.pending), sums))
        self.depth -= is_loop
        b.operations.append(sums.closed(made) if sums else made)
        self.pending = _merged(self._left(), entry)
        self.middles = around
        if sums and sums.is_outermost:
            self._stored(b, sums.product)

    def _started(self, b: Builder, sums: KeptSums) -> Operation:
        """The loop that carries sums, after their initial values."""
        if sums.is_outermost and sums.product.reads_first:
            self._meet(b, [sums.product.product.nest])
        return sums.entered(b)

    def _stored(self, b: Builder, product: RunningProduct) -> None:
        """Store the kept sums of a product to its result, behind a barrier."""
        self.team.meet(b)
        nest = product.product.nest
        self.dealing.note(nest)
        self.pending = {id(nest): (nest, frozenset({SAME}))}
        product.store(b)

    def _gone_around(self) -> Pending:
        """Pending accesses at the loop's end, seen from the next iteration."""
        last = self.depth - 1
        return {
            key: (op, frozenset(last if w == SAME else w for w in when))
            for key, (op, when) in self.pending.items()
        }

    def _left(self) -> Pending:
        """Pending accesses in a structure, seen from behind it."""
        return {
            key: (op, frozenset(SAME if w >= self.depth else w for w in when))
            for key, (op, when) in self.pending.items()
        }

    def _regions(
        self, op: Operation, entry: Pending, sums: KeptSums | None = None
    ) -> tuple[Region, ...]:
        """The regions, all entered in one state; pending accesses are joined."""
        if sums:
            sums.begun()
        left: Pending = {}
        regions: list[Region] = []
        for region in op.regions:
            self.pending = dict(entry)
            regions.append(self._region(region, op))
            left = _merged(left, self.pending)
        self.pending = left
        return tuple(regions)

    def _region(self, region: Region, op: Operation) -> Region:
        def rebuilt(operations: Sequence[Operation]) -> list[Operation]:
            inner = Builder(op.location)
            self.operations(inner, operations)
            return inner.operations

        return Region(
            tuple(
                block.with_operations(rebuilt(block.operations))
                for block in region.blocks
            )
        )


def _merged(one: Pending, other: Pending) -> Pending:
    """The union of the pending accesses of two alternative paths."""
    both = one | other
    for key in one.keys() & other.keys():
        both[key] = both[key][0], one[key][1] | other[key][1]
    return both


def _is_simple(op: Operation) -> bool:
    is_end = op.name.endswith(".yield")
    return not op.regions and not is_end and op.name not in TRANSFERS


def _stores(operations: Sequence[Operation]) -> bool:
    return any(op.name in STORES for op in operations)


def _is_needed(run: Sequence[Operation], operations: Sequence[Operation]) -> bool:
    """Whether values of a run are used outside of it."""
    made = {value for op in run for value in op.results}
    others = (op for op in operations if op not in run)
    return any(not made.isdisjoint(o.used) for op in others for o in op.walk())
