"""Reductions ``cell = cell OP term OP term ..``, with OP associative and commutative.

An update loads a cell, computes a value from it and stores the value back.  It is a
reduction if the old value enters through a chain of one combining operation whose order
is free: always for integers, under ``reassoc`` for floats.  The model then drops the
dependences between updates of one cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace

from gpucodegen.dialects import affine, arith
from gpucodegen.dialects.shared.combiners import COMBINERS
from gpucodegen.ir.operation import Operation, Value, renamed
from gpucodegen.ir.types import IndexType, IntegerType
from gpucodegen.passes.framework.functions import is_pure
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.scop import Access, Reduction

STORES = {"affine.load": "affine.store", "memref.load": "memref.store"}
"""The store that corresponds to a load."""


@dataclass(frozen=True, slots=True)
class Update:
    """A load at position ``first`` of a list, and its store at position ``last``."""

    first: int
    last: int


def updates(operations: Sequence[Operation]) -> Iterator[Update]:
    """The updates in a list, in sequence; no other store stands within one.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%c: memref<8xi32>, %k: index, %x: i32) {
    ...   %now = memref.load %c[%k] : memref<8xi32>
    ...   %next = arith.addi %now, %x : i32
    ...   memref.store %next, %c[%k] : memref<8xi32>
    ...   return
    ... }''')
    >>> list(updates(module.functions["f"].body.operations))
    [Update(first=0, last=2)]
    """
    numbers = _Numbers()
    loads: list[int] = []
    for position, op in enumerate(operations):
        if op.name in STORES:
            loads.append(position)
        if is_pure(op):
            numbers.count(op)
            continue
        cells = [
            n for n in loads if same_cell(numbers.of(operations[n]), numbers.of(op))
        ]
        if cells:
            yield Update(cells[-1], position)
        loads, numbers = [], _Numbers()


def same_cell(load: Operation, store: Operation) -> bool:
    """Whether a load and a store name the same cell by the same indices."""
    if STORES.get(load.name) != store.name or load.operands != store.operands[1:]:
        return False
    return load.dialect != "affine" or affine.Load(load).map == affine.Store(store).map


def in_same_place(load: Operation, store: Operation) -> Operation:
    """The store of an update with the indices of its load."""
    return store.with_(operands=(store.operands[0], *load.operands))


@dataclass(slots=True)
class _Numbers:
    """Value numbering of a list of operations without stores in between.

    The same operation on equal values gives equal values.
    """

    first: dict[Value, Value] = field(default_factory=dict[Value, Value])
    known: dict[object, tuple[Value, ...]] = field(
        default_factory=dict[object, tuple[Value, ...]]
    )

    def of(self, op: Operation) -> Operation:
        """The operation with each operand replaced by the first equal value."""
        return renamed(op, self.first)

    def count(self, op: Operation) -> None:
        """Number an operation's result, by comparing it with earlier operations."""
        if op.regions:
            return
        said = frozenset((*op.attributes.items(), *op.properties.items()))
        types = tuple(value.type for value in op.results)
        key = (op.name, self.of(op).operands, said, types)
        same = self.known.setdefault(key, op.results)
        self.first.update(zip(op.results, same, strict=True))


OPERATORS = {row.name: row.operator for row in COMBINERS.values()}
"""The operator of each operation that combines."""
ACCUMULATOR_FIRST: dict[str, str] = {"arith.subf": "add", "arith.subi": "add"}
"""``cell = cell - value`` adds a negated value; ``value - cell`` is no reduction."""

SELECTIONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("sgt", "sge"), ("max", "min")),
    **dict.fromkeys(("slt", "sle"), ("min", "max")),
    **dict.fromkeys(("ugt", "uge"), ("unsigned max", "unsigned min")),
    **dict.fromkeys(("ult", "ule"), ("unsigned min", "unsigned max")),
}
"""Of integers a and b: ``a PREDICATE b ? a : b``, and the same with ``? b : a``."""

_ORDERED = frozenset(row.operator for row in COMBINERS.values() if row.is_ordered)


@dataclass(frozen=True, slots=True)
class _Step:
    """``operator`` applied to ``terms``.

    The accumulator may be any of ``accumulating``, each of which all the ``readers``
    use.
    """

    operator: str
    accumulating: tuple[Value, ...]
    terms: tuple[Value, ...]
    readers: tuple[Operation, ...]

    @property
    def reassociable(self) -> bool:
        """Whether the terms may come in another order with the same meaning."""
        return all(map(is_reassociable, self.readers)) or (
            self.operator not in _ORDERED
        )


def is_reassociable(op: Operation) -> bool:
    """Whether an accumulation may add its terms in another order."""
    if isinstance(op.results[0].type, IntegerType | IndexType):
        return True
    return arith.permits(op, "reassoc")


@dataclass(frozen=True, slots=True)
class Combination:
    """A value that is ``accumulator OP term OP term ..``.

    Only the ``readers`` use the accumulator.
    """

    operator: str
    accumulator: Value
    readers: tuple[Operation, ...]
    reassociable: bool


@dataclass(frozen=True, slots=True)
class Combinations:
    """Knows who defines each value and how often operations use it."""

    definitions: Mapping[Value, Operation]
    uses: Mapping[Value, int]

    def combination(
        self, value: Value, accumulators: Collection[Value]
    ) -> Combination | None:
        """The reduction of exactly one accumulator that ``value`` is, or None.

        The accumulator, its intermediate values and ``value`` must have no other uses,
        since another order of terms changes them.
        """
        if self.uses.get(value) != 1:
            return None
        return self._combination(value, accumulators)

    def _combination(
        self, value: Value, accumulators: Collection[Value]
    ) -> Combination | None:
        """Iterative, since chains may be longer than Python's recursion limit."""
        known: dict[Value, Combination | None] = {}
        for current in reversed(self._inwards(value, accumulators)):
            known[current] = self._outermost(current, accumulators, known)
        return known[value]

    def _inwards(self, value: Value, accumulators: Collection[Value]) -> list[Value]:
        """The values that a combination may go through, in topological order."""
        found: list[Value] = []
        work = [value]
        while work:
            found.append(work.pop())
            candidates = self._candidates(found[-1])
            work += [each for _, each in candidates if each not in accumulators]
        return found

    def _candidates(self, value: Value) -> list[tuple[_Step, Value]]:
        """The last step to a value, with the candidates for its accumulator."""
        op = self.definitions.get(value)
        step = None if op is None else self._step(op)
        if step is None:
            return []
        used = len(step.readers)
        return [(step, v) for v in step.accumulating if self.uses.get(v) == used]

    def _outermost(
        self,
        value: Value,
        accumulators: Collection[Value],
        known: Mapping[Value, Combination | None],
    ) -> Combination | None:
        """The combination that ends here; ``known``: of the values it uses."""
        found = [
            (candidate, step, combination)
            for step, candidate in self._candidates(value)
            for combination in _along(candidate, step, accumulators, known)
        ]
        if len(found) != 1:
            return None
        candidate, step, combination = found[0]
        others = [term for term in step.terms if term is not candidate]
        is_leaked = any(
            depends_on(term, combination.accumulator, self.definitions)
            for term in others
        )
        return None if is_leaked else combination

    def _step(self, op: Operation) -> _Step | None:
        if op.name in OPERATORS:
            return _Step(OPERATORS[op.name], op.operands, op.operands, (op,))
        if op.name in ACCUMULATOR_FIRST:
            operator = ACCUMULATOR_FIRST[op.name]
            return _Step(operator, op.operands[:1], op.operands, (op,))
        if op.name == "math.fma":
            return _Step("add", op.operands[2:], op.operands, (op,))
        return self._selection(op) if op.name == "arith.select" else None

    def _selection(self, op: Operation) -> _Step | None:
        """The larger or the smaller of two integers, compared and selected.

        Floats have no such form: with a NaN the result depends on the order.
        """
        condition, *chosen = op.operands
        compare = self.definitions.get(condition)
        if compare is None or compare.name != "arith.cmpi":
            return None
        if not is_reassociable(op) or self.uses.get(condition) != 1:
            return None
        operators = SELECTIONS.get(arith.predicate(compare))
        compared = list(compare.operands)
        if operators is None or chosen not in (compared, compared[::-1]):
            return None
        operator = operators[0 if chosen == compared else 1]
        return _Step(operator, tuple(chosen), tuple(chosen), (compare, op))


def _along(
    candidate: Value,
    step: _Step,
    accumulators: Collection[Value],
    known: Mapping[Value, Combination | None],
) -> Iterator[Combination]:
    """The candidate as the accumulator, or derived from it by the same operator."""
    if candidate in accumulators:
        yield Combination(step.operator, candidate, step.readers, step.reassociable)
        return
    inner = known[candidate]
    if inner is not None and inner.operator == step.operator:
        both = step.reassociable and inner.reassociable
        yield replace(inner, reassociable=both)


def depends_on(
    value: Value, source: Value, definitions: Mapping[Value, Operation]
) -> bool:
    """Whether ``value`` is computed from ``source`` by these operations."""
    work, seen = [value], set[Value]()
    while work:
        current = work.pop()
        if current is source:
            return True
        op = definitions.get(current)
        if op is not None and current not in seen:
            seen.add(current)
            work += op.operands
            work += [v for nested in op.walk() for v in nested.operands]
    return False


def memory_reduction(
    operations: Sequence[Operation],
    accesses: Sequence[Access],
    combinations: Combinations,
) -> Reduction | None:
    """The reduction whose store is the last operation, or None.

    ``operations`` and ``accesses`` correspond one to one.
    """
    store, target = operations[-1], accesses[-1]
    if not target.writes or not target.exact or target.span or not store.operands:
        return None
    loads = {
        op.results[0]: position
        for position, (op, access) in enumerate(zip(operations, accesses, strict=True))
        if not access.writes and op.results and _same_cell(access, target)
    }
    if len(loads) != 1:
        return None
    found = combinations.combination(store.operands[0], loads)
    if found is None:
        return None
    position = loads[found.accumulator]
    return Reduction(
        found.operator, position, len(accesses) - 1, reassociable=found.reassociable
    )


def _same_cell(first: Access, second: Access) -> bool:
    return first.array == second.array and first.indices == second.indices
