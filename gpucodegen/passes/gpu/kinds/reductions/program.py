"""A nest as parallel loops around a program that each of their iterations runs.

Parallel loops go outermost, which keeps the order of every sum.  Cells that loops
update are values that these carry (`kept_cells`).  What the nest gives back leaves
through a buffer of one element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.cpu.vectorize.accumulations import Order
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.blocks.rows.argminmax import best_of_row
from gpucodegen.passes.gpu.blocks.rows.free_reductions import Reduction, reduction_of
from gpucodegen.passes.gpu.blocks.rows.scans import Scan, scan_of
from gpucodegen.passes.gpu.blocks.threads import dealt_loops, dealt_row
from gpucodegen.passes.gpu.facts.mapped_loops import (
    MappedLoop,
    parallel_chain,
    trip_count,
)
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.kinds.thread_mapping import THREADS
from gpucodegen.passes.loops.cells.kept_cells import kept_in_values
from gpucodegen.passes.loops.framework.chains import chain_of, sunk
from gpucodegen.passes.loops.order.interchange import interchanged, refusal_of
from gpucodegen.passes.lower_affine.sequential import sequential
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect
from gpucodegen.passes.prepare.linalg.linalg_to_affine import REASSOCIABLE
from gpucodegen.tiling.proof.liveness import LoopKind


@dataclass(frozen=True)
class RowProgram:
    """``chain``: parallel loops, outermost first; ``body``: what each iteration runs.

    ``nest`` is what both were part of.
    """

    chain: tuple[MappedLoop, ...]
    body: tuple[Operation, ...]
    nest: Nest

    @property
    def order(self) -> Order:
        """What the program allows of its sums."""
        return self.nest.mapper.order

    @cached_property
    def analysis(self) -> NestAnalysis:
        """The dependences of one iteration."""
        return analyse(self.body, self.nest.context, self.nest.mapper.surroundings)

    @cached_property
    def reductions(self) -> tuple[Reduction, ...]:
        """The reductions directly in the body."""
        found = (reduction_of(op, self.order) for op in self.body)
        return tuple(one for one in found if one is not None)

    @cached_property
    def scans(self) -> tuple[Scan, ...]:
        """The scans directly in the body."""
        sums = {id(found.loops[0]) for found in self.reductions}
        loops = [op for op in self.body if op.name == "affine.for" and op.results]
        others = (op for op in loops if id(op) not in sums)
        found = (scan_of(op, self.order, self.analysis) for op in others)
        return tuple(one for one in found if one is not None)

    @property
    def rows(self) -> int | None:
        """Iterations of the parallel loops, if that is known."""
        total = 1
        for loop in self.chain:
            count = trip_count(loop).constant
            if count is None:
                return None
            total *= max(count, 0)
        return total

    @property
    def is_for_teams(self) -> bool:
        """Whether members of a team can share what takes time.

        All of them walk sums whose order has to stay.
        """
        kinds = [self._kind(op) for op in self.body]
        return _Kind.SHARED in kinds and _Kind.OTHER not in kinds

    def _kind(self, op: Operation) -> _Kind:
        if not op.regions:
            is_plain = op.name in _SINGLE or has_no_effect(op)
            return _Kind.PLAIN if is_plain else _Kind.OTHER
        found = reduction_of(op, self.order)
        if found is not None:
            return _Kind.SHARED if found.is_free else _Kind.ORDERED
        if best_of_row(op):
            return _Kind.SHARED
        if scanned := scan_of(op, self.order, self.analysis):
            return _Kind.SHARED if scanned.is_free else _Kind.OTHER
        row = dealt_row(op, self.analysis)
        is_dealt = row is not None or bool(dealt_loops(op, self.analysis))
        return _Kind.SHARED if is_dealt else _Kind.OTHER


class _Kind(Enum):
    """What the members of a team do with an operation."""

    PLAIN = "each of them, or the first"
    SHARED = "dealt out"
    ORDERED = "a sum that all of them walk"
    OTHER = "nothing"


_SINGLE = frozenset({"affine.load", "affine.store"})


def row_program(nest: Nest) -> RowProgram | None:
    """The nest in that form; None if it is no ``affine.for``, or gives something back.

    ``affine.parallel`` loops that reduce are loops that carry their totals.
    """
    (op,) = rewrite_bottom_up(nest.op, _carrying)
    if op.name != "affine.for" or op.results:
        return None
    op = _parallel_outermost(nest.of(op))
    chain = parallel_chain(op, nest.of(op).analysis, len(THREADS))
    inside = inner_operations(chain[-1].operation) if chain else (op,)
    return RowProgram(tuple(chain), _kept(nest, inside), nest)


def reduced_program(nest: Nest, results: Sequence[Operation]) -> RowProgram | None:
    """A loop that gives totals back, as a program of one row.

    ``results``: operations that store them.
    """
    loops = _carrying(nest.op) or [nest.op]
    if loops[-1].name != "affine.for":
        return None
    return RowProgram((), (*_kept(nest, loops), *results), nest)


def _kept(nest: Nest, operations: Sequence[Operation]) -> tuple[Operation, ...]:
    aliases = nest.mapper.surroundings.aliases
    return tuple(new for op in operations for new in kept_in_values(op, aliases))


def _carrying(op: Operation) -> list[Operation] | None:
    """What an ``affine.parallel`` that reduces is in order."""
    if op.name != "affine.parallel" or not op.results:
        return None
    given = {id(o) for o in op.walk()}

    def free(o: Operation) -> list[Operation] | None:
        """Parallel iterations have no order: their combinations are new."""
        is_new = id(o) not in given and o.name.startswith("arith.") and o.operands
        return [o.with_attribute("fastmath", REASSOCIABLE)] if is_new else None

    *starts, loop = sequential(op)
    return [*starts, *rewrite_bottom_up(loop, free)]


def _parallel_outermost(nest: Nest) -> Operation:
    """The perfectly nested loops with parallel ones around those that accumulate."""
    op = sunk(nest.op)
    chain = chain_of(op)
    analysis = nest.of(op).analysis
    kinds = [verdict and verdict.kind for verdict in map(analysis.verdict, chain)]
    if not {LoopKind.PARALLEL, LoopKind.REDUCTION}.issuperset(kinds):
        return nest.op
    order = sorted(range(len(chain)), key=lambda at: kinds[at] is LoopKind.REDUCTION)
    if order == [*range(len(chain))] or refusal_of(analysis, chain, order):
        return nest.op
    return interchanged(chain, order)
