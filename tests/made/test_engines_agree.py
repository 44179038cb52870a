"""Every engine computes of made programs what the interpreter does.

The quick run takes a program of each area; the slow one 200 in all.
``python -m tests.made 3000`` takes as many as are asked for.
"""

from __future__ import annotations

import pytest

from tests.made.areas import AREAS
from tests.made.engines import ENGINES
from tests.made.mutations import MOST, MUTATIONS, shown
from tests.made.rounds import failures, in_turn

BATCH = 25
LONG = ("destinations", "raised")
"""Areas whose programs take seconds."""
BATCHES = 2


@pytest.mark.parametrize(
    "area",
    [pytest.param(a, marks=[pytest.mark.slow] * (a in LONG)) for a in AREAS],
)
def test_some_programs_agree(area: str):
    """An area's program on one engine, another one for each area."""
    assert failures(area, 3, in_turn([*AREAS].index(area))) == []


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("area", list(AREAS))
@pytest.mark.drawn(6)
def test_many_programs_agree(area: str, batch: int):
    found: list[str] = []
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        found += failures(area, seed, in_turn(seed))
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("area", ["tensors", "chains"])
def test_iree_agrees(area: str):
    if "iree" not in ENGINES:
        pytest.skip("iree.runtime of the extra peers is not installed")
    found = [text for seed in range(25) for text in failures(area, seed, ("iree",))]
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_the_programs_show_a_bug_that_is_put_back(name: str):
    seed, text = shown(MUTATIONS[name])
    assert 0 <= seed < MOST
    assert text
