"""Outputs of transposed convolutions that meet no tap, by brute force."""

from __future__ import annotations

from collections import Counter

import pytest

from gpucodegen.dialects.shared.window_phases import phases
from gpucodegen.kernels.windows.forms import MOST_NEIGHBOURS, empty_outputs


@pytest.mark.cases("extent", [1, 4, 7])
@pytest.mark.cases("spacing, dilation", [(1, 1), (2, 2), (3, 1), (4, 2), (5, 2)])
def test_each_is_written_once(extent: int, spacing: int, dilation: int) -> None:
    for window in (1, 2, 3):
        for low in range((window - 1) * dilation + 1):
            outputs = (extent - 1) * spacing + 1 + low
            side = [
                *phases(
                    *(extent, window, outputs),
                    stride=1,
                    dilation=dilation,
                    spacing=spacing,
                    low=low,
                )
            ]
            wanted = [
                o
                for o in range(outputs)
                if all((o + t * dilation - low) % spacing for t in range(window))
            ]
            found = empty_outputs(side)
            if found is None:
                continue
            written = Counter(found.rest)
            for phase, distances in found.beside.items():
                for d in distances:
                    first = phase.first + d
                    last = first + phase.period * phase.count
                    written.update(range(first, last, phase.period))
            assert written == Counter(wanted)


def test_many_neighbours_are_filled() -> None:
    for spacing in range(2, 9):
        options = {"stride": 1, "dilation": 1, "spacing": spacing, "low": 0}
        found = empty_outputs([*phases(9, 1, 9 * spacing, **options)])
        assert (found is not None) == (spacing <= MOST_NEIGHBOURS)
        short = [*phases(9, 1, 8 * spacing + 1, **options)]
        assert empty_outputs(short) is None
