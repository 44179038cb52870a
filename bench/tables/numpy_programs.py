"""Programs of NumPy with loops around whole-array expressions, by jit, NumPy and Numba.

Their temporary arrays have sizes of their own in each iteration, or are bound anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gpucodegen as gcg
from bench.case import Case, copied
from bench.peers import numba_peer, numpy_peer
from bench.row import Limit, Work
from examples.problems import RESULT, Answer, Arguments


def lower_update(c: Any, a: Any, scale: float) -> None:
    """The lower triangle of C += scale A A^T, row by row."""
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            c[i, : i + 1] += scale * a[i, k] * a[: i + 1, k]


def tridiagonal(u: Any, upper: Any, lower: float, steps: int) -> None:
    """Sweeps of Thomas' algorithm along the rows of a grid."""
    n = u.shape[1]
    for _ in range(steps):
        for j in range(1, n):
            pivot = 1.0 / (2.0 + lower * upper[:, j - 1])
            upper[:, j] = -lower * pivot
            u[:, j] = (u[:, j] - lower * u[:, j - 1]) * pivot
        for j in range(n - 2, -1, -1):
            u[:, j] -= upper[:, j] * u[:, j + 1]


def sparse_product(starts: Any, places: Any, values: Any, x: Any, y: Any) -> None:
    """A sparse matrix in compressed rows, times a vector."""
    for i in range(len(starts) - 1):
        row = values[starts[i] : starts[i + 1]]
        y[i] = np.sum(row * x[places[starts[i] : starts[i + 1]]])


def conjugate_gradient(a: Any, b: Any, steps: int) -> Any:
    """An approximate solution of A x = b."""
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rest = r @ r
    for _ in range(steps):
        ap = a @ p
        step = rest / (p @ ap)
        x = x + step * p
        r = r - step * ap
        left = r @ r
        p = r + (left / rest) * p
        rest = left
    return x


def diffusion(u: Any, rate: float, steps: int) -> Any:
    """Explicit steps of the heat equation; each makes a new grid."""
    for _ in range(steps):
        change = np.zeros_like(u)
        change[1:-1, 1:-1] = (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
        u = u + rate * change
    return u


def distances(points: Any, out: Any) -> None:
    """The distances of each point to the earlier ones."""
    for i in range(1, len(points)):
        out[i, :i] = np.sqrt(np.sum((points[:i] - points[i]) ** 2, axis=1))


def prefix_means(x: Any, out: Any) -> None:
    """The mean and the largest deviation of each prefix."""
    for i in range(1, len(x) + 1):
        away = np.abs(x[:i] - np.mean(x[:i]))
        out[i - 1] = np.max(away)


def positive(rng: np.random.Generator, n: int) -> Any:
    """A symmetric positive definite matrix."""
    a = rng.random((n, n))
    return a @ a.T + n * np.eye(n)


def rows(rng: np.random.Generator, n: int, each: int) -> tuple[Any, ...]:
    """Compressed rows of ``each`` elements, a vector and the product."""
    count = n * each
    starts, places = np.arange(0, count + 1, each), rng.integers(0, n, count)
    return starts, places, rng.random(count), rng.random(n), np.zeros(n)


def case(function: Callable[..., Any], arguments: Callable[..., Arguments]) -> Case:
    """One program; the answer is NumPy's."""

    def answer(*given: Any) -> Answer:
        fresh = copied(given)
        result = function(*fresh)
        found = {n: a for n, a in enumerate(fresh) if isinstance(a, np.ndarray)}
        return found if result is None else {**found, RESULT: result}

    example = arguments(np.random.default_rng(0))
    return Case(
        name=function.__name__,
        source=gcg.jit(function).mlir(*example),
        entry=function.__name__,
        arguments=arguments,
        answer=answer,
        peers=(numpy_peer(function), numba_peer(function, "Numba")),
        work=Work(),
        limit=Limit.NONE,
        dtype="f64",
        restore=True,
    )


LINES = (
    case(lower_update, lambda r: (r.random((140, 140)), r.random((140, 100)), 1.5)),
    case(tridiagonal, lambda r: (r.random((100, 100)), np.zeros((100, 100)), 0.3, 20)),
    case(sparse_product, lambda r: rows(r, 4096, 16)),
    case(conjugate_gradient, lambda r: (positive(r, 200), r.random(200), 50)),
    case(diffusion, lambda r: (r.random((200, 200)), 0.1, 50)),
    case(distances, lambda r: (r.random((300, 3)), np.zeros((300, 300)))),
    case(prefix_means, lambda r: (r.random(1000), np.zeros(1000))),
)
