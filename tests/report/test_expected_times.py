"""Each time that an H100 took lies in the report's interval, or stands in `OUTSIDE`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpucodegen.report.gpu.expected_time import SPREAD, interval
from tests.report.measured_counts import (
    COUNTS,
    counts,
    expected,
    kernel_of,
    label,
    measured,
)

ROWS: list[Mapping[str, Any]] = json.loads(COUNTS.read_text(encoding="utf-8"))
CHANGED = "mma.sync was the default then; rows with plans have today's kernels"
ONE_AHEAD = "one K tile is in flight, and all warps wait for it together"
FEW_TERMS = "few K tiles: first stages and results take most of a block's time"
ALONE = "one consumer: no other multiplies while it waits for a stage"
OUTSIDE: Mapping[str, str] = {
    "f32 1000x513x777": "rows of odd lengths: copies of single elements are slower",
    "histogram": "random keys meet in banks and cells; the report's are all alike",
    "trsm 1024": "barriers of 1024 threads around each step: no units overlap",
    "conv f16 nhwc 3x3 64": CHANGED,
    "conv f16 nhwc 3x3 256": CHANGED,
    "f16, tile_rows 128, tile_columns 256, depth 32, warp_rows 64, warp_columns 64,"
    " stages 2": ONE_AHEAD,
    "f16, tile_rows 256, tile_columns 128, depth 32, warp_rows 64, warp_columns 64,"
    " stages 2": ONE_AHEAD,
    "f16, consumers 2, tile_columns 256, stages 2, turns 1, tensor_stores 1": ONE_AHEAD,
    "f16, consumers 2, tile_columns 128, stages 6, turns 1, tensor_stores 1": (
        "slower than with four stages, which no part of the model explains"
    ),
    "f16, consumers 1, tile_columns 256, turns 1, tensor_stores 1": ALONE,
    "f16, consumers 1, tile_columns 128, resident 2, turns 1, tensor_stores 1": ALONE,
    "conv f16 nhwc 3x3 64, tile_rows 128, tile_columns 64, depth 32, warp_rows 64,"
    " warp_columns 32, stages 3": FEW_TERMS,
    "conv f16 nhwc 3x3 64, tile_rows 128, tile_columns 64, consumers 2, stages 4,"
    " resident 2, turns 1, tensor_stores 2": FEW_TERMS,
    "conv f16 nhwc 3x3 256, tile_rows 128, tile_columns 128, depth 64, warp_rows 64,"
    " warp_columns 64, stages 4": FEW_TERMS,
}
"""Rows whose time is outside of the interval, and why."""


def is_inside(row: Mapping[str, Any]) -> bool:
    middle = expected(row["launches"])
    if middle is None:
        return False
    low, high = interval(middle)
    return low <= row["microseconds"] <= high


def test_intervals_are_narrow() -> None:
    low, high = interval(100.0)
    assert abs(high - low - 200 * SPREAD) < 1e-9
    assert SPREAD <= 0.1


def test_what_was_measured_is_in_the_interval() -> None:
    outside = {label(row) for row in ROWS if not is_inside(row)}
    assert outside == OUTSIDE.keys()


def test_rows_are_those_of_the_pages() -> None:
    known = [(row["name"], row["plan"], row["microseconds"]) for row in ROWS]
    assert known == list(measured())


@pytest.mark.sass
@pytest.mark.slow
@pytest.mark.parametrize("name", ["f32 2048", "f16 4096 mma.sync", "softmax"])
def test_stored_counts_are_those_of_todays_kernels(name: str) -> None:
    (row,) = (row for row in ROWS if row["name"] == name and not row["plan"])
    found = counts(kernel_of(name, {}))
    assert len(found) == len(row["launches"])
    for new, old in zip(found, row["launches"], strict=True):
        assert new["resident"] == old["resident"]
        assert new["work"].keys() == old["work"].keys()
        for count, number in new["work"].items():
            assert abs(number - old["work"][count]) <= 0.03 * number, count
