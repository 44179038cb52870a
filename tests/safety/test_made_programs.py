"""Made programs with wrong extents, indices, strides and element types.

Each ends as a right result or a catalogued error; the arrays lie between pages without
access, with canaries in all gaps.
"""

from __future__ import annotations

import sys

import pytest

from tests.safety.memory import guarded
from tests.safety.programs import KINDS, made
from tests.safety.sweep import verdicts

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="pages are guarded by mprotect"
)
BATCH = 100


def failures(first: int, count: int) -> list[str]:
    return [
        f"{seed} {made(seed).kind}: {found}"
        for seed, found in verdicts(range(first, first + count))
        if found not in ("right", "refused")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(3))
def test_some_made_programs_are_right_or_refused(turn: int):
    assert failures(1_900 * turn, len(KINDS)) == []


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(12))
@pytest.mark.drawn(3)
def test_made_programs_are_right_or_refused(batch: int):
    assert failures(100_000 + BATCH * batch, BATCH) == []


def test_a_write_into_a_gap_is_found():
    import numpy as np

    found = guarded((2, 3), (-5, 1), np.dtype(np.float32), at_end=False)
    found.array[...] = 1
    assert found.is_intact()
    np.ndarray(1, np.float32, found.pages.data, 3 * 4)[0] = 1
    assert not found.is_intact()
