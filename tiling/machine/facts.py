"""Facts of processors: how their caches are built, and what parts of a kernel cost.

Not limits: sizes and costs of plans are made of them.  Each record's docstring has the
meaning, the unit and the source of its fields.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Memory:
    """Caches and memory, as all processors so far have them.

    ``line``: bytes of a cache line.  ``page``: bytes of a page: offsets in it choose
    the set of a first cache.  ``ways``: lines that such a set holds, at least.
    ``fetches``: lines that a core fetches at once (10 to 16 fill buffers).

    What a core finds again, later.  ``kept_second``: second caches of data after which
    a loop nest finds nothing of it any more.  ``kept_shared``: the part of its share of
    the common cache in which a kernel does, one divided by this; the rest holds what
    came between.  ``slow_shared``: bytes of the first cache of a core whose shared
    cache is no faster than memory: copies on an Ice Lake server with 48 MiB of it and
    1.25 MiB for each core ran, of 1 MiB at 0.7, of 8 MiB at 0.5 of the rate of
    streaming stores.
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

    Register tiles.  ``panel_bytes``: bytes of a panel that the second cache gives in a
    cycle.  ``broadcasts``: elements of the left factor in a cycle, as operands of
    smaller registers.  ``exposed_loads``, ``exposed_stream``: shares of the cycles of
    loads, and of the second cache, that multiply-adds do not hide.

    Copies, of an element.  ``copy``: of lines of an image.  ``stream``: of the left
    factor, from memory.  ``transpose``: in registers.  ``gather``: one by one.

    Tasks.  ``fetch``: multiply-adds of 32 bits that take as long as fetching an element
    from the second cache.  ``pack``: rows of a tile that take as long as packing its
    panel beside the first of them.  ``pack_stripe``: rows that take as long as packing
    a stripe.  ``fetch_rows``: columns that take as long as fetching the rows of a task.
    ``wait_even``, ``wait_uneven``, ``wait_different``: shares of a task that threads
    wait at the end, by whether these have as many tasks each, or not, or differ in how
    many cells they have.  ``add_part``: steps that take as long as adding a partial
    tile of another core.

    Inner products.  ``fold``: of a register of partial sums: two shuffles and an
    addition.  ``dot_tile``: of a tile: filling the pipeline, reading and writing the
    results.  ``dot_latency``: sums that wait for each other start that much later than
    their latency says.  ``dot_loads``: share of the loads that multiply-adds do not
    hide, since they lie across cache lines.
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
    """Costs of sweeps over a grid, measured; 1 is to move a byte from memory.

    For each byte of the arrays of a point: ``compute``, in the second cache;
    ``compute_cut``, where rows are cut: their ends are not known, so neighbours are
    loaded; ``near``, to sweep over what only the shared cache holds.  ``barrier``:
    between two waves, 3 us at 16 GB/s.  ``row``: to begin a row and to finish its last
    vectors, 15 ns.
    """

    compute: float = 0.4
    compute_cut: float = 1.0
    near: float = 0.15
    barrier: int = 48_000
    row: int = 250


SWEEP = SweepCosts()
