"""Loop-carried values in memory cells, while the order of loops changes.

    s = for i iter_args(p = v) {          t[] = v
      yield f(p) }                   =>   for i { t[] = f(t[]) }
                                          s = t[]

A transformation then sees ordinary memory dependences; `prepare.mem2reg` turns cells
with constant indices back into values.  A value that passes through an inner loop, as
its initial value and as its result, has one cell in both, so perfectly nested loops
stay so.  A cell of an inner loop has a dimension for each loop of constant range around
it, so iterations of these loops do not share its memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from itertools import pairwise
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.ir.types import FloatType, IndexType, IntegerType, MemRefType
from gpucodegen.passes.contraction.reduction_to_memory import BufferCell
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.framework.indexing import Index, bounds_of
from gpucodegen.passes.nests.loop_names import FOR, Site, loop_name
from gpucodegen.passes.nests.loop_rewriting import Replacement, rewrite_loops
from gpucodegen.passes.prepare.mem2reg import promoted
from gpucodegen.records import dataclass
from gpucodegen.tiling.proof.legality import Refusal

NUMBERS = FloatType | IntegerType | IndexType
MOST_CELLS = 1 << 21
"""Most cells for one value, 16 MiB of the widest numbers."""
Rewrite = Callable[[Module], Module]
Choice = Callable[[Operation], Collection[Operation]]
"""The loops of a nest, given its outermost one, that get cells."""


def through_cells(
    module: Module, chosen: Sequence[Site], loops: Choice, rewrite: Rewrite
) -> Module:
    """``rewrite`` the module, in which loops of chosen nests carry cells."""
    wanted = {site.loop: set(loops(site.loop)) for site in chosen}
    carrying = [s for s in chosen if any(o.results for o in wanted[s.loop])]
    if not carrying:
        return rewrite(module)
    made: set[Value] = set()

    def transform(site: Site, op: Operation) -> Replacement:
        cells = _Cells({o.body.arguments[0] for o in wanted[site.loop]}, op)
        replaced = cells.nest(op)
        made.update(cells.buffers)
        return replaced

    changed = rewrite(rewrite_loops(module, carrying, transform))
    return in_functions(changed, lambda op: [promoted(op, made)])


def carried_through(op: Operation) -> list[Operation]:
    """The loop, and the inner loops that its carried values pass through."""
    found = [op]
    for inner in op.body.operations[:-1]:
        if inner.name == FOR and _through(op, inner, _uses(op)):
            found += carried_through(inner)
    return found


def own_values(chain: Sequence[Operation]) -> Refusal | None:
    """Refuse perfectly nested loops that do not all carry the same values."""
    for outer, inner in pairwise(chain):
        through = _through(outer, inner, _uses(outer))
        if len(through) < len(inner.results) or len(inner.results) < len(outer.results):
            name, around = loop_name(inner), loop_name(outer)
            return Refusal(f"loop {name} carries other values than loop {around}")
    return holds_numbers(chain)


def holds_numbers(loops: Sequence[Operation]) -> Refusal | None:
    """Refuse loops with carried values that no cell can hold."""
    for op in loops:
        if not all(isinstance(value.type, NUMBERS) for value in op.results):
            return Refusal(f"loop {loop_name(op)} carries more than numbers")
    return None


def _uses(op: Operation) -> Counter[Value]:
    return Counter(value for inner in op.walk() for value in inner.used)


def _through(
    outer: Operation, inner: Operation, uses: Counter[Value]
) -> dict[int, int]:
    """Positions in the inner loop's values -> in the outer's, that are one value."""
    if not inner.results:
        return {}
    arguments = outer.body.arguments[1:]
    yielded = outer.body.operations[-1].operands
    found: dict[int, int] = {}
    for at, init in enumerate(affine.For(inner).inits):
        result = inner.results[at]
        for position, argument in enumerate(arguments):
            once = uses[argument] == uses[result] == 1
            if once and init is argument and yielded[position] is result:
                found[at] = position
    return found


@dataclass(slots=True)
class _Cells:
    """Puts loop-carried values of a nest into cells.

    ``chosen``: the variables of these loops, which stay when their bodies change.
    """

    chosen: set[Value]
    root: Operation
    buffers: list[Value] = field(default_factory=list[Value])
    uses: Counter[Value] = field(default_factory=Counter[Value])

    def nest(self, op: Operation) -> Replacement:
        """Allocations, initial values, the nest, final values for its results."""
        self.uses = _uses(op)
        operations, values = self._loop(op, (), {})
        b, end = Builder(op.location), Builder(op.location)
        for buffer in self.buffers:
            assert isinstance(buffer.type, MemRefType)
            b.allocate("memref.alloc", buffer.type)
            b.operations[-1] = b.operations[-1].with_(results=(buffer,))
            end.add("memref.dealloc", (buffer,))
        return Replacement((*b.operations, *operations, *end.operations), values)

    def _loop(
        self, op: Operation, axes: Sequence[affine.For], given: dict[int, BufferCell]
    ) -> tuple[list[Operation], dict[Value, Value]]:
        """The loop with surrounding operations, and its results' replacements."""
        loop = affine.For(op)
        if loop.iv not in self.chosen:
            inner = self._operations(op.body.operations, (*axes, loop))
            return [op.with_body(inner)], {}
        cells = [
            given.get(at) or self._new(argument, axes)
            for at, argument in enumerate(loop.iter_args)
        ]
        before, after = Builder(op.location), Builder(op.location)
        values: dict[Value, Value] = {}
        for at, cell in enumerate(cells):
            if at not in given:
                cell.store(before, loop.inits[at])
                values[op.results[at]] = after.load(
                    cell.memref, cell.indices, op.results[at].name
                )
        made = affine.for_(
            loop.lower_map,
            loop.lower_operands,
            loop.upper_map,
            loop.upper_operands,
            body=self._body(op, (*axes, loop), cells),
            iv=loop.iv,
            step=loop.step,
            location=op.location,
        )
        made = made.with_(attributes={**op.attributes, **made.attributes})
        return [*before.operations, made, *after.operations], values

    def _new(self, value: Value, axes: Sequence[affine.For]) -> BufferCell:
        """A cell with a dimension for each loop of constant range around.

        Above a size limit, the iterations of these loops share one cell.
        """
        ranges = [(axis, *found) for axis in axes if (found := _range(axis))]
        if prod(extent for _, _, extent in ranges) > MOST_CELLS:
            ranges = []
        extents = tuple(extent for _, _, extent in ranges)
        buffer = Value(MemRefType(extents, value.type), value.name, value.location)
        self.buffers.append(buffer)
        positions = tuple(
            (Index.of(axis.iv) - lower) // axis.step
            if axis.step > 1
            else Index.of(axis.iv) - lower
            for axis, lower, _ in ranges
        )
        return BufferCell(buffer, positions)

    def _operations(
        self,
        operations: Sequence[Operation],
        axes: Sequence[affine.For],
        given: dict[Value, dict[int, BufferCell]] | None = None,
    ) -> list[Operation]:
        """Operations with the loops among them, or below them, rewritten."""
        made: list[Operation] = []
        renamed: dict[Value, Value] = {}
        for op in operations:
            current = substitute_values(op, renamed) if renamed else op
            if op.name == FOR:
                known = (given or {}).get(op.body.arguments[0], {})
                replaced, values = self._loop(current, axes, known)
                made += replaced
                renamed.update(values)
            elif op.regions:
                inside = with_blocks(current, lambda o: self._operations(o, axes))
                made.append(inside)
            else:
                made.append(current)
        return made

    def _body(
        self, op: Operation, axes: Sequence[affine.For], cells: Sequence[BufferCell]
    ) -> list[Operation]:
        """The body with loads of the cells before their uses, and stores to them."""
        *body, end = op.body.operations
        loop = affine.For(op)
        given = {
            inner.body.arguments[0]: {
                at: cells[position]
                for at, position in _through(op, inner, self.uses).items()
            }
            for inner in body
            if inner.name == FOR and inner.body.arguments[0] in self.chosen
        }
        shared = {id(cell) for known in given.values() for cell in known.values()}
        places = _Places(body, [Builder(op.location) for _ in range(2 * len(body) + 2)])
        loaded: dict[Value, Value] = {}
        for at, (argument, cell) in enumerate(zip(loop.iter_args, cells, strict=True)):
            yielded = end.operands[at]
            if id(cell) in shared:
                continue
            stored = places.after(yielded)
            others = (*end.operands[:at], *end.operands[at + 1 :])
            if self.uses[argument] > (yielded is argument):
                first = 0 if argument in others else places.first_use(argument)
                use = min(first, stored)
                loaded[argument] = places.loads(use).load(
                    cell.memref, cell.indices, argument.name
                )
            if yielded is not argument:
                cell.store(places.stores(stored), yielded)
        operations = [substitute_values(o, loaded) for o in places.operations()]
        return self._operations(operations, axes, given)


@dataclass(frozen=True, slots=True)
class _Places:
    """Insertion points of loads and stores in a body: before operations, at the end."""

    body: Sequence[Operation]
    builders: Sequence[Builder]

    def loads(self, at: int) -> Builder:
        return self.builders[2 * at]

    def stores(self, at: int) -> Builder:
        return self.builders[2 * at + 1]

    def first_use(self, value: Value) -> int:
        """The place of the first use of a value; the end without one."""
        for at, op in enumerate(self.body):
            if any(value in inner.used for inner in op.walk()):
                return at
        return len(self.body)

    def after(self, value: Value) -> int:
        """The place after a value's definition; the first for others."""
        made = (at + 1 for at, op in enumerate(self.body) if value in op.results)
        return next(made, 0)

    def operations(self) -> list[Operation]:
        made: list[Operation] = []
        for at in range(len(self.body) + 1):
            made += [*self.loads(at).operations, *self.stores(at).operations]
            made += self.body[at : at + 1]
        return made


def _range(loop: affine.For) -> tuple[int, int] | None:
    """The lower bound and the number of iterations, where they are constants."""
    lowers, uppers = bounds_of(loop)
    ends = [bound.constant for bound in (*lowers, *uppers)]
    if None in ends:
        return None
    lower = max(bound.constant or 0 for bound in lowers)
    upper = min(bound.constant or 0 for bound in uppers)
    return lower, max(0, -(-(upper - lower) // loop.step))
