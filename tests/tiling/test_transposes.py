"""Tiles that blocks transpose in shared memory: every width of accesses has one."""

from __future__ import annotations

from itertools import product

import pytest

from gpucodegen.tiling.machine.gpu.devices import STATIC_SHARED
from gpucodegen.tiling.machine.gpu.streams import plan_tile

ELEMENTS = ([1], [2], [4], [8], [16], [1, 4], [8, 8], [1] * 6, [16] * 4)
EXTENTS = (
    (1, 1, 1),
    (1, 6, 16),
    (1, 16, 6),
    pytest.param((3, 64, 64), marks=pytest.mark.slow),
)
VECTOR_BYTES = 16


@pytest.mark.parametrize("extents", EXTENTS, ids=str)
@pytest.mark.cases("elements", ELEMENTS, ids=str, parts=3)
def test_every_width_of_accesses_has_a_tile(
    elements: list[int], extents: tuple[int, int, int]
):
    """Few rows of bytes leave no tile whose threads all load groups of 16."""
    most = VECTOR_BYTES // min(elements)
    for widths in product([1, 2, 16], repeat=2):
        down, across = (min(width, most) for width in widths)
        tile = plan_tile(elements, extents, (down, across), sum(elements))
        assert tile.is_shared_out
        assert tile.shared(elements) <= STATIC_SHARED
        assert tile.down <= down
        assert tile.across <= across
