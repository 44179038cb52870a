"""The kernels of the table show what they must, or no less than yesterday."""

from __future__ import annotations

import pytest

from bench.gpu.kernels import KERNELS
from tests.report.gpu_goals import ALIKE, GOALS, PRESENT, QUICK, figures, holds

ROWS = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
    for name in GOALS
]


def test_rows_are_kernels_and_what_is_missing_has_a_goal() -> None:
    assert GOALS.keys() | ALIKE == KERNELS.keys()
    assert ALIKE.isdisjoint(GOALS)
    assert PRESENT.keys() <= GOALS.keys()
    for name, found in PRESENT.items():
        assert found.keys() <= GOALS[name].keys()
        assert not any(holds(x, value, GOALS[name][x]) for x, value in found.items())


@pytest.mark.drawn(9)
@pytest.mark.sampled(3)
@pytest.mark.sass
@pytest.mark.parametrize("name", ROWS)
def test_figures_meet_their_goal_or_get_no_worse(name: str) -> None:
    found, missing = figures(name), PRESENT.get(name, {})
    worse = {
        figure: (found[figure], missing.get(figure, goal))
        for figure, goal in GOALS[name].items()
        if not holds(figure, found[figure], missing.get(figure, goal))
    }
    assert worse == {}, f"{name}: (figure, bound)"
    reached = {x for x in missing if holds(x, found[x], GOALS[name][x])}
    assert reached == set(), f"{name}: take what is reached out of PRESENT"
