"""Work of Hopper warpgroup kernels: TMA copies to a ring of stages, ``wgmma`` from it.

`WarpgroupCounts` counts like `product_work` for other kernels.  Consumers read both
operands from shared memory as they multiply, 128 bytes per clock.  Their sums go to the
result through a slice of shared memory per warp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product as product_of
from math import ceil, prod

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import (
    SCHEDULERS,
    SECTOR,
    SYSTEM_SHARED,
    WARP,
    WARPGROUP,
    GpuDevice,
)
from gpucodegen.tiling.machine.gpu.estimate import (
    BUSY_LATENCY,
    Work,
    busiest,
)
from gpucodegen.tiling.machine.gpu.fragments import ROWS, SLICE, gap_of
from gpucodegen.tiling.machine.gpu.product_tiles import (
    HALF,
    MOST_STAGES,
    SPAN,
    TURNS,
    WARPGROUP_ROWS,
    WARPGROUPS,
    WarpgroupTiles,
    rectangle,
    tiles_of,
)
from gpucodegen.tiling.machine.gpu.product_work import HELD, Product
from gpucodegen.tiling.machine.gpu.shared_copies import OCTET

SLICE_COLUMNS = 64
"""Columns of a tile that are stored through shared memory at once.

With 128, initial values of 32 bits read a slice ahead had too few registers: 16 bytes
were spilled.
"""
PART = 512
"""Bytes of a tile row that are stored through TMA boxes at once."""
BARRIERS = 16
"""Bytes of the mbarriers of a stage."""
TRIP = 40
"""Instructions of a consumer's warp for a stage, as compiled."""
STORED = 4
"""Instructions for a sum on its way to the result, as compiled."""
BASE_REGISTERS = 44
"""Registers besides sums: addresses and data in flight."""
LEFT, TAKEN = 40, 232
"""Registers of a producer thread and of a consumer thread after ``setmaxnreg``.

Three warpgroups start with 168 each: ``40 + 2 * 232 = 3 * 168``.
"""
SHARED_RATE = 128
"""Bytes per shared-memory wavefront."""
KEPT = 1.2
"""Speedup of L2 reads of operands that fit the L2 cache as a whole.

As of two convolutions on an H100, beside a product of 4096 in all directions, which
fetches factors from memory again and again.
"""


def boxed_columns(plan: WarpgroupTiles, size: int) -> int:
    """Columns of a tile that go through TMA boxes at once, for a size in bytes.

    >>> [boxed_columns(WarpgroupTiles(128, 256, 64, 2), size) for size in (2, 4)]
    [256, 128]
    """
    return min(plan.tile_columns, PART // size)


@dataclass(frozen=True)
class WarpgroupCounts:
    """The work and the resources of a plan; ``product`` has the operands' elements.

    >>> from gpucodegen.tiling.machine.gpu.product_tiles import WarpgroupTiles
    >>> counts = WarpgroupCounts(WarpgroupTiles(128, 256, 64, 2), Product(1, 1, 1))
    >>> counts.shared, counts.trades_registers
    (215104, True)
    """

    plan: WarpgroupTiles
    product: Product

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block: stages, and a part of the result."""
        plan = self.plan
        warps = plan.consumers * WARPGROUP // WARP
        return plan.stages * (self._stage + BARRIERS) + warps * self._on_its_way

    @property
    def _stage(self) -> int:
        """Bytes of both boxes of a stage."""
        return (self.plan.tile_rows + self.plan.tile_columns) * SPAN

    @property
    def _on_its_way(self) -> int:
        """Bytes of a warp's part of the result: boxes, or a slice of the sums.

        With split-K, the results of parts are sums.
        """
        plan, size = self.plan, self._result
        if plan.tensor_stores:
            return ROWS * boxed_columns(plan, size) * size
        return OCTET * gap_of(min(SLICE_COLUMNS, plan.tile_columns)) * SLICE

    @property
    def _result(self) -> int:
        """Bytes of an element that the kernel stores."""
        return self.product.result if self.plan.splits == 1 else SLICE

    @property
    def registers(self) -> int:
        """Approximate registers of a thread at the start of a block."""
        if self.trades_registers:
            return (LEFT + self.plan.consumers * TAKEN) // (self.plan.consumers + 1)
        return self.needed

    @property
    def needed(self) -> int:
        """Approximate registers of a consumer's thread.

        Products of 8-bit floats are added to the sums from registers of their own.
        """
        return (2 if self._is_apart else 1) * self._sums + BASE_REGISTERS

    @property
    def _is_apart(self) -> bool:
        return self.product.element == 1 and not self.product.integer

    @property
    def _sums(self) -> int:
        """Sums of a consumer's thread."""
        return WARPGROUP_ROWS * self.plan.tile_columns // WARPGROUP

    @property
    def trades_registers(self) -> bool:
        """Whether the producer gives registers to the consumers (``setmaxnreg``)."""
        return self.plan.consumers == 2 and self.needed * self.plan.threads > 1 << 16

    @cached_property
    def blocks(self) -> int:
        return ceil(self.tiles / self.plan.turns)

    @property
    def down(self) -> int:
        """Tiles in a column, of all images."""
        plan, product = self.plan, self.product
        rows = product.row_axes or (product.rows,)
        return tiles_of(rows, rectangle(rows, plan.tile_rows))

    @cached_property
    def tiles(self) -> int:
        plan, product = self.plan, self.product
        across = ceil(product.columns / plan.tile_columns)
        return self.down * across * product.batch * plan.splits

    @property
    def _trips(self) -> int:
        """K tiles of a block: each lies in the last axis of terms."""
        *outer, inner = self.product.term_axes or (self.product.terms,)
        return prod(outer) * ceil(inner / self.plan.splits / self.plan.depth)

    def work(self, memory: float, reuse: float = 1.0) -> Work:
        """The work of the launch, as if each block had a tile in every turn.

        ``memory``: bytes of the device memory.  ``reuse``: a factor by which the L2
        cache delivers sectors faster than usual.
        """
        plan, product = self.plan, self.product
        trips, tiles = self._trips, self.blocks * plan.turns
        cells = plan.tile_rows * plan.tile_columns
        stage = self._stage
        read = plan.consumers * (WARPGROUP_ROWS + plan.tile_columns) * SPAN
        warps = tiles * plan.consumers * WARPGROUP // WARP
        stored = cells // WARP
        sectors = (stage * trips + cells * product.per_result) / SECTOR * tiles
        return Work(
            self.blocks,
            plan.threads,
            warps * (trips * (TRIP + self._is_apart * self._sums) + stored),
            warpgroup=tiles * cells * trips * (SPAN // HALF),
            wavefronts=tiles * trips * (stage + read) / SHARED_RATE,
            sectors=sectors,
            block_sectors=sectors / reuse,
            memory=memory,
            waits=1 + plan.turns,
            barriers=1,
        )

    def from_cache(self, device: GpuDevice) -> float:
        """The factor by which the L2 cache delivers both operands faster than usual.

        >>> from gpucodegen.tiling.machine.gpu.devices import DEVICES
        >>> plan, products = WarpgroupTiles(128, 256, 64, 2), (1024, 4096)
        >>> sizes = (Product(n, n, n, element=2) for n in products)
        >>> [WarpgroupCounts(plan, n).from_cache(DEVICES["H100"]) for n in sizes]
        [1.2, 1.0]
        """
        product = self.product
        used = product.batch * (product.rows + product.columns) * product.terms
        factors = min(used, product.read or used) * product.element
        return KEPT if factors <= HELD * device.l2 else 1.0

    def starved(self, device: GpuDevice) -> float:
        """Clocks if only the ring limited a block.

        A stage is multiplied and then refilled, which takes its time from the L2 cache
        and the latency of busy memory; all stages overlap.
        """
        plan, unit = self.plan, device.multiprocessor
        cells = plan.tile_rows * plan.tile_columns
        multiplied = cells * (SPAN // HALF) / (unit.warpgroup or unit.fma)
        copied = self._stage / unit.l2_rate + BUSY_LATENCY * device.clock
        rounds = ceil(busiest(self.blocks, device.processors) / plan.resident)
        trips = rounds * plan.turns * self._trips
        return trips * (multiplied + copied) / plan.stages

    def idle(self, device: GpuDevice) -> float:
        """Clocks in which a multiprocessor multiplies nothing.

        A block waits for its first stage, and all its warps store at once.  Blocks that
        share a multiprocessor begin together, so they wait together; but they hide the
        latency of reading the old sums.  A block with another tile refills its ring
        while it stores: the refill time, at most the store time, is saved, less the
        time of TMA writes that share the L2 rate.

        >>> from gpucodegen.tiling.machine.gpu.devices import DEVICES
        >>> plan = WarpgroupTiles(128, 256, 64, 2)
        >>> wanted = Product(4096, 4096, 4096, element=2, result=2)
        >>> ways = plan, replace(plan, turns=4)
        >>> [round(WarpgroupCounts(way, wanted).idle(DEVICES["H100"])) for way in ways]
        [42616, 24017]
        """
        plan, blocks = self.plan, busiest(self.blocks, device.processors)
        stored, behind = self._stored(device)
        ring = plan.stages * self._stage * device.processors / device.l2_rate
        ahead = (plan.turns - 1) * max(0.0, min(stored, ring) - behind)
        latency = BUSY_LATENCY * device.clock
        alone = plan.turns * latency if min(blocks, plan.resident) == 1 else 0.0
        return blocks * (latency + alone + plan.turns * stored - ahead)

    def _stored(self, device: GpuDevice) -> tuple[float, float]:
        """Clocks in which warps store a tile, and clocks of the writes behind them.

        All multiprocessors then read the old sums, if any, and write.  TMA stores
        proceed while warps go on, but parts of a tile that share boxes wait for each
        other.
        """
        plan = self.plan
        cells = plan.tile_rows * plan.tile_columns
        moved = cells * self._result * min(self.blocks, device.processors)
        parts = plan.tile_columns // boxed_columns(plan, self._result)
        behind = moved / device.l2_rate / parts if plan.tensor_stores else 0.0
        read = moved * device.clock / device.copy_bandwidth * self.product.accumulates
        awaited = moved / device.l2_rate - behind
        return read + awaited + cells // WARP * STORED / SCHEDULERS, behind


def warpgroup_tiles(
    product: Product, device: GpuDevice, *, turns: bool = True
) -> Iterator[WarpgroupTiles]:
    """The warpgroup plans of a device, those with most stages first.

    None where TMA boxes cannot hold the operands, or for devices other than sm_90.
    ``turns``: include blocks with several tiles, among them the least number with which
    all blocks are resident.
    """
    unit = device.multiprocessor
    if not product.boxes or unit.warpgroup is None:
        return
    stores = (False, True) if product.stores else (False,)
    for kind in WARPGROUPS:
        tiles = replace(kind, depth=SPAN // product.element)
        count = WarpgroupCounts(tiles, product).tiles
        for resident in (1, 2):
            all_run = ceil(count / (device.processors * resident))
            counts = sorted({1, *TURNS, all_run}) if turns else [1]
            for stages, by_tensor in product_of(range(MOST_STAGES, 1, -1), stores):
                plan = replace(
                    tiles, stages=stages, resident=resident, tensor_stores=by_tensor
                )
                if has_room(plan, product, device):
                    yield from (replace(plan, turns=n) for n in counts)


def has_room(plan: WarpgroupTiles, product: Product, device: GpuDevice) -> bool:
    """Whether the resident blocks have the registers and the shared memory they need.

    Tiles are aligned to the swizzle pattern.
    """
    unit, counts = device.multiprocessor, WarpgroupCounts(plan, product)
    room = min(unit.block_shared, unit.shared // plan.resident - SYSTEM_SHARED)
    registers = counts.registers * plan.threads * plan.resident
    fits = counts.needed <= TAKEN and registers <= 1 << 16
    return counts.shared <= room and fits


def band_heights(
    plan: WarpgroupTiles, product: Product, heights: Sequence[int]
) -> Sequence[int]:
    """Heights that all bands of tiles have, where blocks depend on it."""
    if plan.turns == 1:
        return heights
    down = WarpgroupCounts(plan, product).down
    return [height for height in heights if down % height == 0]


def may_split(plan: WarpgroupTiles, product: Product, device: GpuDevice) -> bool:
    """Whether a block has a tile for each turn, and sums of parts have room."""
    counts = WarpgroupCounts(plan, product)
    return plan.turns <= counts.tiles and has_room(plan, product, device)
