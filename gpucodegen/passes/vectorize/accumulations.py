"""Loop sites and accumulators, the input of all forms of vectorization.

A *form* takes a `LoopSite`, a loop with the facts known around it, and gives the
operations that replace the loop, or none if it does not apply or does not pay.  An
accumulator, ``total = total OP term``, is a loop-carried value, or a memory cell at a
loop-invariant place that only one load and one store touch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from typing import Protocol

from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.combiners import COMBINERS, Combiner, of_operator
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.lifting.reductions import (
    Combination,
    Combinations,
    same_cell,
)
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.nests.loop_ranges import LoopRange
from gpucodegen.passes.outlining.kernel_operations import cost
from gpucodegen.passes.vectorize.loops import EnclosingLoops, range_in
from gpucodegen.passes.vectorize.recognize import LoopBody
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import Machine
from gpucodegen.tiling.proof.liveness import LoopKind, LoopVerdict

ROUNDED = frozenset(row.operator for row in COMBINERS.values() if row.is_ordered)
"""Operators whose result depends on the order."""


class Combining(Protocol):
    """The operation that combines terms."""

    @property
    def kind(self) -> Combiner: ...

    @property
    def reassociable(self) -> bool:
        """Whether the program allows any order."""
        ...


@dataclass(frozen=True, slots=True)
class Order:
    """The allowed reassociation: ``relaxed`` of all sums, ``exact`` of none."""

    relaxed: bool = False
    exact: bool = False

    def frees(self, terms: Combining) -> bool:
        """Whether the terms of a total may be reordered."""
        if self.exact:
            return not terms.kind.is_ordered
        return terms.reassociable or self.relaxed

    def is_free(self, verdict: LoopVerdict) -> bool:
        """Whether only accumulations order the iterations, and may be reordered."""
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
    """A loop-carried total: its initial value, and the loop's result."""

    initial: Value
    result: Value


@dataclass(frozen=True, slots=True)
class Accumulation:
    """One total, ``before`` and ``after`` an iteration.

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

        Loop-invariant operations are hoisted.
        """
        body = self.body
        rest = [op for op in body.operations if op not in body.accesses]
        return sum(cost(op) for op in rest if body.is_varying(op))

    @property
    def carried(self) -> tuple[Value, ...]:
        homes = (a.home for a in self.accumulations)
        return tuple(home.result for home in homes if isinstance(home, CarriedTotal))


def accumulating(loop: Operation) -> Accumulating | None:
    """The body of an ``affine.for`` that accumulates, if it has a vector form.

    All carried values must be totals.
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
    """The carried values of an ``affine.for`` as totals; None if one is no total."""
    return _Finder(loop).carried()


def scanned_totals(loop: Operation) -> list[Accumulation] | None:
    """As `carried_totals`, where iterations may use intermediate totals.

    The operations of one total may not depend on another.
    """
    yielded = loop.body.operations[-1]
    makers = [slice_of(inner_operations(loop), [value]) for value in yielded.operands]
    users = dict.fromkeys(op for mine in makers for op in mine)
    found = _Finder(loop, [*users, yielded]).carried()
    arguments = affine.For(loop).iter_args
    for argument, mine in zip(arguments, makers, strict=True):
        others = {*arguments} - {argument}
        if any(not others.isdisjoint(op.operands) for op in mine):
            return None
    return found


def slice_of(
    operations: Sequence[Operation], values: Sequence[Value]
) -> list[Operation]:
    """The operations of a block that make some values, directly or not, in order."""
    wanted, found = set(values), list[Operation]()
    for op in reversed(operations):
        if not wanted.isdisjoint(op.results):
            wanted.update(op.used)
            found.append(op)
    return found[::-1]


@dataclass(slots=True)
class _Finder:
    """Finds the totals of a loop; ``users``: counted users of values."""

    loop: Operation
    users: Sequence[Operation] | None = None

    def accumulations(self) -> list[Accumulation]:
        """Totals in carried values and cells; none if a carried value is no total."""
        carried = self.carried()
        return [] if carried is None else [*carried, *self._cells()]

    def carried(self) -> list[Accumulation] | None:
        """The carried values as totals; None if one is no total."""
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


POINTER = "memref.extract_aligned_pointer_as_index"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of a function's buffers that forms need.

    ``outermost``: buffers defined outside of loops, the only ones with addresses known
    at every loop.
    """

    outermost: Collection[Value] = ()
    asked: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def of(self, memref: Value) -> Value | None:
        """The address of a buffer in bytes; None for buffers defined inside loops."""
        if memref in self.outermost and memref not in self.asked:
            self.asked[memref] = Value(INDEX, f"{memref.name}_at", memref.location)
        return self.asked.get(memref)

    def operations(self, made: Sequence[Value]) -> list[Operation]:
        """Operations that compute the addresses of newly defined buffers."""
        return [
            Operation(POINTER, (v,), (self.asked[v],), location=v.location)
            for v in made
            if v in self.asked
        ]


@dataclass(frozen=True, slots=True)
class LoopSite:
    """A loop ``op``, or another operation with regions, in its context.

    ``context`` runs before it, ``loops`` are the enclosing ones.
    """

    op: Operation
    context: Sequence[Operation]
    loops: EnclosingLoops
    machine: Machine
    order: Order
    surroundings: Surroundings
    addresses: Addresses

    @property
    def range(self) -> LoopRange | None:
        """The iterations of the loop; None for other operations or steps."""
        return range_in(self.op)

    @property
    def shares_threads(self) -> bool:
        """Whether threads share the iterations."""
        return self.op.name == "affine.parallel"

    def analysis(self, *, fine: bool = False) -> NestAnalysis:
        """The dependences inside of the loop."""
        return analyse([self.op], self.context, self.surroundings, fine=fine)

    def is_parallel(self) -> bool:
        """Whether the program declares it, or no dependence forbids it."""
        return self.shares_threads or self.analysis().is_parallel(self.op)

    def are_both_parallel(self) -> bool:
        """Whether two perfectly nested loops are proven parallel."""
        analysis = self.analysis()
        return all(map(analysis.is_parallel, (self.op, *inner_operations(self.op))))


VectorForm = Callable[[LoopSite], list[Operation]]
"""The operations that replace a loop; none leave it to the next form."""
