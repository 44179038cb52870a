"""A function under `jit` does what the function does, or is refused.

``python -m tests.made 1000 0 jit`` runs as many functions as are asked for.
"""

from __future__ import annotations

import pytest

from tests.made import jitted


@pytest.mark.slow
def test_interpreted_functions():
    assert [
        text for seed in range(12) for text in jitted.failures(seed, ["interp"])
    ] == []


@pytest.mark.slow
def test_most_functions_are_not_refused():
    """The property says something only of functions that run."""
    programs = map(jitted.made, range(100, 112))
    refused = [p for p in programs if jitted.difference(p, "interp")]
    assert len(refused) <= 4


@pytest.mark.drawn(2)
@pytest.mark.slow
@pytest.mark.parametrize("batch", range(4))
def test_many_interpreted_functions(batch: int):
    seeds = range(1000 + 100 * batch, 1100 + 100 * batch)
    assert [text for seed in seeds for text in jitted.failures(seed, ["interp"])] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "seeds"), [("cpu", range(0, 20, 2)), ("sim", range(1, 20, 2))]
)
def test_compiled_functions(target: str, seeds: range):
    assert [text for seed in seeds for text in jitted.failures(seed, [target])] == []
