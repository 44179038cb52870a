"""The form of an innermost loop that is parallel: ``lanes`` iterations at once.

Where all stores go past the caches, or loads of neighbours stay in registers, the full
vectors begin where those of the first store fill whole lines.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.cpu.vectorize.innermost.neighbour_loads import (
    NeighbourLoads,
    stored_access,
)
from gpucodegen.passes.cpu.vectorize.innermost.sliding import (
    loads_in_registers,
    sliding_loop,
)
from gpucodegen.passes.cpu.vectorize.loop_site import Addresses, LoopSite
from gpucodegen.passes.cpu.vectorize.loops import (
    IterationRange,
    in_blocks,
    until_aligned,
    vector_loop,
)
from gpucodegen.passes.cpu.vectorize.recognize import (
    ContiguousAccess,
    LoopBody,
    recognize,
)
from gpucodegen.passes.cpu.vectorize.streaming_stores import (
    EnclosingLoop,
    inner_loop,
    mark_streaming,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.tiling.machine.vectorization import plan_lanes, thread_block


def innermost_loop(site: LoopSite) -> list[Operation]:
    """What replaces an innermost loop whose iterations are independent."""
    op, range_, machine = site.op, site.range, site.machine
    body = None
    if range_ and not op.results:
        body = recognize(op.body.arguments[0], inner_operations(op))
    if range_ is None or body is None:
        return []
    trips = range_.trips
    if trips is None and not body.takes_masks:
        return []
    loops = (*site.loops, EnclosingLoop(body.iv, trips))
    first = mark_streaming(body, loops, machine)
    loop = inner_loop(body, trips)
    lanes = plan_lanes(loop, machine.unit)
    if not lanes or not site.is_parallel():
        return []
    neighbours = tuple(loads_in_registers(body, trips, lanes, machine.unit))
    vectors = _VectorLoop(body, lanes, first, neighbours, site.addresses)
    if site.shares_threads:
        size, counted = thread_block(loop, machine.threads), first is None
        return [in_blocks(op, range_, size, vectors.build, counted=counted)]
    b = Builder(op.location)
    vectors.build(b, range_)
    return b.operations


@dataclass(frozen=True, slots=True)
class _VectorLoop:
    """A body on ``lanes``; ``first``: its first store that goes past the caches."""

    body: LoopBody
    lanes: int
    first: ContiguousAccess | None
    neighbours: tuple[NeighbourLoads, ...]
    addresses: Addresses

    def build(self, b: Builder, part: IterationRange) -> None:
        """Run the iterations of a part of the range."""
        body, lanes = self.body, self.lanes
        slides = part.is_single and bool(self.neighbours)
        aligned = self.first or (stored_access(body) if slides else None)
        address = aligned and self.addresses.of(aligned.memref)
        if aligned and address and len(part.lowers) == 1:
            part = until_aligned(b, body, part, lanes, aligned, address)
        if slides:
            sliding_loop(b, body, part, lanes, self.neighbours)
        else:
            vector_loop(b, body, part, lanes)
