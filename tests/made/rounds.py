"""Rounds over the areas: what of the made programs is wrong, on which engine."""

from __future__ import annotations

import warnings

from gpucodegen import errors
from tests.made.areas import AREAS
from tests.made.engines import differences

IN_TURN = ("sim", "cpu passes", "scheduled", "sim passes", "cpu-2", "cpu passes")


def in_turn(seed: int) -> tuple[str, ...]:
    """One engine for each program, so that thousands take minutes."""
    return (IN_TURN[seed % len(IN_TURN)],)


def failures(area: str, seed: int, engines: tuple[str, ...]) -> list[str]:
    """What is wrong with one program; what a text says of itself is no failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.CodegenWarning)
        found = differences(AREAS[area](seed), engines)
    return [f"{area} {seed} on {engine}: {text}" for engine, text in found.items()]
