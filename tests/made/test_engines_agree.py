"""Every engine computes of made programs what the interpreter does.

The quick run takes two programs of each area; the slow one 3,000 in all.
"""

from __future__ import annotations

import warnings

import pytest

from gpucodegen import errors
from tests.made.areas import AREAS
from tests.made.engines import ENGINES, differences

BATCH = 25
BATCHES = 20
IN_TURN = ("sim", "scheduled", "cpu-2", "sim", "scheduled", "cpu-1")


def failures(area: str, seed: int, engines: tuple[str, ...]) -> list[str]:
    """What is wrong with one program; what a text says of itself is no failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.CodegenWarning)
        found = differences(AREAS[area](seed), engines)
    return [f"{area} {seed} on {engine}: {text}" for engine, text in found.items()]


@pytest.mark.parametrize("area", list(AREAS))
def test_some_programs_agree(area: str):
    engines = tuple(e for e in ENGINES if e != "iree")
    assert failures(area, 3, engines) == []


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("area", list(AREAS))
def test_many_programs_agree(area: str, batch: int):
    """One engine for each program, in turn, so that 3,000 take minutes."""
    found: list[str] = []
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        found += failures(area, seed, (IN_TURN[seed % len(IN_TURN)],))
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("area", ["tensors", "chains"])
def test_iree_agrees(area: str):
    if "iree" not in ENGINES:
        pytest.skip("iree.runtime of the extra peers is not installed")
    found = [text for seed in range(50) for text in failures(area, seed, ("iree",))]
    assert found == []
