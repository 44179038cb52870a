"""A kernel as a problem: its arguments from a line of text, its answer from loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

import numpy as np

from examples.problems import Answer, Arguments, Array, Size, exact

Fill = Callable[[np.random.Generator, tuple[int, ...]], Array]

_ARGUMENT = re.compile(r"(\w+)(?:\[([\w,]+)\])?")


@dataclass(frozen=True, slots=True)
class Loops:
    """What plain Python ``loops`` do to their arguments.

    ``signature`` names the arguments: ``"alpha T C[M,N]"`` are two numbers and an
    array. A number is found in ``numbers``, or it is an extent like M and N. Arrays are
    of unit variance unless ``fills`` makes them. ``count`` tells the arithmetic
    operations of one call from the extents by name.

    >>> def scale(alpha, x): x *= alpha
    >>> halve = Loops(scale, "alpha x[N]", lambda s: s["N"], numbers={"alpha": 0.5})
    >>> halve.extents
    ('N',)
    >>> halve.answer(0.5, np.array([2.0, 4.0]))
    {1: array([1., 2.])}
    >>> halve.work({"N": 7})
    7
    """

    loops: Callable[..., None]
    signature: str
    count: Callable[[Size], int]
    fills: Mapping[str, Fill] = field(default_factory=dict[str, Fill])
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def extents(self) -> tuple[str, ...]:
        """The names of the extents, in order of appearance."""
        found = (
            extent
            for name, extents in _ARGUMENT.findall(self.signature)
            for extent in (extents or name).split(",")
            if extent not in self.numbers
        )
        return tuple(dict.fromkeys(found))

    def elements(self, size: Size) -> int:
        """Elements of all arrays together.

        >>> Loops(lambda A, x: None, "A[N,N] x[N]", lambda s: 0).elements({"N": 3})
        12
        """
        return sum(
            prod(size[name] for name in extents.split(","))
            for _, extents in _ARGUMENT.findall(self.signature)
            if extents
        )

    def shapes(self, size: Size) -> tuple[tuple[int, ...] | None, ...]:
        """The extents of each argument, None for a number.

        >>> Loops(lambda a, A: None, "a A[N,M]", lambda s: 0).shapes({"N": 3, "M": 2})
        (None, (3, 2))
        """
        return tuple(
            tuple(size[name] for name in extents.split(",")) if extents else None
            for _, extents in _ARGUMENT.findall(self.signature)
        )

    def arguments(self, rng: np.random.Generator, size: Size) -> Arguments:
        """Arguments of one call."""
        known = {**size, **self.numbers}
        return tuple(
            self._array(rng, name, tuple(size[n] for n in extents.split(",")))
            if extents
            else known[name]
            for name, extents in _ARGUMENT.findall(self.signature)
        )

    def _array(
        self, rng: np.random.Generator, name: str, shape: tuple[int, ...]
    ) -> Array:
        fill = self.fills.get(name)
        return rng.standard_normal(shape) if fill is None else fill(rng, shape)

    def answer(self, *arguments: Any) -> Answer:
        """Every array as the loops leave it, in float64 or int64."""
        arrays: dict[int, Array] = {
            at: exact(cast("Array", argument))
            for at, argument in enumerate(arguments)
            if isinstance(argument, np.ndarray)
        }
        self.loops(*(arrays.get(at, a) for at, a in enumerate(arguments)))
        return arrays

    def work(self, size: Size) -> int:
        """Arithmetic operations of one call."""
        return self.count(size)


def dominant(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A matrix that is safely factored without pivoting."""
    return rng.standard_normal(shape) / shape[0] + 2.0 * np.eye(shape[0])


def positive_definite(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A symmetric matrix with positive eigenvalues."""
    half = rng.standard_normal(shape) / np.sqrt(shape[0])
    return half @ half.T + np.eye(shape[0])


def autocorrelation(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Lags 1, 2, .. of a signal that forgets, over its variance."""
    return 0.5 ** np.arange(1, shape[0] + 1) * rng.uniform(0.5, 1.0, shape)


def edges(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Lengths of edges between all nodes."""
    return rng.integers(1, 100, shape).astype(np.int32)


def bases(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A sequence of bases 0 .. 3."""
    return rng.integers(0, 4, shape).astype(np.int8)


def counts(_rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """An empty table of counts."""
    return np.zeros(shape, np.int32)
