"""CPU model: threads, vector unit and caches of the processor that plans target.

`Machine` answers the questions of plans: whether data stays in a cache
(`Machine.fits`), is streamed from memory (`Machine.streams`), and whether work pays for
waking threads (`Machine.pays_threads`).  `Memory`, `Costs` and `SweepCosts` hold
measured costs, not limits; the docstring of each record has the meaning, the unit and
the source of its fields.
"""

from __future__ import annotations

from dataclasses import field, replace
from enum import Enum
from math import gcd

from gpucodegen.records import dataclass

HELD = {(512, 32): 0.5, (256, 16): 0.0, (128, 32): 1.0}
"""Share of a step's broadcasts that wait in registers, by their bits and number.

With AVX-512 9x3, 7x4 and 3x8 vectors spill and run at half the rate of 8x3 and 6x4 (5x5
and 4x6 do if they prefetch); with AVX2 4x3 and 6x2 do not, 7x2 do; on ARM 6x4 do, 7x3
and 5x4 do not.
"""
FEWEST_LANES = 4
"""The fewest contiguous elements for which a vector pays."""
IN_FLIGHT = 1.5
"""Most accumulators of a sum, in units of those that hide the latency."""


@dataclass(frozen=True, slots=True)
class VectorUnit:
    """The vector unit of a core: register width and count, issue rates per cycle.

    ``narrowest``: bits of the narrowest integers of which it multiplies several per
    32-bit word.
    """

    bits: int = 256
    registers: int = 16
    fma_per_cycle: int = 2
    latency: int = 4
    narrowest: int = 32

    @property
    def loads_per_cycle(self) -> int:
        """Loads and broadcasts of a register: 64 bytes, in two loads at most.

        >>> VectorUnit(512, 32).loads_per_cycle, VectorUnit(256).loads_per_cycle
        (1, 2)
        """
        return min(2, 512 // self.bits)

    @property
    def products_per_cycle(self) -> int:
        """Multiply-adds of registers per cycle: at least as many bytes as are loaded.

        >>> VectorUnit(512, 32).products_per_cycle, VectorUnit().products_per_cycle
        (1, 2)
        """
        return min(self.fma_per_cycle, self.loads_per_cycle)

    def held(self, rows: int) -> int:
        """Registers of scalars of A that are loaded before their use.

        >>> [VectorUnit(*unit).held(6) for unit in ((512, 32), (256, 16), (128, 32))]
        [3, 0, 6]
        """
        return int(rows * HELD.get((self.bits, self.registers), 0.5))

    def accumulators(self, rows: int, row_bits: int) -> int:
        """Registers that each sum of a tile is split between (accumulator splitting).

        A power of two, such that about all multiply-adds issued within one latency are
        of different registers.

        >>> [VectorUnit(512, 32).accumulators(rows, 512) for rows in (1, 2, 4)]
        [4, 2, 1]
        >>> [VectorUnit(512, 32).accumulators(rows, 200) for rows in (1, 3, 7)]
        [8, 4, 1]
        """
        unit = self.holding(row_bits)
        products = rows * -(-row_bits // unit.bits)
        most = IN_FLIGHT * unit.latency * unit.products_per_cycle // products
        return 1 << max(0, int(most).bit_length() - 1)

    @property
    def halved(self) -> VectorUnit:
        """The unit with the registers that remain for sums beside as many products.

        >>> VectorUnit(512, 32).halved.registers
        16
        """
        return replace(self, registers=self.registers // 2)

    def holding(self, bits: int) -> VectorUnit:
        """The unit with the smallest power-of-two registers that hold so many bits.

        >>> VectorUnit(512, 32).holding(96).bits, VectorUnit(512, 32).holding(5000).bits
        (128, 512)
        """
        return replace(self, bits=min(self.bits, 1 << (bits - 1).bit_length()))

    def lanes(self, element_bits: int) -> int:
        """Elements in one register.

        >>> VectorUnit(512, 32).lanes(32)
        16
        """
        return self.bits // element_bits


@dataclass(frozen=True, slots=True)
class Memory:
    """Properties of caches and memory that are common to current processors.

    ``line``: bytes of a cache line.  ``page``: bytes of a page, whose offsets select
    the set of an L1 cache.  ``ways``: lines that such a set holds, at least.
    ``fetches``: lines that a core fetches at once (10 to 16 fill buffers).

    Data that a core finds again later.  ``kept_second``: L2 sizes of data after which a
    loop nest finds none of it any more.  ``kept_shared``: the divisor of the core's
    share of the L3 cache that a kernel can count on; the rest holds data of other code.
    ``slow_shared``: bytes of the L1 cache of a core whose L3 cache is no faster than
    memory: copies on an Ice Lake server with 48 MiB of it and 1.25 MiB for each core
    ran, of 1 MiB at 0.7, of 8 MiB at 0.5 of the rate of streaming stores.
    """

    line: int = 64
    page: int = 1 << 12
    ways: int = 8
    fetches: int = 16
    kept_second: int = 4
    kept_shared: int = 2
    slow_shared: int = 48 << 10


MEMORY = Memory()


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of a contraction's register tiles, copies, inner products and tasks.

    In cycles, measured on a Zen 4 and an Ice Lake server.

    Register tiles.  ``panel_bytes``: bytes of a panel per cycle from the L2 cache.
    ``broadcasts``: elements of A per cycle, as operands of smaller registers.
    ``exposed_loads``, ``exposed_stream``: shares of the cycles of loads, and of the L2
    cache, that multiply-adds do not hide.

    Copies, per element.  ``copy``: of lines of an image.  ``stream``: of A, from
    memory.  ``transpose``: in registers.  ``gather``: one by one.

    Tasks.  ``fetch``: 32-bit multiply-adds that take as long as fetching an element
    from the L2 cache.  ``pack``: rows of a tile that take as long as packing its panel
    beside the first of them.  ``pack_stripe``: rows that take as long as packing a
    stripe.  ``fetch_rows``: columns that take as long as fetching the rows of a task.
    ``wait_even``, ``wait_uneven``, ``wait_different``: shares of a task that threads
    wait at the end, where they have equally many tasks, where not, and where tasks
    differ in their cells.  ``add_part``: steps that take as long as adding a partial
    tile of another core.

    Inner products.  ``fold``: the horizontal sum of a register: two shuffles and an
    addition.  ``dot_tile``: per tile: filling the pipeline, reading and writing the
    results.  ``dot_latency``: factor on the latency of dependent sums.  ``dot_loads``:
    share of the loads that multiply-adds do not hide, since they cross cache lines.
    """

    panel_bytes: int = 40
    broadcasts: float = 1.5
    exposed_loads: float = 0.1
    exposed_stream: float = 0.05
    copy: float = 0.4
    stream: float = 0.3
    transpose: float = 1
    gather: float = 2
    fetch: int = 5
    pack: int = 4
    pack_stripe: int = 24
    fetch_rows: int = 16
    add_part: int = 16
    fold: int = 3
    dot_tile: int = 12
    dot_latency: float = 1.25
    dot_loads: float = 0.5
    wait_even: float = 0.25
    wait_uneven: float = 0.5
    wait_different: float = 3


COSTS = Costs()
"""The costs of every processor so far: only vector units and caches differ."""


@dataclass(frozen=True, slots=True)
class SweepCosts:
    """Measured costs of sweeps over a grid; the unit is moving one byte from memory.

    For each byte of the arrays of a point: ``compute``, in the L2 cache;
    ``compute_cut``, where rows are cut, so that neighbours have to be loaded; ``near``,
    sweeps over data in the L3 cache.  ``barrier``: between two waves, 3 us at 16 GB/s.
    ``row``: to begin a row and to finish its last vectors, 15 ns.
    """

    compute: float = 0.4
    compute_cut: float = 1.0
    near: float = 0.15
    barrier: int = 48_000
    row: int = 250


SWEEP = SweepCosts()


class Level(Enum):
    """A cache level of a core."""

    FIRST = "first"
    SECOND = "second"


class Share(Enum):
    """The part of a cache that data may fill and still be found there."""

    WHOLE = 1.0
    """Nothing else passes through the cache in between."""
    NEARLY = 0.8
    """Little else passes through it: some panels."""
    MOST = 0.65
    """The rest is for what streams past."""
    HALF = 0.5
    """As much of something else stays beside it."""
    QUARTER = 0.25
    """More than that stays beside it."""


CACHE_LINE = 64
"""Bytes that caches exchange, which no two threads should write at a time."""
PARALLEL_WORK = 2_000_000
"""Multiply-adds of 32 bits below which waking threads costs more than they save."""
AWAKE = 4
"""Divisor of `PARALLEL_WORK` for threads that are awake already."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor, as far as plans depend on it.

    ``first``, ``second``: bytes of L1 data and L2 cache of a core.  ``kept``: bytes
    after whose use a core still finds data in some cache (`kept_bytes`). ``shared``:
    bytes of the L3 cache that all cores share, 0 where unknown.
    """

    threads: int = 2
    unit: VectorUnit = field(default_factory=VectorUnit)
    second: int = 1 << 20
    first: int = 1 << 15
    kept: int = 1 << 22
    shared: int = 0

    def room(self, level: Level, share: Share = Share.WHOLE) -> int:
        """Bytes of a share of a cache.

        >>> Machine().room(Level.SECOND, Share.HALF) >> 10
        512
        """
        size = self.first if level is Level.FIRST else self.second
        return int(size * share.value)

    def fits(self, size: int, level: Level, share: Share = Share.WHOLE) -> bool:
        """Whether data of this size stays in a share of a cache.

        >>> machine = Machine(second=1 << 20)
        >>> [machine.fits(600_000, Level.SECOND, s) for s in (Share.MOST, Share.HALF)]
        [True, False]
        """
        return size <= self.room(level, share)

    def streams(self, size: int) -> bool:
        """Whether data of this size is read from memory each time, and written there.

        >>> [Machine(kept=4 << 20).streams(size << 20) for size in (1, 16)]
        [False, True]
        """
        return size > self.kept

    @property
    def ways(self) -> int:
        """Lines that a set of the L1 cache holds, if a page's offset selects the set.

        >>> Machine(first=48 << 10).ways
        12
        """
        return self.first // MEMORY.page

    def pays_threads(self, work: float, *, awake: bool = False) -> bool:
        """Whether so many 32-bit multiply-adds pay for waking threads.

        ``awake``: the threads are running already.

        >>> [Machine().pays_threads(600_000, awake=awake) for awake in (False, True)]
        [False, True]
        """
        return work >= PARALLEL_WORK // (AWAKE if awake else 1)

    def threads_for(self, work: float) -> int:
        """The number of threads that so many 32-bit multiply-adds pay for.

        >>> Machine(4).threads_for(1_000), Machine(4).threads_for(1 << 30)
        (1, 4)
        """
        return self.threads if self.pays_threads(work) else 1


def kept_bytes(second: int, shared: int = 0, first: int = MEMORY.slow_shared) -> int:
    """Bytes that a core may touch and still find its data in a cache.

    ``second``: bytes of a core's L2 cache.  ``shared``: bytes of the L3 cache that the
    threads of a kernel may use, 0 where unknown. ``first``: bytes of the L1 cache,
    which identify a core whose L3 cache is slow.

    On a Zen 4 whose two cores share 32 MiB, doubled copies of f32 in one thread run at
    1.5 of it at 4 MiB, 1.5 at 8, 1.2 at 11, 1.0 at 16, 0.9 at 22, and 0.7 at 50; in two
    at 1.4 at 4 MiB and 8, 1.4 at 11, 1.25 at 16, 1.2 at 22, 0.9 at 32. Transposed ones
    in one thread at 1.0 at 8 MiB, 0.8 at 11; in two at 1.4 at 11 and 1.0 at 16.  While
    others use the cache, all of this holds for half as much.

    >>> kept_bytes(1 << 20, 32 << 20, 1 << 15) == 16 << 20
    True
    >>> kept_bytes(5 << 18, 48 << 20, 3 << 14) == 5 << 20
    True
    """
    near = MEMORY.kept_second * second
    slow = first >= MEMORY.slow_shared
    return near if slow else max(near, shared // MEMORY.kept_shared)


def clashes(lines: int, stride: int) -> bool:
    """Whether lines ``stride`` bytes apart conflict in sets of the L1 cache.

    lines / (different sets that they fall into) > ways; they evict each other.

    >>> clashes(16, 4096), clashes(16, 4160)
    (True, False)
    """
    return lines * gcd(stride, MEMORY.page) > MEMORY.ways * MEMORY.page


def product_work(extents: tuple[int, int, int], outer: int, element_bits: int) -> int:
    """The work of products that threads share, in 32-bit multiply-adds or fetches.

    ``extents``: rows, columns and steps of a product, of which there are ``outer``.

    >>> product_work((100, 100, 100), 1, 32), product_work((100, 1, 100), 1, 64)
    (1000000, 102000)
    """
    rows, columns, steps = extents
    elements = rows * steps + steps * columns + rows * columns
    each = max(rows * columns * steps, COSTS.fetch * elements)
    return outer * each * element_bits // 32
