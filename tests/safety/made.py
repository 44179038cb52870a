"""What a made program is, and the numbers that it is made with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

FLOATS = ("f32", "f64")
DTYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32}


@dataclass(frozen=True, slots=True)
class Array:
    """An array argument: what it holds and how it lies in memory."""

    values: np.ndarray
    strides: tuple[int, ...] = ()
    dtype: Any = None

    @property
    def steps(self) -> tuple[int, ...]:
        """Strides in elements."""
        if self.strides:
            return self.strides
        steps = [1]
        for extent in self.values.shape[:0:-1]:
            steps.insert(0, steps[0] * max(extent, 1))
        return tuple(steps)[: self.values.ndim]


@dataclass(frozen=True, slots=True)
class Made:
    """A program ``f``, arguments, and its meaning on them."""

    kind: str
    text: str
    arguments: tuple[Any, ...]
    meaning: Callable[..., None]
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    refused: bool = False
    """Whether the arguments do not fit the types of the program."""


def numbers(r: Random, shape: Sequence[int], dtype: str) -> np.ndarray:
    """Small whole numbers, so that every order of a sum gives the same."""
    seeded = np.random.default_rng(r.randrange(1 << 30))
    return seeded.integers(-4, 5, tuple(shape)).astype(DTYPES[dtype])


def indices(r: Random, count: int, extent: int, dtype: str = "i64") -> np.ndarray:
    """Indices into an extent; with some luck one of them is wrong."""
    found = np.array([r.randrange(max(extent, 1)) for _ in range(count)], np.int64)
    if count and r.random() < 0.5:
        wrong = [-1, extent, extent + 1, -extent - 7, 10**6, -(10**6)]
        wrong += [10**12, -(2**62), 2**61 + 3] if dtype == "i64" else [2**31 - 1]
        found[r.randrange(count)] = r.choice(wrong)
    return found.astype(DTYPES[dtype])


def near(r: Random, extent: int) -> int:
    """An extent, mostly the given one."""
    return max(extent + r.choice([0, 0, 0, -1, 1, 2, -3, 40]), 0)


def options_of(r: Random) -> dict[str, Any]:
    """One or two threads, static or dynamic shapes."""
    return {"threads": r.choice([1, 2]), "specialize": r.random() < 0.5}
