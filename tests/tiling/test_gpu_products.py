"""Plans of products on a GPU: what is counted before is what a device executes."""

from __future__ import annotations

from itertools import product as every_of
from math import ceil, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucodegen.ptx.execution import cost
from gpucodegen.tiling.machine.gpu.devices import portable_shared
from gpucodegen.tiling.machine.gpu.product_plan import (
    DEFAULT,
    fitted,
    plan_contraction,
)
from gpucodegen.tiling.machine.gpu.product_tiles import (
    CANDIDATES,
    WARPGROUPS,
    LaneMap,
    SharedTiles,
    rectangle,
    tiles_of,
)
from gpucodegen.tiling.machine.gpu.product_work import Counts, Product, memory
from gpucodegen.tiling.machine.gpu.shared_copies import tile_copy, wavefronts
from gpucodegen.tiling.machine.gpu.warpgroups import WarpgroupCounts


@pytest.mark.slow
@given(
    st.sampled_from([4, 8, 16]),
    st.lists(st.integers(0, 255), min_size=32, max_size=32),
    st.sampled_from([0, 1, 2]),
)
def test_turns_are_those_that_the_emulated_device_counts(
    width: int, words: list[int], shared: int
) -> None:
    lanes = [words[lane & ~shared] * width for lane in range(32)]
    assert wavefronts(lanes, width) == cost.wavefronts(np.array([lanes]), width)


@pytest.mark.cases("plan", CANDIDATES)
def test_threads_share_out_the_tile(plan: SharedTiles) -> None:
    lanes = LaneMap.of(plan)
    rows, columns = lanes.rows, lanes.columns
    group = rows.lanes * columns.lanes
    owned: list[tuple[int, int]] = []
    for thread in range(plan.threads):
        row, column = lanes.place(thread % group)
        down, across = divmod(thread // group, lanes.across)
        owned += [
            (
                down * rows.span + (q * rows.lanes + row) * rows.quad + r,
                across * columns.span + (p * columns.lanes + column) * columns.quad + c,
            )
            for q in range(rows.quads)
            for p in range(columns.quads)
            for r in range(rows.quad)
            for c in range(columns.quad)
        ]
    every = {(r, c) for r in range(plan.tile_rows) for c in range(plan.tile_columns)}
    assert len(owned) == len(every)
    assert set(owned) == every


@pytest.mark.cases("along_depth", [False, True])
@pytest.mark.cases("width", [1, 2, 4])
@pytest.mark.cases("plan", CANDIDATES)
def test_chunks_share_out_the_tile(
    plan: SharedTiles, width: int, along_depth: bool
) -> None:
    size, depth = plan.tile_rows, plan.depth
    copy = tile_copy(size, depth, plan.threads, along_depth, width, 4)
    step = (1, 0) if along_depth else (0, 1)
    places = [
        (term + n * step[0], at + n * step[1])
        for term, at in map(copy.place, range(copy.chunks))
        for n in range(copy.width)
    ]
    assert sorted(places) == [(k, p) for k in range(depth) for p in range(size)]
    assert copy.lead >= size


@pytest.mark.cases("element", [4, 8])
@pytest.mark.cases("plan", CANDIDATES)
def test_every_candidate_fits_a_block(plan: SharedTiles, element: int) -> None:
    found = fitted(plan, Product(4096, 4096, 4096, element=element))
    if found is not None:
        counts = Counts(found, Product(4096, 4096, 4096, element=element))
        assert counts.shared <= portable_shared()
        assert found.resident >= 1


@pytest.mark.cases(
    "product",
    [
        Product(1024, 1024, 1024),
        Product(512, 512, 512, 64),
        Product(1000, 513, 777, widths=(1, 1)),
        Product(16, 4096, 4096),
        Product(256, 256, 16384),
    ],
    ids=str,
)
def test_plans_fill_the_device(product: Product) -> None:
    plan = plan_contraction(product, splits=(1, 2, 4, 8))
    assert Counts(plan, product).blocks >= 0.95 * DEFAULT.processors


@pytest.mark.slow
@given(st.lists(st.integers(1, 70), min_size=1, max_size=3), st.sampled_from([64, 128]))
def test_rectangles_have_the_fewest_tiles(extents: list[int], rows: int) -> None:
    sizes = rectangle(tuple(extents), rows)
    powers = [1 << n for n in range(rows.bit_length())]
    others = [s for s in every_of(powers, repeat=len(extents)) if prod(s) == rows]
    assert prod(sizes) == rows
    assert tiles_of(extents, sizes) == min(tiles_of(extents, s) for s in others)


def test_pixels_and_terms_that_do_not_exist_are_counted() -> None:
    image = Product(
        *(32 * 7 * 7, 64, 3 * 3 * 24),
        element=2,
        row_axes=(32, 7, 7),
        term_axes=(3, 3 * 24),
    )
    tiles = WARPGROUPS[0]
    blocks = 32 * 7 * 8 // 64
    work = WarpgroupCounts(tiles, image).work(memory=0)
    assert work.blocks == blocks
    cells = tiles.tile_rows * tiles.tile_columns
    assert work.warpgroup == blocks * cells * 3 * ceil(72 / 64) * 64


def test_what_windows_use_several_times_comes_once() -> None:
    pixels, filters = 32 * 58 * 58 * 64, 9 * 64 * 64
    image = Product(32 * 56 * 56, 64, 9 * 64, read=pixels + filters, plain=False)
    sums = 2 * image.rows * image.columns
    assert memory(CANDIDATES[0], image, DEFAULT) == (pixels + filters + sums) * 4
