"""Updates of cells that data choose, whose order makes no difference.

``C[f(i)] = C[f(i)] OP x``, where OP is commutative and, as far as the program allows,
associative: histograms, sums by key, products with a sparse matrix.  A loop of them is
as parallel as what else is in it, if no update gets lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.combiners import Combiner, of_operator
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting.walk.reductions import (
    ACCUMULATOR_FIRST,
    Combinations,
)
from gpucodegen.passes.cpu.vectorize.accumulations import Order
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import (
    definitions,
    in_functions,
    users,
    with_blocks,
)
from gpucodegen.passes.loops.cells.updates import updates


@dataclass(frozen=True, slots=True)
class Scatter:
    """An update: ``load``, ``combine`` and ``store`` of one cell of a buffer."""

    load: Operation
    combine: Operation
    store: Operation
    kind: Combiner
    reassociable: bool

    @property
    def buffer(self) -> Value:
        """Where the cell is."""
        return self.load.operands[0]

    @property
    def indices(self) -> tuple[Value, ...]:
        """Which cell it is."""
        return self.load.operands[1:]

    def term(self, b: Builder) -> Value:
        """What the cell is combined with."""
        first, second = self.combine.operands
        value = second if first is self.load.result else first
        if self.combine.name not in ACCUMULATOR_FIRST:
            return value
        if self.kind.is_float:
            return b.add("arith.negf", (value,), [value.type])[0]
        zero = b.constant(0, value.type)
        return b.add("arith.subi", (zero, value), [value.type])[0]


Rewrite = Callable[
    [Operation, Sequence["Scatter"], Sequence[Operation]], Sequence[Operation] | None
]
"""What a loop with such updates becomes after other operations; None: no other loop."""


def in_loops(module: Module, order: Order, rewrite: Rewrite) -> Module:
    """Rewrite the outermost loops with such updates, or else loops inside them."""

    def listed(
        operations: Sequence[Operation], context: Sequence[Operation]
    ) -> list[Operation]:
        made: list[Operation] = []
        for position, op in enumerate(operations):
            found = scatters(op, order)
            before = (*context, *operations[:position])
            is_loop = op.name == "affine.for" and not op.results
            new = rewrite(op, found, before) if found and is_loop else None
            if found and new is None:
                new = [with_blocks(op, lambda inner, c=before: listed(inner, c))]
            made += [op] if new is None else new
        return made

    return in_functions(
        module, lambda op: [with_blocks(op, lambda inner: listed(inner, ()))]
    )


def scatters(op: Operation, order: Order) -> list[Scatter]:
    """All such updates inside an operation, by indices that are not affine.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @histogram(%c: memref<8xi32>, %k: memref<99xindex>, %one: i32) {
    ...   affine.for %i = 0 to 99 {
    ...     %at = affine.load %k[%i] : memref<99xindex>
    ...     %now = memref.load %c[%at] : memref<8xi32>
    ...     %next = arith.addi %now, %one : i32
    ...     memref.store %next, %c[%at] : memref<8xi32>
    ...   }
    ...   return
    ... }''')
    >>> [s.kind.name for s in scatters(module.functions["histogram"], Order())]
    ['arith.addi']
    """
    made, used = definitions(op), users(op)
    uses = {value: len(found) for value, found in used.items()}
    known = Combinations(made, uses)
    found = (
        _scatter(load, store, known, order)
        for inner in op.walk()
        for region in inner.regions
        for block in region.blocks
        for load, store in _by_data(block.operations)
    )
    return [one for one in found if one is not None]


def _by_data(operations: Sequence[Operation]) -> Iterator[tuple[Operation, Operation]]:
    """Loads and stores of one cell that has no affine place."""
    for update in updates(operations):
        load, store = operations[update.first], operations[update.last]
        if load.dialect == "memref" and len(load.operands) > 1:
            yield load, store


def _scatter(
    load: Operation, store: Operation, known: Combinations, order: Order
) -> Scatter | None:
    """The update that a load and a store make, if it has one step."""
    value = store.operands[0]
    found = known.combination(value, {load.result})
    combine = known.definitions.get(value)
    if found is None or combine is None or found.readers != (combine,):
        return None
    combiner = of_operator(found.operator, value.type)
    if combiner is None or len(combine.operands) != 2:
        return None
    made = Scatter(load, combine, store, combiner, found.reassociable)
    return made if order.frees(made) else None
