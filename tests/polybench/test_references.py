"""The loops in Python against the definitions of what they compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from examples.polybench.catalogue import KERNELS

Arrays = tuple[Any, ...]


def lower(a: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    return np.tril(a) + np.triu(otherwise, 1)


def gemver(before: Arrays, after: Arrays) -> None:
    alpha, beta, a, u1, v1, u2, v2, w, x, y, z = before
    a = a + np.outer(u1, v1) + np.outer(u2, v2)
    x = x + beta * a.T @ y + z
    for position, expected in ((2, a), (8, x), (7, w + alpha * a @ x)):
        assert np.allclose(after[position], expected)


def qr(before: Arrays, after: Arrays) -> None:
    _, r, q = after
    upper = np.triu(r)
    assert np.allclose(q @ upper, before[0])
    assert np.allclose(q.T @ q, np.eye(q.shape[1]))


def lu(before: Arrays, after: Arrays) -> None:
    factors = after[0]
    unit = np.tril(factors, -1) + np.eye(len(factors))
    assert np.allclose(unit @ np.triu(factors), before[0])


def symmetric(a: np.ndarray) -> np.ndarray:
    return np.tril(a) + np.tril(a, -1).T


def toeplitz(r: np.ndarray) -> np.ndarray:
    lags = np.concatenate(([1.0], r[:-1]))
    return lags[abs(np.subtract.outer(range(len(r)), range(len(r))))]


def relaxed(a: np.ndarray) -> np.ndarray:
    """All points at once: every pair of nodes by way of every third, until settled."""
    for _ in range(len(a)):
        a = np.minimum(a, (a[:, :, None] + a[None]).min(axis=1))
    return a


def result(position: int, expected: Callable[..., np.ndarray]) -> Callable[..., None]:
    def check(before: Arrays, after: Arrays) -> None:
        assert np.allclose(after[position], expected(*before))

    return check


def unit_lower(a: np.ndarray) -> np.ndarray:
    return np.tril(a, -1) + np.eye(len(a))


DEFINITIONS: dict[str, Callable[..., None]] = {
    "2mm": result(6, lambda p, q, _, A, B, C, D: q * D + p * A @ B @ C),
    "3mm": result(6, lambda _E, A, B, _F, C, D, _G: A @ B @ C @ D),
    "atax": result(2, lambda A, x, *_: A.T @ (A @ x)),
    "bicg": result(2, lambda A, _s, _q, p, _r: A @ p),
    "cholesky": result(0, lambda A: lower(np.linalg.cholesky(A), A)),
    "correlation": result(1, lambda data, *_: np.corrcoef(data.T)),
    "covariance": result(1, lambda data, *_: np.cov(data.T)),
    "doitgen": result(0, lambda A, C4, _: A @ C4),
    "durbin": result(1, lambda r, _: np.linalg.solve(toeplitz(r), -r)),
    "floyd-warshall": result(0, relaxed),
    "gemm": result(2, lambda p, q, C, A, B: p * A @ B + q * C),
    "gemver": gemver,
    "gesummv": result(6, lambda p, q, A, B, _, x, _y: p * A @ x + q * B @ x),
    "gramschmidt": qr,
    "lu": lu,
    "ludcmp": result(2, lambda A, b, *_: np.linalg.solve(A, b)),
    "mvt": result(1, lambda _x1, x2, _y1, y2, A: x2 + A.T @ y2),
    "symm": result(2, lambda p, q, C, A, B: p * symmetric(A) @ B + q * C),
    "syr2k": result(2, lambda p, q, C, A, B: lower(p * (A @ B.T + B @ A.T) + q * C, C)),
    "syrk": result(2, lambda p, q, C, A: lower(p * A @ A.T + q * C, C)),
    "trisolv": result(1, lambda L, _x, b: np.linalg.solve(np.tril(L), b)),
    "trmm": result(2, lambda p, A, B: p * unit_lower(A).T @ B),
}
"""Stencils and filters are defined by their loops."""


@pytest.mark.cases("name", DEFINITIONS)
def test_loops_compute_what_is_defined(name: str) -> None:
    kernel = KERNELS[name]
    before = kernel.arguments()
    answer = kernel.problem.answer(*before)
    DEFINITIONS[name](before, tuple(answer.get(at, a) for at, a in enumerate(before)))


def test_folding_counts_the_pairs_of_a_hairpin() -> None:
    sequence = np.array([0, 1, 2, 0, 1, 2, 3], np.int8)
    table = np.zeros((7, 7), np.int32)
    answer = KERNELS["nussinov"].problem.answer(sequence, table)
    assert answer[1][0, 6] == 3


def test_an_even_image_stays_even_away_from_its_border() -> None:
    image = np.ones((80, 90))
    scratch = [np.empty_like(image) for _ in range(3)]
    smooth = KERNELS["deriche"].problem.answer(0.5, image, *scratch)[2]
    middle = smooth[30:50, 30:60]
    assert np.ptp(middle) < 1e-3 * middle.mean()
