"""Work of tensor-core kernels with ``mma.sync``: counts and resources of `WarpTiles`.

`FragmentCounts` counts like `product_work` for other kernels.  A row of a fragment in
shared memory is 16 bytes; an instruction multiplies ``16 x 8`` elements by 32 bytes of
terms.  Both operands lie in shared memory in the order of global memory: a tile has one
row per position or one per term, padded such that the rows of a fragment lie in
different banks.
"""

from __future__ import annotations

from math import ceil, prod

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import LINE, SECTOR, WARP, WIDEST, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import BUSY_LATENCY, Work
from gpucodegen.tiling.machine.gpu.product_tiles import WarpTiles
from gpucodegen.tiling.machine.gpu.product_work import (
    GROUP,
    OTHERS,
    Product,
    begun_and_ended,
    blocks_of_plan,
    operand_copies,
    rounds_of,
)
from gpucodegen.tiling.machine.gpu.shared_copies import (
    DOUBLE,
    OCTET,
    TileCopy,
    fragment_copy,
)

ROWS, COLUMNS = 16, 8
"""Elements of the result of one instruction."""
SLICE = 4
"""Bytes of a sum that is stored through shared memory; twice that for f64."""
BASE_REGISTERS = 44
"""Registers besides sums and fragments: addresses and data in flight."""


def terms_of(element: int) -> int:
    """Terms of one instruction, for an element size in bytes.

    >>> [terms_of(size) for size in (1, 2, 4, 8)]
    [32, 16, 8, 4]
    """
    return 2 * WIDEST // element


def gap_of(columns: int) -> int:
    """The padded row stride of sums in shared memory, in elements of 4 or 8 bytes.

    The four rows that half a warp stores lie in different banks, and so do the two of a
    quarter that stores elements of 8 bytes.

    >>> gap_of(64), gap_of(32)
    (72, 40)
    """
    return columns + next(n for n in range(0, 32, 4) if (columns + n) % 32 in (8, 24))


def slice_shape(plan: WarpTiles) -> tuple[int, int]:
    """Rows of sums that are in shared memory at once, and their stride.

    >>> slice_shape(WarpTiles(128, 64, 32, 64, 32))
    (16, 72)
    """
    return plan.tile_rows // plan.warp_rows * OCTET, gap_of(plan.tile_columns)


@dataclass(frozen=True, slots=True)
class FragmentCounts:
    """The work and the resources of a plan; ``product`` has the fragments' elements."""

    plan: WarpTiles
    product: Product

    @property
    def copies(self) -> tuple[TileCopy, TileCopy]:
        """The copies of both operands to shared memory."""
        plan, product = self.plan, self.product
        return operand_copies(fragment_copy, plan, product, product.widths)

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block: stages, and a slice of the sums."""
        plan = self.plan
        stage = sum(copy.cells for copy in self.copies) * self.product.element
        sums = prod(slice_shape(plan)) * SLICE * self._words
        return plan.stages * stage + sums

    @property
    def registers(self) -> int:
        """Approximate registers of a thread."""
        down, across = self._fragments
        sums = down * across * 4 * self._words
        return sums + down * 4 + across * 2 + BASE_REGISTERS

    @property
    def is_uneven(self) -> bool:
        """Whether the line of each K tile has to be computed.

        Otherwise the lines of one round, a K tile per stage, are computed at once.
        """
        plan = self.plan
        rounds = plan.depth * plan.stages if all(plan.direct) else plan.depth
        return any(line % rounds for line in self.product.lines)

    @property
    def is_double(self) -> bool:
        return self.product.element == DOUBLE

    @property
    def _words(self) -> int:
        """Registers of a sum."""
        return 2 if self.is_double else 1

    @property
    def _fragments(self) -> tuple[int, int]:
        """Fragments of a warp's rows, and of its columns."""
        return self.plan.warp_rows // ROWS, self.plan.warp_columns // COLUMNS

    @property
    def blocks(self) -> int:
        return blocks_of_plan(self.plan, self.product)

    def work(self, memory: float) -> Work:
        """The work of the whole launch, of which `memory` counts the bytes."""
        plan, product = self.plan, self.product
        trips = self._trips
        warps = self.blocks * ceil(plan.threads / WARP)
        steps = plan.depth // terms_of(product.element)
        down, across = self._fragments
        tiles = steps * (down + across // 2)
        loads = tiles * self._words
        products = steps * down * across
        copied, stored = self._copies()
        each = products * product.passes + loads + copied + OTHERS
        cells = plan.tile_rows * plan.tile_columns
        bytes_ = self._stage * trips + cells * product.per_result
        sectors = self.blocks * bytes_ / SECTOR
        tensor, doubles = self._arithmetic(cells * plan.depth * trips)
        return Work(
            self.blocks,
            plan.threads,
            warps * trips * each,
            wavefronts=warps * trips * (4 * tiles + stored)
            + self.blocks * trips * self._lines(),
            sectors=sectors,
            block_sectors=sectors,
            memory=memory,
            waits=2,
            barriers=2 * trips,
            tensor=tensor,
            double_tensor=doubles,
        )

    def starved(self, device: GpuDevice) -> float:
        """Clocks if only the copies to the stages limited a block.

        Each K tile starts the copy of a later one.  All stages but one may be in
        flight, each with the latency of busy memory and its share of the L2 cache.
        """
        way = self._stage * device.processors / device.l2_rate
        arrival = way + BUSY_LATENCY * device.clock
        trips = self._rounds(device) * self._trips
        return trips * arrival / (self.plan.stages - 1)

    def idle(self, device: GpuDevice) -> float:
        """Clocks without multiplications."""
        return begun_and_ended(self.product, self._rounds(device), device)

    def _rounds(self, device: GpuDevice) -> int:
        """The number of waves of resident blocks on a multiprocessor."""
        return rounds_of(self.blocks, self.plan.resident, device)

    @property
    def _trips(self) -> int:
        """K tiles of a block."""
        return ceil(self.product.terms / self.plan.splits / self.plan.depth)

    @property
    def _stage(self) -> int:
        """Bytes of both operands' tiles."""
        plan = self.plan
        elements = (plan.tile_rows + plan.tile_columns) * plan.depth
        return elements * self.product.element

    def _lines(self) -> float:
        """L1 lines that a block's copies of both tiles pass."""
        size = self.product.element
        return sum(
            copy.touched(LINE, size, width * size)
            for copy, width in zip(self.copies, self.product.widths, strict=True)
        )

    def _arithmetic(self, terms: int) -> tuple[float, float]:
        """Multiply-adds of tensor cores for all sums: 16-bit ones, and doubles."""
        product = self.product
        if self.is_double:
            return 0.0, float(self.blocks * terms)
        return self.blocks * terms * product.element / 2 * product.passes, 0.0

    def _copies(self) -> tuple[int, int]:
        """Instructions of a warp for the copies of a K tile, and wavefronts."""
        size, direct = self.product.element, self.plan.direct
        instructions = GROUP * any(direct)
        turns = 0
        for copy, is_direct in zip(self.copies, direct, strict=True):
            stores = copy.width if copy.is_turned else 1
            instructions += copy.per_thread * (1 if is_direct else 1 + stores)
            turns += copy.per_thread * copy.turns(size)
        return instructions, turns
