"""Every element type does what docs/dtypes.md says."""

from __future__ import annotations

import pytest

from tests.dtypes.page import KINDS, PAGE, outcomes, page
from tests.dtypes.programs import (
    NARROW,
    RUNS,
    TYPES,
    accumulator,
    outcome,
    programs,
)

COMPILED = ("cpu", "sim")
TURNS = [
    (ty, kind, (row + column) % 2)
    for row, ty in enumerate(TYPES)
    for column, kind in enumerate(KINDS)
]
ONCE = [
    (ty, kind, target)
    for ty, kind, turn in TURNS
    for target in ("interp", COMPILED[turn])
]
"""Each program in the interpreter and on one target that compiles it."""
AGAIN = [(ty, kind, COMPILED[1 - turn]) for ty, kind, turn in TURNS]
"""Each program on the other target."""


@pytest.mark.sampled(32)
@pytest.mark.cases(("ty", "kind", "target"), ONCE, parts=3)
def test_runs_where_the_page_says(ty: str, kind: str, target: str):
    check_outcome(ty, kind, target)


@pytest.mark.slow
@pytest.mark.drawn(2)
@pytest.mark.cases(("ty", "kind", "target"), AGAIN, parts=5)
def test_runs_on_the_other_target_where_the_page_says(ty: str, kind: str, target: str):
    check_outcome(ty, kind, target)


def check_outcome(ty: str, kind: str, target: str) -> None:
    wanted = outcomes().get((ty, kind, target), RUNS)
    assert outcome(programs(ty)[kind], target) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("target", COMPILED)
@pytest.mark.parametrize("ty", NARROW)
def test_sums_are_kept_where_the_page_says(ty: str, target: str):
    assert accumulator(ty, target) == outcomes()[ty, "sums", target]


def test_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page()
