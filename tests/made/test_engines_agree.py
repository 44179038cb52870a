"""Every engine computes of made programs what the interpreter does.

The quick run takes a program of each area; the slow one a program of each area on each
engine, and with ``--fuzz`` 50 programs.
``python -m tests.made 3000`` takes as many as are asked for.
"""

from __future__ import annotations

import pytest

from tests.made.areas import AREAS
from tests.made.engines import ENGINES
from tests.made.mutations import MOST, MUTATIONS, shown
from tests.made.rounds import IN_TURN, failures, in_turn

LONG = ("destinations", "raised")
"""Areas whose programs take seconds."""


@pytest.mark.parametrize(
    "area",
    [pytest.param(a, marks=[pytest.mark.slow] * (a in LONG)) for a in AREAS],
)
def test_some_programs_agree(area: str):
    """An area's program on one engine, another one for each area."""
    assert failures(area, 3, in_turn([*AREAS].index(area))) == []


@pytest.mark.slow
@pytest.mark.parametrize("area", list(AREAS))
def test_many_programs_agree(area: str, pytestconfig: pytest.Config):
    count = 50 if pytestconfig.getoption("--fuzz") else len(IN_TURN)
    seeds = range(count)
    assert [text for s in seeds for text in failures(area, s, in_turn(s))] == []


@pytest.mark.slow
@pytest.mark.parametrize("area", ["tensors", "chains"])
def test_iree_agrees(area: str):
    if "iree" not in ENGINES:
        pytest.skip("iree.runtime of the extra peers is not installed")
    found = [text for seed in range(16) for text in failures(area, seed, ("iree",))]
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_the_programs_show_a_bug_that_is_put_back(name: str):
    seed, text = shown(MUTATIONS[name])
    assert 0 <= seed < MOST
    assert text
