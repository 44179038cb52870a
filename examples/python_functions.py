"""Ten functions of plain Python, which `gpucodegen.jit` compiles as they are.

>>> print(*FUNCTIONS)
matmul conv heat softmax prefix_sum lu histogram n_body mandelbrot life
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
"""A NumPy array, or one of a device."""


def matmul(a: Array, b: Array, c: Array) -> None:
    """``c = a @ b`` in three loops."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


def conv(image: Array, weights: Array, result: Array) -> None:
    """A correlation of a channelled image: (c, y, x), (f, c, dy, dx), (f, y, x)."""
    filters, rows, columns = result.shape
    _, channels, height, width = weights.shape
    for f in range(filters):
        for y in range(rows):
            for x in range(columns):
                total = 0.0
                for c in range(channels):
                    for dy in range(height):
                        for dx in range(width):
                            total += image[c, y + dy, x + dx] * weights[f, c, dy, dx]
                result[f, y, x] = total


def heat(now: Array, then: Array, steps: int) -> None:
    """Heat that spreads on a plate: two arrays that take turns, as slices."""
    for _ in range(steps):
        then[1:-1, 1:-1] = now[1:-1, 1:-1] + 0.1 * (
            now[:-2, 1:-1]
            + now[2:, 1:-1]
            + now[1:-1, :-2]
            + now[1:-1, 2:]
            - 4.0 * now[1:-1, 1:-1]
        )
        now, then = then, now


def softmax(x: Array) -> Array:
    """Softmax of each row, as arithmetic on rows."""
    result = np.empty_like(x)
    for i in range(x.shape[0]):
        powers = np.exp(x[i] - np.max(x[i]))
        result[i] = powers / np.sum(powers)
    return result


def prefix_sum(x: Array, sums: Array) -> None:
    """Running sums."""
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        sums[i] = total


def lu(a: Array) -> None:
    """``L U`` in the place of a matrix, without pivots."""
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]


def histogram(values: Array, counts: Array) -> None:
    """How many values from 0 to 1 fall into each of the bins."""
    bins = len(counts)
    for i in range(len(values)):
        place = min(int(values[i] * bins), bins - 1)
        counts[place] += 1


def n_body(positions: Array, masses: Array, forces: Array) -> None:
    """Gravitation between all bodies, softened where they are close."""
    for i in range(len(masses)):
        fx = fy = fz = 0.0
        for j in range(len(masses)):
            dx = positions[j, 0] - positions[i, 0]
            dy = positions[j, 1] - positions[i, 1]
            dz = positions[j, 2] - positions[i, 2]
            square = dx * dx + dy * dy + dz * dz + 1e-3
            pull = masses[j] / (square * math.sqrt(square))
            fx += pull * dx
            fy += pull * dy
            fz += pull * dz
        forces[i, 0] = fx
        forces[i, 1] = fy
        forces[i, 2] = fz


def mandelbrot(steps: Array, limit: int) -> None:
    """After how many steps each point leaves the circle of radius 2."""
    rows, columns = steps.shape
    for i in range(rows):
        for j in range(columns):
            cx, cy = -2.0 + 3.0 * j / columns, -1.5 + 3.0 * i / rows
            x = y = 0.0
            count = 0
            while count < limit and x * x + y * y <= 4.0:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                count += 1
            steps[i, j] = count


def life(cells: Array, born: Array) -> None:
    """One step of the Game of Life on a torus."""
    rows, columns = cells.shape
    for i in range(rows):
        for j in range(columns):
            near = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    near += cells[(i + di) % rows, (j + dj) % columns]
            near -= cells[i, j]
            alive = near == 3 or (near == 2 and cells[i, j] == 1)
            born[i, j] = 1 if alive else 0


@dataclass(frozen=True, slots=True)
class Problem:
    """A function, and arguments of a size: ``small`` for tests, ``large`` to time."""

    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator, int], tuple[Any, ...]]
    small: int
    large: int


def _random(rng: np.random.Generator, *shape: int) -> Array:
    return rng.random(shape, np.float32)


FUNCTIONS: dict[str, Problem] = {
    "matmul": Problem(
        matmul,
        lambda r, n: (_random(r, n, n), _random(r, n, n), _random(r, n, n)),
        small=19,
        large=512,
    ),
    "conv": Problem(
        conv,
        lambda r, n: (
            _random(r, 3, n + 2, n + 2),
            _random(r, 4, 3, 3, 3),
            _random(r, 4, n, n),
        ),
        small=7,
        large=256,
    ),
    "heat": Problem(
        heat,
        lambda r, n: (_random(r, n, n), np.zeros((n, n), np.float32), 6),
        small=13,
        large=1024,
    ),
    "softmax": Problem(softmax, lambda r, n: (_random(r, n, n),), small=17, large=1024),
    "prefix_sum": Problem(
        prefix_sum,
        lambda r, n: (r.random(n), np.zeros(n)),
        small=70,
        large=1_000_000,
    ),
    "lu": Problem(
        lu, lambda r, n: (r.random((n, n)) + n * np.eye(n),), small=14, large=512
    ),
    "histogram": Problem(
        histogram,
        lambda r, n: (_random(r, n), np.zeros(64, np.int32)),
        small=300,
        large=1_000_000,
    ),
    "n_body": Problem(
        n_body,
        lambda r, n: (r.random((n, 3)), r.random(n), np.zeros((n, 3))),
        small=20,
        large=2048,
    ),
    "mandelbrot": Problem(
        mandelbrot,
        lambda _, n: (np.zeros((n, n), np.int32), 100),
        small=12,
        large=512,
    ),
    "life": Problem(
        life,
        lambda r, n: (r.integers(0, 2, (n, n), np.int32), np.zeros((n, n), np.int32)),
        small=11,
        large=1024,
    ),
}
"""The ten by name."""
