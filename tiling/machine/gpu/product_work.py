"""Work of GPU contraction kernels: instruction and traffic counts from a plan.

`Counts` takes a plan and a `Product` and gives a `Work`, like executed counters do,
with the registers and shared memory of the kernel.  Instruction counts are per warp.
`tile_of` maps blocks to tiles and `memory` prices the order: concurrent blocks share
rows and columns in the L2 cache.  In bands of G rows of tiles, walked column by column,
the concurrent blocks form a rectangle of height G, which has a shorter edge than whole
rows of tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, exp

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import (
    LINE,
    SCHEDULERS,
    SECTOR,
    WARP,
    WIDEST,
    GpuDevice,
)
from gpucodegen.tiling.machine.gpu.estimate import (
    BUSY_LATENCY,
    LATENCY_MEMORY,
    Work,
    busiest,
)
from gpucodegen.tiling.machine.gpu.product_tiles import (
    STAGED,
    Candidate,
    LaneMap,
    Number,
    SharedTiles,
    Side,
    steps_of,
)
from gpucodegen.tiling.machine.gpu.shared_copies import (
    TileCopy,
    copied_width,
    tile_copy,
    wavefronts,
)

OTHERS = 20
"""Instructions per K tile besides arithmetic and memory, as compiled."""
GROUP = 6
"""Instructions for a group of copies past the registers besides one for each copy.

It is closed and waited for, and places in shared memory become numbers; as compiled.
"""
ADDRESS = 3
"""Instructions for the addresses of a copy past the registers, and of a single element.

A copy has two, neither of which may be far from what a register holds.  Elements along
the terms are those of rows, each with an address of its own.  Taps of a window at one
position have addresses that differ by constants.  As compiled.
"""
UNEVEN_ADDRESS = 20
"""Instructions for an element where K tiles do not walk the axes of K evenly.

They divide the number of a term by the axes' extents.  As compiled.
"""
BASE_REGISTERS = 36
"""Registers besides sums and operands: addresses and data in flight."""
WIDE_REGISTERS = 12
"""More of them where an element takes two, as compiled."""
REGISTER = 4
"""Bytes of a register."""


@dataclass(frozen=True, slots=True)
class Product:
    """``batch`` results of ``rows x columns``, each element a sum of ``terms``.

    ``element``: bytes of each in registers and in shared memory.  ``turned``: whether A
    and B are contiguous along K in memory; ``widths``: their elements per access;
    ``direct``: whether `cp.async` can copy them. ``plain``: a product of matrices of
    known extents, so these are all that is read.  ``integer``: elements are integers,
    or words of narrow ones.

    ``result``: bytes of an element of the result that is stored; ``accumulates``:
    whether the sums begin with old results, which are read.

    ``fragments``: the product as tensor cores compute it, if they do; there, ``passes``
    has the tensor-core products per product, ``boxes`` whether TMA copies can bring
    both operands, and ``stores`` whether they can store the result. ``row_axes``,
    ``term_axes``: extents of the axes of rows and K, if known. ``read``: elements of
    the operands' arrays, if known; windows use some several times. ``lines``: terms of
    each operand that are contiguous, 0 where all of them are.
    """

    rows: int
    columns: int
    terms: int
    batch: int = 1
    element: int = 4
    turned: tuple[bool, bool] = (True, False)
    widths: tuple[int, int] = (4, 4)
    direct: tuple[bool, bool] = (False, False)
    plain: bool = True
    integer: bool = False
    fragments: Product | None = None
    result: int = 4
    accumulates: bool = True
    passes: int = 1
    boxes: bool = False
    stores: bool = False
    row_axes: tuple[int, ...] = ()
    term_axes: tuple[int, ...] = ()
    read: int | None = None
    lines: tuple[int, int] = (0, 0)

    @property
    def per_result(self) -> int:
        """Bytes that move between memory and a result: a write, and perhaps a read."""
        return self.result * (1 + self.accumulates)

    @property
    def results(self) -> int:
        """Bytes that all results move."""
        return self.batch * self.rows * self.columns * self.per_result


def rounds_of(blocks: int, resident: int, device: GpuDevice) -> int:
    """The number of waves of resident blocks on a multiprocessor."""
    return ceil(busiest(blocks, device.processors) / resident)


def begun_and_ended(product: Product, rounds: int, device: GpuDevice) -> float:
    """Clocks without multiplications: first stages, and last results.

    Blocks of a multiprocessor start together.  Nothing hides the reads and writes of
    the last results.
    """
    last = product.results / rounds / device.copy_bandwidth
    return (rounds * BUSY_LATENCY + last) * device.clock


def blocks_of_plan(plan: Candidate, product: Product) -> int:
    down = ceil(product.rows / plan.tile_rows)
    across = ceil(product.columns / plan.tile_columns)
    return down * across * product.batch * plan.splits


def operand_copies(
    make: Callable[..., TileCopy],
    plan: Candidate,
    product: Product,
    widths: Sequence[int],
) -> tuple[TileCopy, TileCopy]:
    """Copies of A and B to shared memory; ``widths``: most elements of an access."""
    sizes = plan.tile_rows, plan.tile_columns
    rows, columns = (
        make(size, plan.depth, plan.threads, turned, width, product.element)
        for size, turned, width in zip(sizes, product.turned, widths, strict=True)
    )
    return rows, columns


@dataclass(frozen=True, slots=True)
class Counts:
    """The work and the resources of a plan for a problem."""

    plan: SharedTiles
    product: Product

    @property
    def copies(self) -> tuple[TileCopy, TileCopy]:
        """The copies of both operands to shared memory."""
        plan, product = self.plan, self.product
        sides = zip(product.widths, product.turned, plan.direct, strict=True)
        widths = [copied_width(w, turned=t, is_direct=d) for w, t, d in sides]
        return operand_copies(tile_copy, plan, product, widths)

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block."""
        lead = sum(copy.lead for copy in self.copies)
        return self.plan.stages * self.plan.depth * lead * self.product.element

    @property
    def registers(self) -> int:
        """Approximate registers of a thread."""
        plan, words = self.plan, self.product.element // REGISTER or 1
        rows, columns = plan.thread_rows, plan.thread_columns
        factors = 3 * (rows + columns) // 2
        base = BASE_REGISTERS + WIDE_REGISTERS * (words - 1)
        return (rows * columns + factors) * words + base

    @property
    def blocks(self) -> int:
        return blocks_of_plan(self.plan, self.product)

    def idle(self, device: GpuDevice) -> float:
        """Clocks without multiplications, for comparison with tensor-core plans.

        Plans of plain threads are compared with each other without them.
        """
        if self.product.fragments is None:
            return 0.0
        rounds = rounds_of(self.blocks, self.plan.resident, device)
        return begun_and_ended(self.product, rounds, device)

    def work(self, memory: float) -> Work:
        """The work of the whole launch, of which `memory` counts the bytes.

        After a barrier, stage numbers and the first loads of shared memory take as long
        as the barrier, each. Data from beyond the L1 cache passes the same memory, a
        line at a time.
        """
        plan, product = self.plan, self.product
        trips = ceil(product.terms / plan.splits / plan.depth)
        warps = self.blocks * ceil(plan.threads / WARP)
        products = plan.depth * plan.thread_rows * plan.thread_columns
        loads, turns = self._shared_accesses()
        copied, stored = self._copies()
        each = products + loads + copied + OTHERS
        kind = "double" if product.element > REGISTER else "fma"
        kind = "integer" if product.integer else kind
        cells = plan.tile_rows * plan.tile_columns
        results = 2 * cells * product.element / SECTOR
        sectors = self.blocks * (self._touched(SECTOR) * trips + results)
        passing = self.blocks * trips * self._touched(LINE)
        return Work(
            self.blocks,
            plan.threads,
            warps * trips * each,
            wavefronts=warps * trips * (turns + stored) + passing,
            sectors=sectors,
            block_sectors=sectors,
            memory=memory,
            waits=2 + trips * self._waits(each),
            barriers=3 * trips,
            abreast=True,
            **{kind: warps * trips * products},
        )

    def _shared_accesses(self) -> tuple[int, int]:
        """Loads of a warp per K tile, and their wavefronts."""
        lanes, size = LaneMap.of(self.plan), self.product.element
        places = [lanes.place(lane) for lane in range(min(WARP, self.plan.threads))]
        owners = list(zip(*places, strict=True))
        loads = turns = 0
        for side, own in zip((lanes.rows, lanes.columns), owners, strict=True):
            pieces, width = _pieces(side, size)
            loads += side.quads * pieces
            starts = [lane * side.quad * size for lane in own]
            turns += side.quads * pieces * wavefronts(starts, width)
        return self.plan.depth * loads, self.plan.depth * turns

    def _copies(self) -> tuple[int, int]:
        """Instructions of a warp for the copies of a K tile, and wavefronts."""
        product, direct = self.product, self.plan.direct
        size, axes = product.element, product.term_axes
        is_even = not axes or steps_of(axes, self.plan.depth) is not None
        instructions = GROUP * any(direct)
        turns = 0
        for copy, is_direct, line in zip(
            self.copies, direct, product.lines, strict=True
        ):
            stores = copy.width if copy.along_depth else 1
            each = 1 if is_direct else 1 + stores
            is_single, is_turned = copy.width == 1, copy.along_depth
            is_of_taps = is_single and not is_turned and len(axes) > 1
            is_apart = is_direct or (is_turned and is_single)
            address = ADDRESS if is_apart and not is_of_taps else 0
            address = UNEVEN_ADDRESS if line and not is_even else address
            instructions += copy.per_thread * (each + address)
            turns += copy.per_thread * copy.turns(size)
        return instructions, turns

    def _touched(self, unit: int) -> float:
        """Sectors or lines that a block requests per K tile."""
        size = self.product.element
        return sum(
            copy.touched(unit, size, width * size)
            for copy, width in zip(self.copies, self.product.widths, strict=True)
        )

    def _waits(self, instructions: int) -> float:
        """Stalls of a warp for memory per K tile of so many instructions.

        Copies through registers come in pieces, each hidden by a part of the terms.
        Asynchronous copies are in flight for ``stages - 1`` K tiles.  Load latencies
        vary: arrivals are modelled as random.
        """
        plan, pieces = self.plan, 0
        for copy, is_direct in zip(self.copies, plan.direct, strict=True):
            chunks = max(1, STAGED // copy.width)
            pieces += 0 if is_direct else ceil(copy.per_thread / chunks)
        slow = self.product.element // REGISTER or 1
        clocks = slow * instructions * ceil(plan.threads / WARP / SCHEDULERS)
        if not pieces:
            return exp(-clocks * (plan.stages - 1) / LATENCY_MEMORY)
        return pieces * exp(-clocks / pieces / LATENCY_MEMORY)


def _pieces(side: Side, element: int) -> tuple[int, int]:
    """Accesses for a quad, and their bytes."""
    size = side.quad * element
    return max(1, size // WIDEST), min(size, WIDEST)


def partial_sums(product: Product, splits: int) -> Work:
    """The second kernel, which adds the partial sums of split-K."""
    cells = product.rows * product.columns * product.batch
    vectors = cells // 4
    warps = ceil(vectors / WARP)
    memory = (splits + 2) * cells * product.element
    return Work(
        ceil(warps / 8),
        256,
        warps * (8 * splits + OTHERS),
        sectors=memory / SECTOR,
        block_sectors=memory / SECTOR,
        memory=memory,
        waits=1,
    )


HELD = 0.6
"""Share of the L2 cache that inputs may fill and still stay there; an assumption."""
GROUPS = (1, 2, 4, 8, 16)
"""Heights of bands that are tried."""


def tile_of(block: Number, across: int, group: int) -> tuple[Number, Number]:
    """The row and the column of a block's tile; ``across`` tiles lie side by side.

    >>> [tile_of(block, 3, 2) for block in range(7)]
    [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 0)]
    """
    band, within = block // (across * group), block % (across * group)
    return band * group + within % group, within // group


def blocks_of(down: int, across: int, group: int) -> int:
    """Blocks of the grid; blocks below the last row of tiles have no tile.

    >>> blocks_of(5, 3, 2)
    18
    """
    return ceil(down / group) * group * across


def memory(
    plan: Candidate, product: Product, device: GpuDevice, *, group: int = 0
) -> float:
    """Bytes that the device memory moves, given the reuse in the L2 cache.

    Operands that fit the cache are read once.  Otherwise the concurrent blocks of each
    moment read their rows and columns once.  ``group``: the height of bands in place of
    the plan's.

    >>> from dataclasses import replace
    >>> from gpucodegen.tiling.machine.gpu.devices import DEVICES
    >>> from gpucodegen.tiling.machine.gpu.product_tiles import SharedTiles
    >>> plan, product = SharedTiles(128, 128, 16, 8, 8), Product(8192, 8192, 8192)
    >>> grouped = replace(plan, resident=2, group=16)
    >>> plain, less = (
    ...     memory(each, product, DEVICES["H100"])
    ...     for each in (replace(plan, resident=2), grouped)
    ... )
    >>> round(less / plain, 2)
    0.53
    """
    each = product.element
    used = product.batch * (product.rows + product.columns) * product.terms
    factors = min(used, product.read or used) * each
    if product.plain and factors > HELD * device.l2:
        down = ceil(product.rows / plan.tile_rows)
        across = ceil(product.columns / plan.tile_columns)
        running = min(down * across, device.processors * max(1, plan.resident))
        group = group or plan.group
        bands = ceil(running / (group * across))
        high = min(down, group * bands)
        wide = min(across, ceil(running / group))
        edge = high * plan.tile_rows + wide * plan.tile_columns
        moments = down * across / running
        factors = max(factors, moments * edge * product.terms * each)
    return factors + product.results
