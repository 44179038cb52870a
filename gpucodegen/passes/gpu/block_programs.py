"""User-written block programs: nests that use shared memory or asynchronous copies.

The parallel outer loops become the grid, one block per iteration.  All threads of the
block run the remaining program together: its parallel loops are distributed over the
threads, single stores run on thread 0, and DMA copies are cooperative.
`blocks.barrier_phases` places the barriers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import prod

from gpucodegen import errors
from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.dma import TRANSFERS, tag_of
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import (
    Operation,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import MemRefType, element_bytes
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.lifting.index_values import VIEWS
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.contraction.gpu.block_products import Allowed, tile_products
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, bounds_of
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.blocks.barrier_phases import Phases
from gpucodegen.passes.gpu.blocks.row_distribution import LaneGroup, RowDistribution
from gpucodegen.passes.gpu.blocks.work_distribution import (
    ProductShares,
    RowShares,
    noted,
    running,
    thread_count,
    threads_of,
)
from gpucodegen.passes.gpu.nest_mapping import Mapper, Nest
from gpucodegen.passes.outlining.gpu_launch import SHARED, KernelBody, thread_index
from gpucodegen.passes.outlining.transfer_spans import needs_block
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.product_plan import device_for, room_of


@dataclass(frozen=True, slots=True)
class _BlockLoop:
    """A parallel loop whose iterations are blocks."""

    iv: Value
    lower: Index
    step: int
    count: Index


def block_program(
    operations: Sequence[Operation],
    analysis: NestAnalysis,
    context: Sequence[Operation] = (),
    surroundings: Surroundings | None = None,
    allowed: Allowed | None = None,
    axes: str = "",
) -> KernelBody:
    """The kernel of one or several nests; ``context``: the operations before.

    ``allowed``: options for tile products in shared memory. ``axes``: those of the
    loops whose iterations are blocks, the outermost first; by default up to three, the
    innermost along x.
    """
    chain, body = _block_loops(operations, analysis, len(axes) or 3)
    if axes and len(chain) < len(axes):
        raise errors.IllegalTransformation(
            operations[0].location,
            transformation="binding loops to blocks",
            reason="one of them has several bounds; tile it, and bind the outer loop",
        )
    axes = axes or "zyx"[3 - len(chain) :]
    location = operations[0].location
    buffers, body = with_buffers_first(body)
    inside = analyse([*buffers, *body], context, surroundings, fine=True)
    allowed = allowed or Allowed()
    allowed = replace(allowed, room=allowed.room - shared_bytes(buffers))
    given = [*context, *buffers]
    products = tile_products(body, allowed, given, surroundings)
    threads = threads_of(products) or thread_count(body, inside)
    b = Builder(location)
    thread = thread_index(b, "thread_id", "x", "t")
    values: dict[Value, Value] = {}
    grid = [Index.of(1)] * 3
    for name, loop in reversed(list(zip(axes, chain, strict=True))):
        number = thread_index(b, "block_id", name, f"b{name}")
        grid["xyz".index(name)] = loop.count
        values[loop.iv] = b.index(
            loop.lower + Index.of(number) * loop.step, loop.iv.name
        )
    inner = Builder(location)
    team = LaneGroup(((Index.of(thread), threads),))
    warps = running(inner, products, Index.of(thread), threads, inside)
    dealing = ProductShares(warps, RowShares(inside, RowDistribution(team)))
    Phases(inside, team, dealing, keeps=dealing.kept).operations(inner, body)
    program = [substitute_values(o, values) for o in inner.operations]
    return KernelBody(
        (*b.operations, *buffers, *program),
        tuple(grid),
        (threads, 1, 1),
        products=tuple(noted(products, warps)),
    )


def _block_loops(
    operations: Sequence[Operation], analysis: NestAnalysis, most: int
) -> tuple[list[_BlockLoop], Sequence[Operation]]:
    """Parallel outer loops with one lower and one upper bound, and their body."""
    chain: list[_BlockLoop] = []
    body = operations
    while len(body) == 1 and len(chain) < most:
        loop = _block_loop(body[0], analysis, {outer.iv for outer in chain})
        if loop is None:
            break
        chain.append(loop)
        body = inner_operations(body[0])
    return chain, body


def _block_loop(
    op: Operation, analysis: NestAnalysis, outer: set[Value]
) -> _BlockLoop | None:
    if op.name != "affine.for" or op.results or not analysis.is_parallel(op):
        return None
    loop = affine.For(op)
    lowers, uppers = bounds_of(loop)
    if (
        len(lowers) != 1
        or len(uppers) != 1
        or outer & {*lowers[0].values, *uppers[0].values}
    ):
        return None
    count = (uppers[0] - lowers[0] + (loop.step - 1)) // loop.step
    return _BlockLoop(loop.iv, lowers[0], loop.step, count)


def shared_bytes(buffers: Sequence[Operation]) -> int:
    """Bytes of shared memory of a block's buffers."""
    types = [op.results[0].type for op in buffers]
    return sum(
        prod(n or 0 for n in ty.shape) * (element_bytes(ty.element) or 0)
        for ty in types
        if isinstance(ty, MemRefType) and ty.memory_space == SHARED
    )


def with_buffers_first(
    operations: Sequence[Operation], local: Collection[Value] = ()
) -> tuple[list[Operation], list[Operation]]:
    """The buffers of a program as shared memory, and the program without them.

    Views of a buffer are in its memory.  ``local``: buffers of a single thread, which
    stay where they are.
    """
    every = [inner for op in operations for inner in op.walk()]
    tags = _tags(every)
    buffers: list[Operation] = []
    renamed: dict[Value, Value] = {}

    def renew(old: Value) -> Value:
        ty = old.type
        if isinstance(ty, MemRefType) and old not in tags:
            ty = replace(ty, memory_space=SHARED)
        renamed[old] = old.renewed(ty)
        return renamed[old]

    def taken(op: Operation) -> list[Operation] | None:
        if op.name == "memref.dealloc" and op.operands[0] not in local:
            return []
        if op.name in ALLOCATIONS and op.results[0] not in local:
            new = renew(op.results[0])
            buffers.append(op.with_(name="memref.alloca", results=(new,)))
            return []
        if op.name in _STAYING and op.operands[0] in renamed:
            return [op.with_(results=(renew(op.results[0]),))]
        return None

    rest = [found for op in operations for found in rewrite_bottom_up(op, taken)]
    return buffers, [substitute_values(op, renamed) for op in rest]


_STAYING = VIEWS - {"memref.memory_space_cast", "memref.extract_strided_metadata"}
"""Views whose result has the memory space of their source."""


def _tags(operations: Sequence[Operation]) -> set[Value]:
    """The tags of DMA copies, and the sources of those that are views."""
    tags = {tag_of(op).memref for op in operations if op.name in TRANSFERS}
    for op in reversed(operations):
        if op.name in VIEWS and op.results[0] in tags:
            tags.add(op.operands[0])
    return tags


def map_block_program(nest: Nest) -> list[Operation] | None:
    """One block for each iteration of the parallel outer loops, threads within."""
    if not needs_block(nest.op):
        return None
    mapper = nest.mapper
    return mapper.launch(
        block_program(
            *([nest.op], nest.analysis, nest.context),
            *(mapper.surroundings, allowed_by(mapper)),
        )
    )


def allowed_by(mapper: Mapper) -> Allowed:
    """The options of a program for tile products."""
    room = room_of(device_for(mapper.arch))
    return Allowed(mapper.contractions, mapper.order.relaxed, mapper.precision, room)
