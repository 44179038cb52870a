"""What parts of a contraction cost a core: measured on a Zen 4 and an Ice Lake server.

Facts, not limits: plans compare sums of them.  Times are in cycles.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of register tiles, copies, inner products and tasks.

    Register tiles.  ``panel_bytes``: bytes of a panel that the second cache gives in a
    cycle.  ``broadcasts``: elements of the left factor in a cycle, as operands of
    smaller registers.  ``exposed_loads``, ``exposed_stream``: shares of the cycles of
    loads, and of the second cache, that multiply-adds do not hide.

    Copies, of an element.  ``copy``: of lines of an image.  ``stream``: of the left
    factor, from memory.  ``transpose``: in registers.  ``gather``: one by one.

    Tasks.  ``pack``: rows of a tile that take as long as packing its panel beside the
    first of them.  ``pack_stripe``: rows that take as long as packing a stripe.
    ``fetch_rows``: columns that take as long as fetching the rows of a task.
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
