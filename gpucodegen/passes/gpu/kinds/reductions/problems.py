"""What plans of reductions depend on: extents, widths, where neighbours lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.affine import divisor_of
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.gpu.blocks.rows.deal import Row, row_of
from gpucodegen.passes.gpu.blocks.rows.reduce import extent
from gpucodegen.passes.gpu.blocks.rows.side_by_side import shared_width
from gpucodegen.passes.gpu.facts.mapped_loops import MappedLoop, trip_count
from gpucodegen.passes.gpu.facts.vector_width import address_of
from gpucodegen.passes.gpu.kinds.reductions.program import RowProgram
from gpucodegen.passes.loops.framework.chains import chain_of
from gpucodegen.tiling.machine.gpu.reductions import UNKNOWN, Rows


def product_of(counts: Sequence[Index]) -> Index:
    """All counts multiplied."""
    total = Index.of(1)
    for count in counts:
        total = total * count
    return total


def unflattened(
    b: Builder, chain: Sequence[MappedLoop], counts: Sequence[Index], number: Index
) -> tuple[dict[Value, Value], list[Index]]:
    """The variables of loops at a row's number, and what is >= 0 where it exists."""
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


def rows_of(program: RowProgram) -> Rows:
    """What the plan depends on; extents that are not known count as many."""
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
    """Neighbours that a member takes at once in all loops of a program."""
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
    """Whether neighbouring rows, and not the elements of one, are neighbours in memory.

    Only what depends on both the row and the position counts.
    """
    if not program.chain:
        return False
    chains = [chain_of(op) for op in program.body if op.name == "affine.for"]
    return sum(_votes(program, chain) for chain in chains) > 0


def _votes(program: RowProgram, loops: Sequence[Operation]) -> int:
    """Accesses of a loop to neighbours along rows, less those along positions."""
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
    """The same of rows that lie across memory; None if lanes cannot walk them."""
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
