"""Every element type does what docs/dtypes.md says."""

from __future__ import annotations

import pytest

from tests.dtypes.page import KINDS, PAGE, outcomes, page
from tests.dtypes.programs import (
    NARROW,
    RUNS,
    TARGETS,
    TYPES,
    accumulator,
    outcome,
    programs,
)


@pytest.mark.sampled(32)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.cases("kind", KINDS, parts=2)
@pytest.mark.cases("ty", TYPES)
def test_runs_where_the_page_says(ty: str, kind: str, target: str):
    wanted = outcomes().get((ty, kind, target), RUNS)
    assert outcome(programs(ty)[kind], target) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS[1:])
@pytest.mark.parametrize("ty", NARROW)
def test_sums_are_kept_where_the_page_says(ty: str, target: str):
    assert accumulator(ty, target) == outcomes()[ty, "sums", target]


def test_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page()
