"""Loops within loops, and the order in which lanes that took other ways run."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucodegen.ptx.control_flow import nesting
from tests.ptx.kernels import GLOBAL_ID, entry, launch

GRAPHS = st.integers(1, 9).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, size), min_size=1, max_size=2),
        min_size=size,
        max_size=size,
    )
)


def cyclic(after: list[list[int]], without: set[int]) -> bool:
    """Whether some blocks reach themselves without going through some others."""
    left = set(range(len(after))) - without
    while True:
        leaves = {n for n in left if not left.intersection(after[n])}
        if not leaves:
            return bool(left)
        left -= leaves


@pytest.mark.sampled(10)
@given(GRAPHS)
def test_any_graph(after: list[list[int]]) -> None:
    found = nesting(after)
    place = {block: at for at, block in enumerate(found.order)}
    assert sorted(place) == list(range(len(after)))
    for loop in found.loops:
        places = sorted(place[block] for block in loop.blocks)
        assert all(b == a + 1 for a, b in pairwise(places))
        assert places[0] == place[loop.header]
        for other in found.loops:
            both = loop.blocks & other.blocks
            assert both in (set(), loop.blocks, other.blocks)
    headers = {loop.header for loop in found.loops}
    assert len(headers) == len(found.loops)
    assert not cyclic(after, headers)
    for number, targets in enumerate(after):
        for target in targets:
            is_back = target in place and place[target] <= place[number]
            around = [x for x in found.loops if x.header == target]
            assert not is_back or any(number in loop.blocks for loop in around)


EARLY_LATCH = entry(
    "u64",
    GLOBAL_ID
    + """
    ld.param.u64 %d1, [k_0]; mov.u32 %r5, 0; mov.u32 %r6, 0; bra.uni $OUTER;
$LATCH: add.s32 %r5, %r5, 1; setp.eq.s32 %p1, %r5, 4; @%p1 bra $DONE;
$OUTER: add.s32 %r7, %r1, %r5; and.b32 %r7, %r7, 31;
$INNER: add.s32 %r6, %r6, %r7; sub.s32 %r7, %r7, 1;
    setp.lt.s32 %p2, %r7, 0; @%p2 bra $LATCH; bra.uni $INNER;
$DONE: mul.wide.s32 %d2, %r4, 4; add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r6; ret;""",
)
"""Four trips of a loop around one of 1 to 32 trips; its latch stands before that."""


def test_lanes_of_fewer_trips_wait_where_the_loop_ends() -> None:
    """Each time the warp makes the 32 trips of its longest lane, as on a GPU."""
    out = np.zeros(32, "i4")
    run = launch(EARLY_LATCH, 1, 32, out, measure=True)
    lanes = np.arange(32)
    trips = (lanes[:, None] + np.arange(4)) % 32
    assert out.tolist() == (trips * (trips + 1) // 2).sum(1).tolist()
    assert run.counters is not None
    program = run.launch.program
    inner = program.block_at[program.entry.labels["$INNER"]]
    assert run.counters.warps[inner] == 4 * 32
