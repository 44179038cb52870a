"""Parallel scatter updates: privatized histograms, or atomic updates.

An update ``C[f(i)] = C[f(i)] OP x`` with a data-dependent f, OP commutative and, as far
as the program allows, associative, may run in any order: histograms, sums by key,
products with a sparse matrix.  `PrivatizeReductions` gives each thread a copy of C:

    for parts p:                                      (parallel)
      P[p][..] = the neutral element
      for i in part p:  P[p][f(i)] = P[p][f(i)] OP x
    for elements of C:
      C[..] = C[..] OP P[0][..] OP P[1][..] ..

This pays where there are many more updates than elements.  `AtomicUpdates` turns an
outermost loop that only such updates keep from being parallel into an
``affine.parallel`` of ``memref.atomic_rmw``.  The race proof of a mapped CPU kernel
decides which loops qualify: nothing else in them may touch the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import ClassVar

from gpucodegen.dialects.arith import element_bits
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.memref import static_extents
from gpucodegen.dialects.shared.combiners import ATOMIC_KINDS, Combiner, of_operator
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value, replaced, substitute_values
from gpucodegen.ir.types import I64, MemRefType, element_type
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.lifting.reductions import (
    ACCUMULATOR_FIRST,
    Combinations,
    updates,
)
from gpucodegen.passes.analysis.work import LOOP_OPERATION, expected_work
from gpucodegen.passes.checks.races import runs_in_parallel
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import (
    definitions,
    in_functions,
    users,
    with_blocks,
)
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import (
    Axis,
    axis_of,
    inner_operations,
    perfect_chain,
    to_parallel,
)
from gpucodegen.passes.vectorize.accumulations import Order
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import CACHE_LINE, Machine


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
        return self.load.operands[0]

    @property
    def indices(self) -> tuple[Value, ...]:
        return self.load.operands[1:]

    def term(self, b: Builder) -> Value:
        """The value that is combined with the cell."""
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
"""The replacement of a loop with such updates; None: no other loop."""


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
        scatter_of(load, store, known)
        for inner in op.walk()
        for block in inner.blocks
        for load, store in _by_data(block.operations)
    )
    return [one for one in found if one is not None and order.frees(one)]


def _by_data(operations: Sequence[Operation]) -> Iterator[tuple[Operation, Operation]]:
    """Loads and stores of one cell whose indices have no affine form."""
    for update in updates(operations):
        load, store = operations[update.first], operations[update.last]
        if load.dialect == "memref" and len(load.operands) > 1:
            yield load, store


def scatter_of(
    load: Operation, store: Operation, known: Combinations
) -> Scatter | None:
    """The update of a load and a store, if it has one step."""
    value = store.operands[0]
    found = known.combination(value, {load.result})
    combine = known.definitions.get(value)
    if found is None or combine is None or found.readers != (combine,):
        return None
    combiner = of_operator(found.operator, value.type)
    if combiner is None or len(combine.operands) != 2:
        return None
    return Scatter(load, combine, store, combiner, found.reassociable)


UPDATE = "memref.atomic_rmw"


@dataclass(frozen=True, slots=True)
class AtomicUpdates(ModulePass):
    """Loops of scatter updates become parallel, with atomic updates.

    Loops of fewer than ``min_iterations`` stay as they are.  ``relaxed``: floats may be
    summed in any order; ``exact``: only where the order makes no difference.
    """

    name: ClassVar[str] = "atomic-updates"
    looks_for: ClassVar[frozenset[str]] = frozenset({"memref"})
    min_iterations: int = 32
    relaxed: bool = False
    exact: bool = False

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def parallel(
            op: Operation, found: Sequence[Scatter], context: Sequence[Operation]
        ) -> list[Operation] | None:
            if not all(map(_is_instruction, found)):
                return None
            nest = perfect_chain(with_atomics(op, found), lambda loop: not loop.results)
            while nest and _iterations(nest) >= self.min_iterations:
                new = _declared(nest)
                if runs_in_parallel([new], context, surroundings):
                    return [new]
                nest.pop()
            return None

        return in_loops(module, Order(self.relaxed, self.exact), parallel)


def with_atomics(op: Operation, found: Sequence[Scatter]) -> Operation:
    """An operation with its updates made atomic."""
    pairs = (pair for one in found if one.kind.atomic for pair in _atomic(one))
    return replaced(op, dict(pairs))


def update(
    b: Builder, word: str, term: Value, buffer: Value, at: Sequence[Value]
) -> None:
    """An atomic update of a cell; ``word``: the combining operation."""
    kind = {"kind": IntegerAttr(ATOMIC_KINDS.index(word), I64)}
    b.add(UPDATE, (term, buffer, *at), [term.type], kind)


def _is_instruction(one: Scatter) -> bool:
    """Whether an atomic operation supports the combination and the type."""
    return bool(one.kind.atomic) and one.kind.takes(one.load.result.type)


def _atomic(one: Scatter) -> list[tuple[Operation, list[Operation]]]:
    """The replacements of the three operations of an update."""
    b = Builder(one.store.location)
    update(b, one.kind.atomic, one.term(b), one.buffer, one.indices)
    return [(one.load, []), (one.combine, []), (one.store, b.operations)]


def _iterations(nest: Sequence[Operation]) -> float:
    """The number of iterations of all loops together; many if unknown."""
    axes = [axis_of(op) for op in nest]
    return prod(float("inf") if axis is None else axis.extent for axis in axes)


def _declared(nest: Sequence[Operation]) -> Operation:
    """The outermost loop, with all of these parallel."""
    outer, *inner = nest
    if not inner:
        return to_parallel(outer)
    held = _declared(inner)
    return to_parallel(replaced(outer, {inner[0]: (held,)}))


@dataclass(frozen=True, slots=True)
class PrivatizeReductions(ModulePass):
    """Run scatter-update loops in as many parts as ``threads``, with private copies.

    ``relaxed``: floats may be summed in any order; ``exact``: only where the order
    makes no difference.
    """

    name: ClassVar[str] = "privatize-reductions"
    looks_for: ClassVar[frozenset[str]] = frozenset({"memref"})
    threads: int = 2
    relaxed: bool = False
    exact: bool = False

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def parts(
            op: Operation, found: Sequence[Scatter], context: Sequence[Operation]
        ) -> list[Operation] | None:
            axis, cells = axis_of(op), _Cells.of(op, found)
            if axis is None or cells is None or not self._pays(op, cells):
                return None

            def is_parallel(loop: Operation) -> bool:
                return runs_in_parallel([to_parallel(loop)], context, surroundings)

            if is_parallel(op):
                return [op]
            if not is_parallel(with_atomics(op, found)):
                return None
            return _in_parts(axis, found, cells, self.threads)

        if self.threads < 2:
            return module
        return in_loops(module, Order(self.relaxed, self.exact), parts)

    def _pays(self, op: Operation, cells: _Cells) -> bool:
        """Whether threads gain more than the cells cost.

        Each part initialises its cells, and then a cell is loaded and combined for each
        part.
        """
        work = expected_work(op, {})
        if work is None or not Machine(self.threads).pays_threads(
            LOOP_OPERATION * work
        ):
            return False
        more = cells.count * (1 + 2 * (self.threads + 1))
        return work / self.threads + more < work


@dataclass(frozen=True, slots=True)
class _Cells:
    """The buffers that a loop updates, each with one combining operation."""

    combiners: Mapping[Value, Combiner]

    @staticmethod
    def of(op: Operation, found: Sequence[Scatter]) -> _Cells | None:
        """None where the number of cells is unknown, or a buffer is local."""
        inside = {v for inner in op.walk() if inner is not op for v in inner.results}
        combiners = {one.buffer: one.kind for one in found}
        kinds = {(one.buffer, one.kind.name) for one in found}
        is_known = all(
            isinstance(buffer.type, MemRefType)
            and None not in buffer.type.shape
            and buffer not in inside
            for buffer in combiners
        )
        return _Cells(combiners) if is_known and len(kinds) == len(combiners) else None

    @property
    def count(self) -> int:
        return sum(prod(static_extents(buffer)) for buffer in self.combiners)


def _in_parts(
    axis: Axis, found: Sequence[Scatter], cells: _Cells, parts: int
) -> list[Operation]:
    """The loop in parts, and the operations that combine them."""
    b = Builder(axis.operation.location)
    partial = {
        buffer: b.allocate("memref.alloc", _with_parts(buffer, parts), "partial")
        for buffer in cells.combiners
    }
    chunk = -(-axis.extent // parts)

    def part(inner: Builder, p: Value) -> None:
        for buffer, combiner in cells.combiners.items():
            fill_cells(inner, p, buffer, partial[buffer], combiner)
        first = Index.of(p) * chunk
        end = axis.at(axis.extent)
        body = _moved(axis.operation, found, partial, p)

        def iteration(i: Builder, iv: Value) -> None:
            i.operations += [substitute_values(op, {axis.iv: iv}) for op in body]

        inner.loop(
            axis.at(first),
            [axis.at(first + chunk), end],
            iteration,
            step=axis.step,
            hint=axis.name,
        )

    b.loop(0, parts, part, hint="part")
    for buffer, combiner in cells.combiners.items():
        merge_cells(b, buffer, partial[buffer], combiner, parts)
    for buffer in partial.values():
        b.add("memref.dealloc", (buffer,))
    return b.operations


def _with_parts(buffer: Value, parts: int) -> MemRefType:
    """The type of the cells of all parts, each padded to whole cache lines."""
    *outer, last = static_extents(buffer)
    element = element_type(buffer.type)
    per_line = max(1, 8 * CACHE_LINE // element_bits(element))
    padded = -(-last // per_line) * per_line
    return MemRefType((parts, *outer, padded), element)


def _over(
    b: Builder, shape: Sequence[int], body: Callable[[Builder, list[Value]], None]
) -> None:
    if not shape:
        body(b, [])
        return
    first, *others = shape
    b.loop(0, first, lambda i, iv: _over(i, others, lambda j, ivs: body(j, [iv, *ivs])))


def fill_cells(
    b: Builder, part: Value, buffer: Value, partial: Value, combiner: Combiner
) -> None:
    """Store the neutral element to all cells of a part."""
    element = element_type(partial.type)
    neutral = b.constant(combiner.neutral_of(element), element)
    _over(
        b, static_extents(buffer), lambda i, at: i.store(neutral, partial, [part, *at])
    )


def _moved(
    op: Operation, found: Sequence[Scatter], partial: Mapping[Value, Value], part: Value
) -> tuple[Operation, ...]:
    """The body of a loop with its updates in the cells of a part."""
    changed: dict[Operation, Sequence[Operation]] = {}
    for one in found:
        place = (partial[one.buffer], part, *one.indices)
        value = one.store.operands[0]
        changed[one.load] = [one.load.with_(operands=place)]
        changed[one.store] = [one.store.with_(operands=(value, *place))]
    return inner_operations(replaced(op, changed))


def merge_cells(
    b: Builder, buffer: Value, partial: Value, combiner: Combiner, parts: int
) -> None:
    """Combine the cells of all parts with those of the buffer."""

    def cell(i: Builder, at: list[Value]) -> None:
        def more(j: Builder, part: Value, now: Sequence[Value]) -> Sequence[Value]:
            (before,) = now
            term = j.load(partial, [part, *at])
            return j.add(combiner.name, (before, term), [before.type])

        (total,) = i.carried_loop(0, parts, [i.load(buffer, at)], more, hint="part")
        i.store(total, buffer, at)

    _over(b, static_extents(buffer), cell)
