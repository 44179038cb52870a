"""Scalar expansion: what an iteration carries and keeps gets a cell of its own.

    for k {                                  for k { S[k] = 0 }
      s = for j iter_args(p = 0) {           for k { for j { S[k] = S[k] + x[j, k] } }
        yield p + x[j, k] }            =>    for k { T[k] = f(S[k]) }
      t = f(s)                               for k { for j { y[j, k] = T[k] } }
      for j { y[j, k] = t } }

Then the loops may be distributed and interchanged, so that rows are passed over in
place of columns.  Terms of sums keep their order.  It pays where the inner loop jumps
from line to line that the outer one would use up, and is too long for the caches to
keep these lines.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpucodegen.ir.operation import Operation, Value, clone, substitute_values
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.contraction.recognition.reduction_to_memory import (
    BufferCell,
    ReducedInMemory,
    new_cell,
    reductions_in_memory,
)
from gpucodegen.passes.cpu.vectorize.loops import range_of
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.nests import Axis, axis_of, inner_operations
from gpucodegen.passes.loops.framework import legality
from gpucodegen.passes.loops.framework.chains import chain_of, is_repeatable
from gpucodegen.passes.loops.framework.naming import FOR
from gpucodegen.tiling.machine.locality import innermost_cost, walks_columns


def runs_along_columns(op: Operation, analysis: NestAnalysis) -> bool:
    """Whether a loop of a nest that carries a value better ran along the rows."""
    return any(_is_column(loop, analysis) for loop in op.walk() if loop.name == FOR)


def _is_column(outer: Operation, analysis: NestAnalysis) -> bool:
    """Whether such a loop is directly inside of a parallel one."""
    carrying = [o for o in inner_operations(outer) if o.name == FOR and o.results]
    if outer.results or not carrying or not analysis.is_parallel(outer):
        return False
    row, ranges = axis_of(outer), [range_of(o) for o in carrying]
    first, *others = legality.lifted_loops(analysis, (outer, *carrying))
    along, *lines = (innermost_cost(analysis.model, o) for o in (first, *others))
    trips = [range_.trips if range_ else None for range_ in ranges]
    columns = [*zip(trips, lines, strict=True)]
    return row is not None and walks_columns(row.extent, along, columns)


def expanded(op: Operation, shared: Collection[Value]) -> ReducedInMemory | None:
    """The nest with cells for carried sums and for what loops take from each other.

    ``shared``: buffers whose cells may have other names too.
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
    """Cells for the values that operations between loops make, one per iteration."""

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
        """Stores of what later pieces take."""
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
        """A loop whose innermost body loads what it takes from outside."""
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
    """Whether a loop, or what follows the next one, uses a result."""
    after = block[block.index(op) + 1 :]
    ends = next((at for at, o in enumerate(after) if o.regions), len(after))
    return any(value in o.used for later in after[ends:] for o in later.walk())
