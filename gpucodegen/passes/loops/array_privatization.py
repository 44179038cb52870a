"""Scalar expansion and array privatization, which enable other loop transformations.

Scalar expansion gives a loop-carried or local scalar one element per iteration:

    for k {                                  for k { S[k] = 0 }
      s = for j iter_args(p = 0) {           for k { for j { S[k] = S[k] + x[j, k] } }
        yield p + x[j, k] }            =>    for k { T[k] = f(S[k]) }
      t = f(s)                               for k { for j { y[j, k] = T[k] } }
      for j { y[j, k] = t } }

Then the loops may be distributed and interchanged, so that arrays are traversed by rows
instead of columns.  The order of terms is kept.  It pays where the inner loop strides
over cache lines that the outer one would use fully, and is too long for the caches to
keep these lines.

`Privatize` moves the allocation of a small buffer into outermost loops that become
parallel by it (`gpucodegen.tiling.proof.liveness` proves which), so the mapping may run
their iterations in parallel.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from math import prod
from typing import ClassVar

from gpucodegen.dialects import affine
from gpucodegen.dialects.arith import element_bits
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import (
    Operation,
    Value,
    clone,
    replaced,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import FloatType, IndexType, IntegerType, MemRefType
from gpucodegen.passes.analysis.lifting import Lifted, Surroundings, lift_function
from gpucodegen.passes.analysis.lifting.aliases import Escapes, owners
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.contraction.reduction_to_memory import (
    BufferCell,
    ReducedInMemory,
    new_cell,
    reductions_in_memory,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.framework.nests import Axis, axis_of, inner_operations
from gpucodegen.passes.nests import loop_names
from gpucodegen.passes.nests.loop_names import FOR
from gpucodegen.passes.nests.loop_ranges import chain_of, is_repeatable
from gpucodegen.passes.outlining.cpu_outliner import needs_host
from gpucodegen.passes.outlining.transfer_spans import needs_block
from gpucodegen.passes.vectorize.loops import range_of
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.locality import innermost_cost, walks_columns
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.proof.liveness import (
    LiveValues,
    LoopKind,
    LoopVerdict,
    Private,
    loop_verdicts,
    values,
    with_privatisation,
)


@dataclass(frozen=True, slots=True)
class Privatize(ModulePass):
    """Give iterations their own buffers of at most ``max_bytes`` bytes each.

    Loops of fewer than ``min_iterations`` stay: the loops in them may have more.
    """

    name: ClassVar[str] = "privatize"
    looks_for: ClassVar[frozenset[str]] = frozenset({"affine.for"})
    max_bytes: int = 1 << 14
    min_iterations: int = 2

    def apply(self, module: Module) -> Module:
        surroundings = Surroundings.of(module)

        def changed(op: Operation) -> Operation:
            has_body = op.name == "func.func" and op.regions and op.regions[0].blocks
            if not has_body or "gcg.kernel" in op.attributes:
                return op
            return _privatised(op, surroundings, self)

        return module.with_operations(map(changed, module.operations))


def _privatised(
    function: Operation, surroundings: Surroundings, limits: Privatize
) -> Operation:
    """The function with loops rewritten, each at most once, in rounds of one analysis.

    The loops of a round are disjoint and do not change each other's verdicts: one that
    copies in stores nothing, one that copies out leaves the same contents as before.
    """
    done: set[Value] = set()
    while True:
        small = _Buffers.of(function, limits.max_bytes)
        if not small.written_in_loops(function):
            return function
        renewed: dict[Operation, tuple[Operation]] = {}
        inside: set[Operation] = set()
        for loop, changed in _found(function, surroundings, small):
            iv = affine.For(loop).iv
            if iv not in done and loop not in inside and _is_long(loop, limits):
                renewed[loop] = (changed,)
                done.add(iv)
                inside.update(loop.walk())
        if not renewed:
            return function
        function = _without_unused(replaced(function, renewed))


def _is_long(loop: Operation, limits: Privatize) -> bool:
    """Whether there are enough iterations; an unknown number is enough."""
    axis = axis_of(loop)
    return axis is None or axis.extent >= limits.min_iterations


def _found(
    function: Operation, surroundings: Surroundings, small: _Buffers
) -> Iterator[tuple[Operation, Operation]]:
    """Loops, outermost first, with their replacements."""
    lifted = lift_function(function, surroundings)
    built = model(lifted.scop)
    verdicts = {
        v.loop.payload: v
        for v in loop_verdicts(built)
        if isinstance(v.loop.payload, Operation)
    }
    passed = values(built)
    for block in function.regions[0].blocks:
        for op, verdict in _outermost(block.operations, verdicts):
            private = _private(op, verdict, passed, small, lifted)
            if private:
                buffers = {p: lifted.arrays[p.array] for p in private}
                yield op, _with_copies(op, buffers)


def _outermost(
    operations: Sequence[Operation], verdicts: dict[Operation, LoopVerdict]
) -> Iterator[tuple[Operation, LoopVerdict]]:
    """Sequential loops outside parallel loops, or alone in one."""
    for op in operations:
        verdict = verdicts.get(op)
        if verdict is not None and verdict.kind is LoopKind.PARALLEL:
            inner = [o for o in inner_operations(op) if o.name not in ALLOCATIONS]
            yield from _outermost(inner if len(inner) == 1 else (), verdicts)
            continue
        if verdict is not None and op.name == "affine.for":
            yield op, verdict
        yield from _outermost(op.nested, verdicts)


def _private(
    op: Operation,
    verdict: LoopVerdict,
    passed: LiveValues,
    small: _Buffers,
    lifted: Lifted,
) -> tuple[Private, ...]:
    """The buffers to copy for each iteration; none if that does not help or fit."""
    needed = {d.source.access.array for d in verdict.carried if d.reduces is None}
    fits = all(small.fits(lifted.arrays[name], op) for name in needed)
    if not fits or needs_block(op) or any(map(needs_host, op.walk())):
        return ()
    (found,) = with_privatisation([verdict], passed)
    loop = affine.For(op)
    is_simple = len(loop.lower_map.results) == len(loop.upper_map.results) == 1
    is_parallel = found.kind is LoopKind.PRIVATISABLE
    return found.private if is_simple and is_parallel else ()


def _with_copies(op: Operation, buffers: dict[Private, Value]) -> Operation:
    """The loop with private buffers in each iteration.

    The last iteration, iv + step >= upper, copies out.
    """
    loop = affine.For(op)
    begin, end = Builder(op.location), Builder(op.location)
    renamed: dict[Value, Value] = {}
    for private, buffer in buffers.items():
        assert isinstance(buffer.type, MemRefType)
        own = begin.allocate("memref.alloca", buffer.type, buffer.name)
        renamed[buffer] = own
        if private.copied_in:
            begin.add("memref.copy", (buffer, own))
        if private.copied_out:
            (upper,) = from_map(loop.upper_map, loop.upper_operands)
            is_last = Index.of(loop.iv) + loop.step - upper
            end.guard([is_last], partial(_copy, own, buffer))
    *inside, terminator = op.body.operations
    body = [substitute_values(inner, renamed) for inner in inside]
    return op.with_body([*begin.operations, *body, *end.operations, terminator])


def _copy(source: Value, target: Value, b: Builder) -> None:
    b.add("memref.copy", (source, target))


@dataclass(frozen=True, slots=True)
class _Buffers:
    """Facts about the buffers of a function."""

    max_bytes: int
    escaping: frozenset[Value]
    views: dict[Value, Value]

    @staticmethod
    def of(function: Operation, max_bytes: int) -> _Buffers:
        everything = tuple(function.walk())
        return _Buffers(max_bytes, Escapes.of([function]).anywhere, owners(everything))

    def written_in_loops(self, function: Operation) -> bool:
        """Whether a loop stores to a buffer that is small enough."""
        return any(
            self._is_small(self.views.get(value, value))
            for op in function.walk()
            if op.name == "affine.for"
            for inner in op.walk()
            if inner.name in _STORES
            for value in inner.operands
        )

    def fits(self, buffer: Value, loop: Operation) -> bool:
        """Whether a loop uses a small buffer by its own name or by views of its own."""
        defined = {value for op in loop.walk() for value in op.results}
        used = {value for op in loop.walk() for value in op.operands}
        return (
            self._is_small(buffer)
            and buffer in used
            and buffer not in self.escaping
            and buffer not in self.views
            and not any(self.views.get(v) is buffer for v in used - defined)
        )

    def _is_small(self, buffer: Value) -> bool:
        ty = buffer.type
        if not isinstance(ty, MemRefType) or ty.layout or ty.memory_space:
            return False
        if not isinstance(ty.element, IntegerType | FloatType | IndexType):
            return False
        elements = prod(extent or self.max_bytes + 1 for extent in ty.shape)
        return elements * element_bits(ty.element) <= 8 * self.max_bytes


_STORES = frozenset({"affine.store", "memref.store", "affine.vector_store"})


def _without_unused(function: Operation) -> Operation:
    """Remove allocations that are only freed."""
    used = {
        value
        for op in function.walk()
        if op.name != "memref.dealloc"
        for value in (*op.operands, *(v for s in op.successors for v in s.operands))
    }
    unused = {
        value
        for op in function.walk()
        if op.name in ALLOCATIONS
        for value in op.results
        if value not in used
    }

    def rewrite(op: Operation) -> list[Operation] | None:
        is_unused = unused.intersection((*op.results, *op.operands))
        return [] if is_unused else None

    (function,) = rewrite_bottom_up(function, rewrite)
    return function


def runs_along_columns(op: Operation, analysis: NestAnalysis) -> bool:
    """Whether a loop of a nest that carries a value strides across rows."""
    return any(_is_column(loop, analysis) for loop in op.walk() if loop.name == FOR)


def _is_column(outer: Operation, analysis: NestAnalysis) -> bool:
    """Whether such a loop is directly inside of a parallel one."""
    carrying = [o for o in inner_operations(outer) if o.name == FOR and o.results]
    if outer.results or not carrying or not analysis.is_parallel(outer):
        return False
    row, ranges = axis_of(outer), [range_of(o) for o in carrying]
    first, *others = loop_names.lifted_loops(analysis, (outer, *carrying))
    along, *lines = (innermost_cost(analysis.model, o) for o in (first, *others))
    trips = [range_.constant_trips if range_ else None for range_ in ranges]
    columns = [*zip(trips, lines, strict=True)]
    return row is not None and walks_columns(row.extent, along, columns)


def expanded(op: Operation, shared: Collection[Value]) -> ReducedInMemory | None:
    """The nest with cells for carried sums and for scalars between loops.

    ``shared``: buffers whose cells may be accessed under other names.
    """
    found = reductions_in_memory(op, shared)
    chain = [found.nest]
    while len(inner := inner_operations(chain[-1])) == 1 and inner[0].name == FOR:
        chain.append(inner[0])
    axes = [axis_of(loop) for loop in chain]
    known = [axis for axis in axes if axis is not None]
    if len(known) < len(chain):
        return None
    scalars = _Scalars(known)
    body = scalars.rewritten(inner_operations(chain[-1]))
    if body is None:
        return None
    nest: Operation | None = None
    for loop in reversed(chain):
        inside = body if nest is None else [nest]
        nest = loop.with_body([*inside, loop.body.operations[-1]])
    assert nest is not None
    return ReducedInMemory(nest, (*found.buffers, *scalars.buffers))


class _Scalars:
    """Cells for scalars computed between loops, one per iteration."""

    def __init__(self, axes: Sequence[Axis]) -> None:
        self.axes = axes
        self.cells: dict[Value, BufferCell] = {}
        self.repeated: dict[Value, Operation] = {}

    @property
    def buffers(self) -> tuple[Value, ...]:
        return tuple(cell.memref for cell in self.cells.values())

    def rewritten(self, block: Sequence[Operation]) -> list[Operation] | None:
        """The block whose pieces, at loops and between them, share no values."""
        made: list[Operation] = []
        here: set[Value] = set()
        for op in block:
            if op.regions:
                loop = self._with_loads(op)
                if loop is None:
                    return None
                made, here = [*made, loop], set()
            else:
                here.update(op.results)
                needed = [v for v in op.operands if self._is_away(v) and v not in here]
                loads, known = self._loaded(needed)
                made += [*loads, substitute_values(op, known)]
                made += self._kept(op, block)
        return made

    def _is_away(self, value: Value) -> bool:
        return value in self.cells or value in self.repeated

    def _kept(self, op: Operation, block: Sequence[Operation]) -> list[Operation]:
        """Stores of values that later pieces use."""
        if op.results and is_repeatable(op):
            self.repeated[op.result] = op
            return []
        b = Builder(op.location)
        for value in op.results:
            if _leaves_piece(value, op, block):
                self.cells[value] = new_cell(value, self.axes)
                self.cells[value].store(b, value)
        return b.operations

    def _with_loads(self, op: Operation) -> Operation | None:
        """A loop whose innermost body loads its values from outside."""
        chain = chain_of(op)
        needed = {v: None for o in op.walk() for v in o.used if self._is_away(v)}
        headers = {v for loop in chain for v in loop.operands}
        if op.name != FOR or not headers.isdisjoint(needed):
            return None
        loads, known = self._loaded(list(needed))
        inside = [substitute_values(o, known) for o in chain[-1].body.operations]
        nest = chain[-1].with_body([*loads, *inside])
        for loop in reversed(chain[:-1]):
            nest = loop.with_body([nest, loop.body.operations[-1]])
        return nest

    def _loaded(
        self, values: Sequence[Value]
    ) -> tuple[list[Operation], dict[Value, Value]]:
        operations: list[Operation] = []
        known: dict[Value, Value] = {}
        for value in values:
            if value in self.cells:
                b = Builder(value.location)
                known[value] = self.cells[value].load(b)
                operations += b.operations
            elif value not in known:
                op = self.repeated[value]
                loads, inner = self._loaded(
                    [v for v in op.operands if self._is_away(v)]
                )
                again = clone(op, inner)
                known[value] = again.result
                operations += [*loads, again]
        return operations, known


def _leaves_piece(value: Value, op: Operation, block: Sequence[Operation]) -> bool:
    """Whether a loop, or an operation after the next one, uses a result."""
    after = block[block.index(op) + 1 :]
    ends = next((at for at, o in enumerate(after) if o.regions), len(after))
    return any(value in o.used for later in after[ends:] for o in later.walk())
