"""Rounds over the areas: what of the made programs is wrong, on which engine."""

from __future__ import annotations

import warnings

from gpucodegen import errors
from tests.made import jitted
from tests.made.areas import AREAS
from tests.made.engines import differences

JIT = "jit"
"""The area of functions of Python, whose oracle is Python itself."""
NAMES = (*AREAS, JIT)
IN_TURN = ("sim", "cpu passes", "scheduled", "sim passes", "cpu-2", "cpu passes")


def in_turn(seed: int) -> tuple[str, ...]:
    """One engine for each program, so that thousands take minutes."""
    return (IN_TURN[seed % len(IN_TURN)],)


def failures(area: str, seed: int, engines: tuple[str, ...]) -> list[str]:
    """What is wrong with one program; what a text says of itself is no failure."""
    if area == JIT:
        targets = ["interp", *("sim" if e == "sim" else "cpu" for e in engines)]
        return jitted.failures(seed, list(dict.fromkeys(targets)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.CodegenWarning)
        found = differences(AREAS[area](seed), engines)
    return [f"{area} {seed} on {engine}: {text}" for engine, text in found.items()]
