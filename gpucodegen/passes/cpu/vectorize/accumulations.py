"""What an innermost loop accumulates: ``total = total OP term``, over and over.

The total is a value that the loop carries, or a cell that stays where it is during the
loop, and that only one load and one store touch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.combiners import COMBINERS, Combiner, of_operator
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting.walk.reductions import Combination, Combinations
from gpucodegen.passes.cpu.vectorize.operations import cost
from gpucodegen.passes.cpu.vectorize.recognize import LoopBody
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.loops.cells.updates import same_cell
from gpucodegen.tiling.proof.liveness import LoopKind, LoopVerdict

ROUNDED = frozenset(row.operator for row in COMBINERS.values() if row.is_ordered)
"""Operators whose result depends on the order."""


class Combining(Protocol):
    """What combines terms in some order."""

    @property
    def kind(self) -> Combiner:
        """By which operation."""
        ...

    @property
    def reassociable(self) -> bool:
        """Whether the program allows any order."""
        ...


@dataclass(frozen=True, slots=True)
class Order:
    """What a program allows: ``relaxed`` any order of sums, ``exact`` only its own."""

    relaxed: bool = False
    exact: bool = False

    def frees(self, terms: Combining) -> bool:
        """Whether the terms of a total may come in any order."""
        if self.exact:
            return not terms.kind.is_ordered
        return terms.reassociable or self.relaxed

    def is_free(self, verdict: LoopVerdict) -> bool:
        """Whether accumulations alone order the iterations, and any order will do."""
        if verdict.kind is not LoopKind.REDUCTION:
            return False
        if self.exact:
            return ROUNDED.isdisjoint(verdict.operators)
        return verdict.reassociable or self.relaxed


@dataclass(frozen=True, slots=True)
class StoredTotal:
    """A total in memory: the load and the store of an iteration."""

    load: Operation
    store: Operation


@dataclass(frozen=True, slots=True)
class CarriedTotal:
    """A total that the loop carries: what it starts from, and the loop's result."""

    initial: Value
    result: Value


@dataclass(frozen=True, slots=True)
class Accumulation:
    """One total, as an iteration finds it ``before`` and leaves it ``after``.

    ``reassociable``: the program allows its terms in another order.
    """

    before: Value
    after: Value
    kind: Combiner
    home: StoredTotal | CarriedTotal
    reassociable: bool


@dataclass(frozen=True, slots=True)
class Accumulating:
    """A body of contiguous accesses, and the accumulations around it."""

    body: LoopBody
    accumulations: tuple[Accumulation, ...]

    @property
    def cost(self) -> int:
        """Vector operations of an iteration, without its loads and stores.

        What is the same in every iteration is computed in front of the loop.
        """
        body = self.body
        rest = [op for op in body.operations if op not in body.accesses]
        return sum(cost(op) for op in rest if body.is_varying(op))

    @property
    def carried(self) -> tuple[Value, ...]:
        """The results of the loop."""
        homes = (a.home for a in self.accumulations)
        return tuple(home.result for home in homes if isinstance(home, CarriedTotal))


def accumulating(loop: Operation) -> Accumulating | None:
    """The body of an ``affine.for`` that accumulates, if it has a vector form.

    All that the loop carries are totals.
    """
    iv, operations = loop.body.arguments[0], inner_operations(loop)
    found = _Finder(loop).accumulations()
    if not found:
        return None
    cells = (a.home for a in found if isinstance(a.home, StoredTotal))
    ends = {id(op) for cell in cells for op in (cell.load, cell.store)}
    rest = tuple(op for op in operations if id(op) not in ends)
    body = LoopBody(iv, rest, varying={iv, *(a.before for a in found)})
    admitted = all(body.admit(op) for op in rest)
    held = all(body.holds((a.before,)) for a in found)
    all_vary = all(body.varying.issuperset([a.after]) for a in found)
    if not (admitted and held and all_vary and body.accesses and body.takes_masks):
        return None
    return Accumulating(body, tuple(found))


def carried_totals(loop: Operation) -> list[Accumulation] | None:
    """The values that an ``affine.for`` carries as totals; None if one is none."""
    return _Finder(loop).carried()


def scanned_totals(loop: Operation) -> list[Accumulation] | None:
    """The same where iterations may use what a total is before and after them.

    What makes one total may not depend on another.
    """
    yielded = loop.body.operations[-1]
    makers = [slice_of(loop, [value]) for value in yielded.operands]
    users = dict.fromkeys(op for mine in makers for op in mine)
    found = _Finder(loop, [*users, yielded]).carried()
    arguments = affine.For(loop).iter_args
    for argument, mine in zip(arguments, makers, strict=True):
        others = {*arguments} - {argument}
        if any(not others.isdisjoint(op.operands) for op in mine):
            return None
    return found


def slice_of(loop: Operation, values: Sequence[Value]) -> list[Operation]:
    """The operations of an iteration that make some values, in their order."""
    wanted, found = set(values), list[Operation]()
    for op in reversed(inner_operations(loop)):
        if not wanted.isdisjoint(op.results):
            wanted.update(op.used)
            found.append(op)
    return found[::-1]


@dataclass(slots=True)
class _Finder:
    """Looks for the totals of a loop; ``users``: whose uses of values count."""

    loop: Operation
    users: Sequence[Operation] | None = None

    def accumulations(self) -> list[Accumulation]:
        """Those of carried values and of cells; none if a carried value is no total."""
        carried = self.carried()
        return [] if carried is None else [*carried, *self._cells()]

    def carried(self) -> list[Accumulation] | None:
        """The values that the loop carries as totals; None if one is something else."""
        loop = affine.For(self.loop)
        found: list[Accumulation] = []
        for argument, initial, after, result in zip(
            loop.iter_args,
            loop.inits,
            self.loop.body.operations[-1].operands,
            self.loop.results,
            strict=True,
        ):
            combination = self._combinations.combination(after, {argument})
            kind = combination and _kind_of(combination, after)
            if combination is None or kind is None:
                return None
            home, free = CarriedTotal(initial, result), combination.reassociable
            found.append(Accumulation(argument, after, kind, home, free))
        return found

    def _cells(self) -> list[Accumulation]:
        """Pairs of a load and a store of one cell with a combination in between."""
        operations = inner_operations(self.loop)
        moved = {*self.loop.body.arguments, *self._combinations.definitions}
        loads = {op.result: op for op in operations if op.name == "affine.load"}
        found: list[Accumulation] = []
        for op in operations:
            if op.name != "affine.store":
                continue
            after = op.operands[0]
            same = {v: load for v, load in loads.items() if same_cell(load, op)}
            combination = self._combinations.combination(after, same)
            kind = combination and _kind_of(combination, after)
            if combination and kind and moved.isdisjoint(op.operands[1:]):
                before, free = combination.accumulator, combination.reassociable
                home = StoredTotal(same[before], op)
                found.append(Accumulation(before, after, kind, home, free))
        return found

    @property
    def _combinations(self) -> Combinations:
        operations = self.loop.body.operations
        definitions = {result: op for op in operations for result in op.results}
        users = operations if self.users is None else self.users
        uses = Counter(value for op in users for value in op.operands)
        return Combinations(definitions, uses)


def _kind_of(combination: Combination, total: Value) -> Combiner | None:
    return of_operator(combination.operator, total.type)
