"""Updates of cells that data choose, shared by threads that have their own cells.

    for parts p:                                      (parallel)
      P[p][..] = what changes nothing
      for i in part p:  P[p][f(i)] = P[p][f(i)] OP x
    for cells of C:
      C[..] = C[..] OP P[0][..] OP P[1][..] ..

Such a loop is parallel if it would be so with atomic updates, and it is worth it where
there are many more updates than cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from gpucodegen.dialects.arith import element_bits
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.combiners import Combiner
from gpucodegen.ir.operation import Operation, Value, replaced, substitute_values
from gpucodegen.ir.types import MemRefType, element_type
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.work import expected_work
from gpucodegen.passes.checks.races import runs_in_parallel
from gpucodegen.passes.cpu.parallel_loops import LOOP_OPERATION, to_parallel
from gpucodegen.passes.cpu.vectorize.accumulations import Order
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis, axis_of, inner_operations
from gpucodegen.passes.loops.scatter.atomic_updates import with_atomics
from gpucodegen.passes.loops.scatter.scatters import Scatter, in_loops
from gpucodegen.tiling.machine.processor import CACHE_LINE, Machine


@dataclass(frozen=True, slots=True)
class PartialUpdates(ModulePass):
    """Loops of updates of cells that data choose, in as many parts as ``threads``.

    ``relaxed``: floats may be summed in any order; ``exact``: only what does not depend
    on it.
    """

    name: ClassVar[str] = "partial-updates"
    threads: int = 2
    relaxed: bool = False
    exact: bool = False

    def apply(self, module: Module) -> Module:
        """Rewrite the outermost loops that are proven and have enough updates."""
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
        """Whether threads gain more than their cells cost.

        Each part fills its cells, and then a cell is loaded and combined for each part.
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
    """The buffers that a loop updates, each in one way, and how."""

    combiners: Mapping[Value, Combiner]

    @staticmethod
    def of(op: Operation, found: Sequence[Scatter]) -> _Cells | None:
        """None where a number of cells is not known, or a buffer is of the loop."""
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
        """How many there are."""
        return sum(prod(_shape(buffer)) for buffer in self.combiners)


def _shape(buffer: Value) -> tuple[int, ...]:
    """Extents that are known."""
    ty = buffer.type
    return tuple(e or 0 for e in ty.shape) if isinstance(ty, MemRefType) else ()


def _in_parts(
    axis: Axis, found: Sequence[Scatter], cells: _Cells, parts: int
) -> list[Operation]:
    """The loop in parts, and what adds them up."""
    b = Builder(axis.operation.location)
    partial = {
        buffer: b.allocate("memref.alloc", _with_parts(buffer, parts), "partial")
        for buffer in cells.combiners
    }
    chunk = -(-axis.extent // parts)

    def part(inner: Builder, p: Value) -> None:
        for buffer, combiner in cells.combiners.items():
            _fill(inner, p, buffer, partial[buffer], combiner)
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
        _combine(b, buffer, partial[buffer], combiner, parts)
    for buffer in partial.values():
        b.add("memref.dealloc", (buffer,))
    return b.operations


def _with_parts(buffer: Value, parts: int) -> MemRefType:
    """The type of the cells of all parts, in lines of cache of their own."""
    *outer, last = _shape(buffer)
    element = element_type(buffer.type)
    per_line = max(1, 8 * CACHE_LINE // element_bits(element))
    padded = -(-last // per_line) * per_line
    return MemRefType((parts, *outer, padded), element)


def _over(
    b: Builder, shape: Sequence[int], body: Callable[[Builder, list[Value]], None]
) -> None:
    """A nest over all cells."""
    if not shape:
        body(b, [])
        return
    first, *others = shape
    b.loop(0, first, lambda i, iv: _over(i, others, lambda j, ivs: body(j, [iv, *ivs])))


def _fill(
    b: Builder, part: Value, buffer: Value, partial: Value, combiner: Combiner
) -> None:
    element = element_type(partial.type)
    neutral = b.constant(combiner.neutral_of(element), element)
    _over(b, _shape(buffer), lambda i, at: i.store(neutral, partial, [part, *at]))


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


def _combine(
    b: Builder, buffer: Value, partial: Value, combiner: Combiner, parts: int
) -> None:
    def cell(i: Builder, at: list[Value]) -> None:
        def more(j: Builder, part: Value, now: Sequence[Value]) -> Sequence[Value]:
            (before,) = now
            term = j.load(partial, [part, *at])
            return j.add(combiner.name, (before, term), [before.type])

        (total,) = i.carried_loop(0, parts, [i.load(buffer, at)], more, hint="part")
        i.store(total, buffer, at)

    _over(b, _shape(buffer), cell)
