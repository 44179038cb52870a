from __future__ import annotations

from gpucodegen.tiling.machine.processor import Machine
from gpucodegen.tiling.machine.temporal_tiling import Sweep, time_cost, untiled_cost

HOST = Machine(2, second=1 << 20)
PLANE = Sweep((4094, 4094), (2, 2), 8)


def test_a_sweep_costs_more_the_less_of_it_the_shared_cache_holds():
    caches = (512 << 20, 192 << 20, 48 << 20, 0)
    costs = [
        untiled_cost(PLANE, Machine(2, second=1 << 20, shared=shared))
        for shared in caches
    ]
    assert costs == sorted(costs)
    assert costs[-1] == costs[-2]
    assert costs[1] < 0.99 * costs[2]


def test_short_rows_cost_what_it_takes_to_begin_them():
    rows = [Sweep((n, n, n), (2, 2, 2), 8) for n in (62, 254)]
    held = Machine(2, second=1 << 20, shared=1 << 40)
    short, long = (untiled_cost(sweep, held) for sweep in rows)
    assert short > 1.5 * long


def test_cut_rows_load_their_edges_again():
    assert time_cost(PLANE, (8, 8, 64), HOST) > 1.2 * time_cost(
        PLANE, (8, 8, 4094), HOST
    )


def test_steps_that_fill_all_chains_are_preferred():
    """50 steps are one round of 25 and 25, or of 48 and 2."""
    known = Sweep((4094, 4094), (2, 2), 8, steps=50)
    assert time_cost(known, (25, 8, 1024), HOST) < time_cost(known, (48, 8, 1024), HOST)


def test_a_footprint_does_not_exceed_the_plane():
    assert Sweep((100, 100), (2, 2), 8).footprint((64, 64, 64)) == 80_000


def test_cut_rows_compute_at_the_rate_of_unaligned_vectors():
    halves = time_cost(PLANE, (8, 8, 2048), Machine(1))
    assert halves > 1.6 * time_cost(PLANE, (8, 8, 4094), Machine(1))


def test_tiles_that_the_usual_steps_do_not_fill_are_not_preferred():
    """20 steps are fewer than 25, which two chains of 24 need at least."""
    sizes = ((12, 16, 1998), (24, 16, 1998))
    some, more = (time_cost(Sweep((1998, 1998), (2, 2), 8), s, HOST) for s in sizes)
    assert some < more
    twenty = Sweep((1998, 1998), (2, 2), 8, steps=20)
    assert time_cost(twenty, sizes[1], HOST) == untiled_cost(twenty, HOST)
