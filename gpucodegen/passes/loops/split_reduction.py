"""Reductions in parts, each with partial results of its own (split-K).

    for i { for k { C[i] = C[i] OP x(i, k) } }

    =>  for part { for c { P[part, c] = the neutral element }
                   for i { for k in part { P[part, i] = P[part, i] OP x(i, k) } } }
        for c { C[c] = C[c] OP P[0, c] OP P[1, c] .. }

Theorem: let the loops down to ``k`` be perfectly nested, and let their body write only
cells of arrays that it reads for such updates alone, each array by one commutative OP.
Then a cell's result is that of its initial value and its terms, which depend on no
update; an OP whose terms may be reordered gives it in any order.  Iterations of
``part`` write different cells, so the loop is parallel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.gcg import NAME
from gpucodegen.dialects.shared.combiners import Combiner
from gpucodegen.ir.operation import Operation, Value, replaced, substitute_values
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.lifting.accesses import is_memref
from gpucodegen.passes.analysis.lifting.reductions import Combinations, updates
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import definitions, has_no_effect, users
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.framework.nests import Axis, axis_of, inner_operations
from gpucodegen.passes.loops.histogram_privatization import (
    Scatter,
    fill_cells,
    merge_cells,
    scatter_of,
)
from gpucodegen.passes.nests.loop_names import FOR, Site, find_loops, loop_name
from gpucodegen.passes.nests.loop_ranges import rebuilt
from gpucodegen.passes.nests.loop_rewriting import in_block_of
from gpucodegen.passes.vectorize.accumulations import Order
from gpucodegen.records import dataclass

_CONTROL = {FOR, "affine.if", "affine.yield"}


@dataclass(frozen=True, slots=True)
class SplitReduction(ModulePass):
    """Split the reduction along ``loop`` in so many ``parts``, with partial results.

    A part has neighbouring iterations, or with ``interleaved`` every ``parts``-th one.
    ``part``: the name of the loop over parts; ``k_part`` for a loop ``k`` by default.
    ``relaxed``: sums of floats may run in another order.

    Raises IllegalTransformation, InvalidPassOption, UnknownLoop.
    """

    name: ClassVar[str] = "split-reduction"
    loop: str
    parts: int
    interleaved: bool = False
    relaxed: bool = False
    part: str = ""
    function: str = ""

    def apply(self, module: Module) -> Module:
        if self.parts < 1:
            raise errors.InvalidPassOption(
                name=self.name,
                problem=f"parts={self.parts} is no number of parts",
                hint="Give one of at least 1",
            )
        aliases = Surroundings.of(module).aliases
        root = module.operation
        for site in find_loops(module, self.function, self.loop):
            axis = axis_of(site.loop)
            if axis is None:
                raise self._refused(
                    site.loop, "its bounds are no constants, or it carries values"
                )
            chain = _chain(site)
            found = self._updates(site.loop)
            outside = {v for op in site.around if op not in chain for v in _ivs(op)}
            for one in found:
                if not outside.isdisjoint(one.indices):
                    reason = "its cells depend on loops that hold more than this nest"
                    raise self._refused(one.store, f"{reason}: distribute them first")
            for array in dict.fromkeys(one.buffer for one in found):
                mine = (one for one in found if one.buffer is array)
                own = {op for one in mine for op in (one.load, one.store)}
                for op in site.loop.walk():
                    others = filter(is_memref, op.operands)
                    if op not in own and any(
                        aliases.may_overlap(array, v) for v in others
                    ):
                        raise self._refused(op, f"%{array.name} is used besides")
            made = self._split(axis, chain, found)

            def block(
                operations: Sequence[Operation],
                nest: Operation = chain[0],
                made: Sequence[Operation] = made,
            ) -> list[Operation]:
                at = operations.index(nest)
                return [*operations[:at], *made, *operations[at + 1 :]]

            root = in_block_of(root, chain[0], block)
        return Module(root)

    def _refused(self, op: Operation, reason: str) -> errors.IllegalTransformation:
        return errors.IllegalTransformation(
            transformation=f"{self.name} of {self.loop}",
            reason=reason,
            location=op.location,
        )

    def _updates(self, loop: Operation) -> list[Scatter]:
        """All updates in a loop.  Raises IllegalTransformation for other writes."""
        used = {value: len(found) for value, found in users(loop).items()}
        known = Combinations(definitions(loop), used)
        found: dict[Operation, Scatter] = {}
        for load, store in _pairs(loop):
            one = scatter_of(load, store, known)
            if one is not None and load.dialect == "affine":
                found[store] = one
        kinds: dict[Value, Combiner] = {}
        for op in loop.walk():
            one = found.get(op)
            if one is None:
                if op.name not in _CONTROL | {"affine.load"} and not has_no_effect(op):
                    raise self._refused(op, f"{op.name} is no update of a total")
                continue
            name = f"%{one.buffer.name}"
            if not Order(self.relaxed).frees(one):
                reason = f"the sum in {name} keeps its order: state relaxed"
                raise self._refused(one.combine, reason)
            if kinds.setdefault(one.buffer, one.kind) != one.kind:
                raise self._refused(op, f"{name} has totals of two kinds")
            ty = one.buffer.type
            if not isinstance(ty, MemRefType) or None in ty.shape:
                raise self._refused(op, f"the extents of {name} are open")
        if not found:
            raise self._refused(loop, "it reduces nothing")
        return [*found.values()]

    def _split(
        self, axis: Axis, chain: Sequence[Operation], found: Sequence[Scatter]
    ) -> list[Operation]:
        b = Builder(axis.operation.location)
        kinds = {one.buffer: one.kind for one in found}
        partial: dict[Value, Value] = {}
        for buffer in kinds:
            ty = buffer.type
            assert isinstance(ty, MemRefType)
            shape = (self.parts, *ty.shape)
            made = MemRefType(shape, ty.element)
            partial[buffer] = b.allocate("memref.alloc", made, "partial")

        def part(i: Builder, p: Value) -> None:
            for buffer, kind in kinds.items():
                fill_cells(i, p, buffer, partial[buffer], kind)
            changed: dict[Operation, Sequence[Operation]] = {}
            for one in found:
                j = Builder(one.store.location)
                cell = affine.Store(one.store)
                at = [p, *from_map(cell.map, cell.map_operands)]
                j.load(partial[one.buffer], at)
                j.store(one.store.operands[0], partial[one.buffer], at)
                load, store = j.operations
                changed[one.load] = [load.with_(results=one.load.results)]
                changed[one.store] = [store]
            body = inner_operations(replaced(axis.operation, changed))
            inner = Builder(axis.operation.location)
            self._over_part(inner, axis, p, body)
            if outer := chain[:-1]:
                end = affine.yield_(location=axis.operation.location)
                inner.operations = [rebuilt(outer, (*inner.operations, end))]
            i.operations += inner.operations

        b.loop(0, self.parts, part, hint=self.part or f"{loop_name(chain[-1])}_part")
        for buffer, kind in kinds.items():
            merge_cells(b, buffer, partial[buffer], kind, self.parts)
        for buffer in partial.values():
            b.add("memref.dealloc", (buffer,))
        return b.operations

    def _over_part(
        self, b: Builder, axis: Axis, part: Value, body: Sequence[Operation]
    ) -> None:
        """The iterations of a part."""
        p, step = Index.of(part), axis.step
        each = -(-axis.extent // self.parts)
        first, ends = axis.at(p * each), [axis.at(p * each + each)]
        if self.interleaved:
            first, ends, step = axis.at(p), [], step * self.parts

        def iteration(i: Builder, iv: Value) -> None:
            i.operations += [substitute_values(op, {axis.iv: iv}) for op in body]

        ends.append(axis.at(axis.extent))
        b.loop(first, ends, iteration, step=step, hint=axis.name)
        made, named = b.operations[-1], axis.operation.attributes.get(NAME)
        b.operations[-1] = made.with_attribute(NAME, named)


def _chain(site: Site) -> list[Operation]:
    """The loop, and the loops around it that hold nothing else, outermost first."""
    chain = [site.loop]
    for op in reversed(site.around):
        alone = op.name == FOR and not op.results
        if not alone or list(inner_operations(op)) != chain[:1]:
            break
        chain.insert(0, op)
    return chain


def _ivs(op: Operation) -> Sequence[Value]:
    return op.body.arguments if op.name == FOR else ()


def _pairs(loop: Operation) -> Iterator[tuple[Operation, Operation]]:
    for op in loop.walk():
        for block in op.blocks:
            for update in updates(block.operations):
                yield block.operations[update.first], block.operations[update.last]
