"""Planner input of reductions: extents, widths and contiguity of a nest's rows.

A nest is split into parallel loops and the program that each of their iterations runs
(`RowProgram`).  Moving the parallel loops outermost keeps the order of every sum.
Elements that loops update become loop-carried values (`kept_in_values`).  Results of
the nest leave through buffers of one element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cached_property
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.affine import divisor_of
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.blocks.row_distribution import Row, row_of, shared_width
from gpucodegen.passes.gpu.blocks.scans import Scan, best_of_row, scan_of
from gpucodegen.passes.gpu.blocks.thread_reductions import (
    Reduction,
    extent,
    reduction_of,
)
from gpucodegen.passes.gpu.blocks.work_distribution import dealt_loops, dealt_row
from gpucodegen.passes.gpu.nest_mapping import (
    THREADS,
    MappedLoop,
    Nest,
    parallel_chain,
    trip_count,
)
from gpucodegen.passes.loops.interchange import interchanged, refusal_of
from gpucodegen.passes.loops.scalar_replacement import kept_in_values
from gpucodegen.passes.lower_affine.control_flow import sequential
from gpucodegen.passes.nests.loop_ranges import chain_of, sunk
from gpucodegen.passes.outlining.gpu_launch import thread_index
from gpucodegen.passes.outlining.vector_width import address_of
from gpucodegen.passes.prepare.linalg_to_affine import REASSOCIABLE
from gpucodegen.passes.vectorize.accumulations import Order
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.reductions import UNKNOWN, Rows
from gpucodegen.tiling.proof.liveness import LoopKind


@dataclass(frozen=True)
class RowProgram:
    """``chain``: parallel loops, outermost first; ``body``: each iteration's program.

    ``nest`` is the original nest.
    """

    chain: tuple[MappedLoop, ...]
    body: tuple[Operation, ...]
    nest: Nest

    @property
    def order(self) -> Order:
        """The reassociation that the program allows."""
        return self.nest.mapper.order

    @cached_property
    def analysis(self) -> NestAnalysis:
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
        """Iterations of the parallel loops, if known."""
        total = 1
        for loop in self.chain:
            count = trip_count(loop).constant
            if count is None:
                return None
            total *= max(count, 0)
        return total

    @property
    def is_elementwise(self) -> bool:
        """Whether the body is one parallel loop, which other kernels map as well.

        Those do not divide block indices by extents that only a call knows, so their
        race proof succeeds for any extents.
        """
        structured = [op for op in self.body if op.regions]
        if len(structured) != 1 or self.reductions or self.scans:
            return False
        return not structured[0].results and not best_of_row(structured[0])

    @property
    def is_for_teams(self) -> bool:
        """Whether members of a thread group can share the expensive operations.

        Sums whose order must be kept are not shared.
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
    """The kind of a thread group's operation."""

    PLAIN = "each of them, or the first"
    SHARED = "dealt out"
    ORDERED = "a sum that all of them walk"
    OTHER = "nothing"


_SINGLE = frozenset({"affine.load", "affine.store"})


def row_program(nest: Nest) -> RowProgram | None:
    """The nest in that form; None if it is no ``affine.for``, or has results.

    ``affine.parallel`` loops that reduce become loops that carry their totals.
    """
    (op,) = rewrite_bottom_up(nest.op, _carrying)
    if op.name != "affine.for" or op.results:
        return None
    op = parallel_outermost(op, nest.context, nest.mapper.surroundings)
    chain = parallel_chain(op, nest.of(op).analysis, len(THREADS))
    inside = inner_operations(chain[-1].operation) if chain else (op,)
    return RowProgram(tuple(chain), _kept(nest, inside), nest)


def reduced_program(nest: Nest, results: Sequence[Operation]) -> RowProgram | None:
    """A loop with totals as results, as a program of one row.

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
    """A reducing ``affine.parallel`` as sequential loops."""
    if op.name != "affine.parallel" or not op.results:
        return None
    given = {id(o) for o in op.walk()}

    def free(o: Operation) -> list[Operation] | None:
        """Combinations of parallel iterations are new, and free in order."""
        is_new = id(o) not in given and o.name.startswith("arith.") and o.operands
        return [o.with_attribute("fastmath", REASSOCIABLE)] if is_new else None

    *starts, loop = sequential(op)
    return [*starts, *rewrite_bottom_up(loop, free)]


def parallel_outermost(
    given: Operation, context: Sequence[Operation], surroundings: Surroundings
) -> Operation:
    """The perfectly nested loops with parallel ones around accumulating ones."""
    op = sunk(given)
    chain = chain_of(op)
    analysis = analyse([op], context, surroundings)
    kinds = [verdict and verdict.kind for verdict in map(analysis.verdict, chain)]
    if not {LoopKind.PARALLEL, LoopKind.REDUCTION}.issuperset(kinds):
        return given
    order = sorted(range(len(chain)), key=lambda at: kinds[at] is LoopKind.REDUCTION)
    if order == [*range(len(chain))] or refusal_of(analysis, chain, order):
        return given
    return interchanged(chain, order)


def product_of(counts: Sequence[Index]) -> Index:
    total = Index.of(1)
    for count in counts:
        total = total * count
    return total


def unflattened(
    b: Builder, chain: Sequence[MappedLoop], counts: Sequence[Index], number: Index
) -> tuple[dict[Value, Value], list[Index]]:
    """The loop variables at a row's number, and expressions >= 0 where it exists."""
    values: dict[Value, Value] = {}
    limits: list[Index] = []
    rest = number
    for loop, count in reversed([*zip(chain, counts, strict=True)]):
        outermost = loop is chain[0]
        here = rest if outermost else rest - rest // count * count
        iv = b.index(loop.lower + here * loop.step, loop.iv.name)
        values[loop.iv] = iv
        limits += [upper - 1 - iv for upper in loop.uppers[1:]]
        rest = rest if outermost else rest // count
    return values, limits


def grid_axes(counts: Sequence[Index]) -> list[range]:
    """The loops that share each axis of the grid, x first: all of a chain.

    Only the slowest loop of an axis has an extent that a launch decides: a block's
    number divided by such an extent is not affine, and no race proof would succeed.

    >>> from gpucodegen.ir.types import INDEX
    >>> n = Index.of(Value(INDEX, "n"))
    >>> grid_axes([n, Index.of(8)]), grid_axes([Index.of(8), n])
    ([range(0, 2)], [range(1, 2), range(0, 1)])
    """
    first = [at for at, count in enumerate(counts) if not at or count.constant is None]
    return [*map(range, first, [*first[1:], len(counts)])][::-1]


def placed(
    b: Builder,
    chain: Sequence[MappedLoop],
    counts: Sequence[Index],
    number: Index,
    names: str = "xyz",
) -> tuple[dict[Value, Value], list[Index]]:
    """As `unflattened` for a number along the first axis; blocks have the others."""
    values: dict[Value, Value] = {}
    limits: list[Index] = []
    for axis, name in zip(grid_axes(counts), names, strict=False):
        at = number
        if name != names[0]:
            at = Index.of(thread_index(b, "block_id", name, f"b{name}"))
        own = slice(axis.start, axis.stop)
        found = unflattened(b, chain[own], counts[own], at)
        values |= found[0]
        limits += found[1]
    return values, limits


def grid_extents(counts: Sequence[Index]) -> tuple[Index, Index, Index]:
    """The rows along x, y, z of the grid."""
    along = [product_of(counts[axis.start : axis.stop]) for axis in grid_axes(counts)]
    x, y, z = [*along, *[Index.of(1)] * 3][:3]
    return x, y, z


def rows_of(program: RowProgram) -> Rows:
    """The planner's input; unknown extents count as large."""
    chains = [chain_of(op) for op in program.body if op.name == "affine.for"]
    lengths = [prod(extent(op) or UNKNOWN for op in chain) for chain in chains]
    alone = any(o.name in ALLOCATIONS for op in program.body for o in op.walk())
    rows = UNKNOWN if program.rows is None else max(program.rows, 1)
    innermost = [row_of(chain[-1]) for chain in chains]
    are_alike = all(_bounds(row) == _bounds(innermost[0]) for row in innermost)
    is_single = all(len(chain) == 1 for chain in chains)
    return Rows(
        rows,
        max(lengths, default=1),
        width=common_width(innermost, program.nest.definitions),
        phases=len(lengths) or 1,
        alone=alone,
        can_keep=len(chains) > 1
        and not program.scans
        and is_single
        and are_alike
        and bool(innermost[0].trips),
    )


def _bounds(row: Row) -> tuple[object, ...]:
    return row.lowers, row.uppers, row.step


def common_width(rows: Sequence[Row], definitions: Mapping[Value, Operation]) -> int:
    """Vector width that fits all loops of a program."""
    wishes: list[int] = []
    for row in rows:
        if row.step != 1 or len(row.lowers) != 1:
            return 1
        wish = shared_width(row.body, row.iv, row.lowers[0], definitions)
        wishes += [wish] if wish else []
    width = min(wishes, default=1)
    while width > 1 and not all(_is_whole(row, width) for row in rows):
        width //= 2
    return width


def _is_whole(row: Row, width: int) -> bool:
    """Whether each end of a row is a multiple of ``width`` after its start."""
    (lower,) = row.lowers
    spans = (compact(upper - lower) for upper in row.uppers)
    return all(divisor_of(s.expr, [1] * len(s.values)) % width == 0 for s in spans)


def lies_across(program: RowProgram) -> bool:
    """Whether neighbouring rows, not the elements of a row, are contiguous.

    Only accesses that depend on both the row and the position count.
    """
    if not program.chain:
        return False
    chains = [chain_of(op) for op in program.body if op.name == "affine.for"]
    return sum(_votes(program, chain) for chain in chains) > 0


def _votes(program: RowProgram, loops: Sequence[Operation]) -> int:
    """Accesses of a loop that are contiguous along rows, less those along positions."""
    along, inner = program.chain[-1].iv, affine.For(loops[-1]).iv
    positions = {affine.For(op).iv for op in loops}
    rows = {loop.iv for loop in program.chain}
    votes = 0
    for op in loops[-1].body.operations:
        is_access = op.name in affine.ACCESSES
        address = address_of(op, program.nest.definitions) if is_access else None
        used = {v for i in (address.indices if address else ()) for v in i.values}
        if address and used & positions and used & rows:
            votes += (address.factor(along) == 1) - (address.factor(inner) == 1)
    return votes


def columns_of(program: RowProgram, loops: Sequence[Operation]) -> Rows | None:
    """As `rows_of` for rows that are strided in memory; None if lanes do not fit."""
    *outer, inner = program.chain
    if len(inner.uppers) > 1 or any(len(loop.uppers) > 1 for loop in outer):
        return None
    count, width = trip_count(inner).constant, 1
    if count is not None and inner.step == 1:
        body = [o for op in program.body for o in op.walk()]
        definitions = program.nest.definitions
        width = shared_width(body, inner.iv, inner.lower, definitions) or 1
        while count % width:
            width //= 2
    groups = prod(trip_count(loop).constant or UNKNOWN for loop in outer)
    length = prod(extent(op) or UNKNOWN for op in loops)
    rows = UNKNOWN if count is None else max(count, 1)
    return Rows(rows, length, width, across=True, groups=max(groups, 1))
