"""Nests whose loads lie beside each other along one loop, and stores along another.

    for i, j { B[j, i] = f(A[i, j]) }

A block takes a tile of iterations.  Its threads load groups of neighbours along ``j``
and put them into shared memory, turned around in squares if that makes groups along
``i``; after a barrier they take groups along ``i`` and run the body for them, which
stores neighbours.  All other loops are a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.facts.mapped_loops import MappedLoop, trip_count
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.launches.gpu_launch import SHARED, KernelBody, thread_index
from gpucodegen.passes.gpu.sweeps.sweep import Rows, Sweep, iterations, sweeps
from gpucodegen.passes.gpu.sweeps.turned_tiles import Side, TurnedTiles
from gpucodegen.tiling.machine.gpu.devices import GpuDevice
from gpucodegen.tiling.machine.gpu.streams import TransposeTile, plan_tile
from gpucodegen.tiling.machine.plan_space import Choose


def transposes_of(nest: Nest) -> list[Operation] | None:
    """The kernel of a nest that turns arrays around."""
    found = list(
        sweeps(
            nest.op,
            nest.analysis,
            nest.mapper.definitions,
            nest.mapper.surroundings.aliases,
        )
    )
    pairs = [
        _Turned(down, across)
        for across in found
        if _stores_run_along(across)
        for down in found
        if down.number != across.number and _turned_loads(down, across)
    ]
    mapped = [pair for pair in pairs if Rows(pair.batch).is_counted]
    if not mapped:
        return None
    best = max(mapped, key=lambda pair: (pair.bytes, pair.across.number))
    plan = best.plan(nest.mapper.device, nest.mapper.plans.of("turned"))
    return nest.mapper.launch(_kernel(best, plan))


def _stores_run_along(sweep: Sweep) -> bool:
    stores = [op for op in sweep.addresses if not op.results]
    return bool(stores) and all(sweep.distance(op) == 1 for op in stores)


def _turned_loads(down: Sweep, across: Sweep) -> list[Operation]:
    """Loads that run along ``down`` and not ``across``, in front of all stores."""
    found: list[Operation] = []
    for op in down.addresses:
        if not op.results:
            break
        if down.distance(op) == 1 and across.distance(op) not in (0, 1):
            found.append(op)
    return found


@dataclass(frozen=True)
class _Turned:
    """A nest as seen along the loop of its turned loads, and along that of stores."""

    down: Sweep
    across: Sweep

    @property
    def loops(self) -> tuple[MappedLoop, MappedLoop]:
        """The loop along which turned loads run, and that of stores."""
        return self.down.loop, self.across.loop

    @property
    def loads(self) -> list[Operation]:
        """Those that are turned around."""
        return _turned_loads(self.down, self.across)

    @property
    def batch(self) -> list[MappedLoop]:
        """The other loops, the innermost first."""
        return [loop for loop in self.across.rows if loop is not self.down.loop]

    @property
    def elements(self) -> list[int]:
        """Bytes of an element of each turned load."""
        known = (self.down.addresses[op] for op in self.loads)
        return [address.element for address in known if address is not None]

    @property
    def bytes(self) -> int:
        """Of one iteration's turned loads."""
        return sum(self.elements)

    @property
    def moved(self) -> int:
        """Bytes of an iteration in global memory."""
        known = self.across.addresses.values()
        return sum(address.element for address in known if address is not None)

    def plan(self, device: GpuDevice, choose: Choose) -> TransposeTile:
        """The tile of least estimated cost."""
        stores = [op for op in self.across.addresses if not op.results]
        widths = (
            max(_width(self.down, op) for op in self.loads),
            max(_width(self.across, op) for op in stores),
        )
        batch = prod(map(iterations, self.batch))
        rows, columns = iterations(self.down.loop), iterations(self.across.loop)
        extents = batch, rows, columns
        return plan_tile(
            self.elements, extents, widths, self.moved, device=device, choose=choose
        )


def _width(sweep: Sweep, op: Operation) -> int:
    """Elements that one access moves best."""
    return max((most for _, most in sweep.stream(op).widths), default=1)


def _kernel(turned: _Turned, plan: TransposeTile) -> KernelBody:
    loops = turned.loops
    b = Builder(loops[0].operation.location)
    tiles = {
        op: b.allocate("memref.alloca", _tile_type(op, plan), "tile")
        for op in turned.loads
    }
    thread = Index.of(thread_index(b, "thread_id", "x", "t"))
    firsts = turned.down.first(plan.down), turned.across.first(plan.across)
    sizes = plan.rows, plan.columns
    sides: list[Side] = []
    blocks: list[Index] = []
    for loop, name, size, first in zip(loops, "yx", sizes, firsts, strict=True):
        block = Index.of(thread_index(b, "block_id", name, f"b{name}"))
        start = b.index(loop.lower + block * size + first, loop.iv.name)
        sides.append(Side(loop, start, size, first))
        blocks.append((trip_count(loop) - first).ceildiv(size))
    places: dict[Value, Value] = {}
    batch, exists = Rows(turned.batch), list[Index]()
    if turned.batch:
        number = Index.of(thread_index(b, "block_id", "z", "bz"))
        exists = batch.place(b, number, places)
    pair = sides[0], sides[1]
    tile = TurnedTiles(turned.down, turned.across, plan, pair, tiles, places, exists)
    tile.load(b, thread)
    b.add("gpu.barrier")
    tile.use(b, thread)
    grid = blocks[1], blocks[0], batch.count
    return KernelBody((*turned.down.views, *b.operations), grid, (plan.threads, 1, 1))


def _tile_type(op: Operation, plan: TransposeTile) -> MemRefType:
    return MemRefType(plan.shape, op.result.type, None, SHARED)
