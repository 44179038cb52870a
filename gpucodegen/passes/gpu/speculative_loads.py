"""If-conversion of predicated loads: all loads of a body are in flight together.

    v = 0 <= i < n ? x[i] : c    =>    j = max(0, min(i, n - 1));  w = x[j]
                                       v = 0 <= i < n ? w : c

A warp that branches around each load waits for one after the other.  Theorem: a load
has no effect, so it may run where its value is not used, if its element exists.  An
index ``max(0, min(i, n - 1))`` is that of an element of an extent n >= 1; where the
condition holds, the program's own load is in bounds, so ``j = i`` there.  The array
must not be written by the body, or other threads could write what a load reads in vain.
Limits that hold for all values of the loops' variables are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting.accesses import is_memref
from gpucodegen.passes.analysis.lifting.aliases import Aliases
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.gpu.interior import (
    Ranges,
    least_value,
    limits_of,
    loop_range,
)


def with_speculative_loads(
    operations: Sequence[Operation], ranges: Ranges, aliases: Aliases
) -> list[Operation]:
    """A body whose predicated loads are unconditional ones with selected values.

    ``ranges``: those of the variables of the loops around it.
    """
    known, written = dict(ranges), list[Value]()
    for op in (inner for root in operations for inner in root.walk()):
        if op.name == "affine.for" and (found := loop_range(op)) is not None:
            known[affine.For(op).iv] = found
        elif op.name not in ("affine.load", "memref.load"):
            written += filter(is_memref, op.operands)

    def rewrite(op: Operation) -> list[Operation] | None:
        load = _predicated(op)
        if load is None or any(aliases.may_overlap(load.memref, v) for v in written):
            return None
        return _selected(op, load, known)

    return [new for op in operations for new in rewrite_bottom_up(op, rewrite)]


def _predicated(op: Operation) -> affine.Load | None:
    """The load of an array of fixed extents, if a condition chooses it or a value."""
    if op.name != "affine.if" or len(op.results) != 1:
        return None
    limits = limits_of(op)
    if any(limit is None or (limit.constant or 0) < 0 for limit in limits):
        return None
    first, second = (region.blocks[0].operations for region in op.regions)
    if [o.name for o in first] != ["affine.load", "affine.yield"] or len(second) != 1:
        return None
    load, end = first
    ty = load.operands[0].type
    is_fixed = isinstance(ty, MemRefType) and all(ty.shape)
    return affine.Load(load) if is_fixed and end.operands == load.results else None


def _selected(op: Operation, load: affine.Load, ranges: Ranges) -> list[Operation]:
    ty, b = load.memref.type, Builder(op.location)
    assert isinstance(ty, MemRefType)
    indices = from_map(load.map, load.map_operands)
    places = [
        b.index(_within(b, index, extent or 1, ranges))
        for index, extent in zip(indices, ty.shape, strict=True)
    ]
    (result,), (_, second) = op.results, op.regions
    operands = load.memref, *places
    value = b.value("memref.load", operands, result.type, hint=result.name)
    limits = [limit for limit in limits_of(op) if limit is not None]
    unknown = [limit for limit in limits if not _is_positive(limit, ranges)]
    other = second.blocks[0].operations[0].operands[0]
    chosen = b.choose(unknown, lambda _: value, lambda _: other, result.name)
    *before, last = b.operations
    assert last.results == (chosen,)
    return [*before, last.with_(results=(result,))]


def _within(b: Builder, index: Index, extent: int, ranges: Ranges) -> Index:
    """An index moved to the closest element."""
    last = Index.of(extent - 1)
    if not _is_positive(last - index, ranges):
        index = Index.of(b.smallest([index, last]))
    if not _is_positive(index, ranges):
        index = Index.of(b.largest([index, Index.of(0)]))
    return index


def _is_positive(index: Index, ranges: Ranges) -> bool:
    """Whether an index is known to be >= 0 for all values of the variables."""
    least = least_value(index, ranges)
    return least is not None and least.constant is not None and least.constant >= 0
