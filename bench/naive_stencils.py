"""Stencils in time as Numba users write them: the outermost loop of space parallel.

Arguments are those of the examples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from examples.problems import Array

if TYPE_CHECKING:
    prange = range
else:
    from numba import prange


def jacobi_2d(steps: int, A: Array, B: Array) -> None:
    """Five-point means, from A to B and back."""
    fifth = np.float32(0.2)
    for _ in range(steps):
        for i in prange(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                beside = A[i, j] + A[i, j - 1] + A[i, j + 1]
                B[i, j] = fifth * (beside + A[i - 1, j] + A[i + 1, j])
        for i in prange(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                beside = B[i, j] + B[i, j - 1] + B[i, j + 1]
                A[i, j] = fifth * (beside + B[i - 1, j] + B[i + 1, j])


def heat_3d(steps: int, A: Array, B: Array) -> None:
    """Heat conduction, from A to B and back."""
    eighth, two = np.float32(0.125), np.float32(2)
    for _ in range(steps):
        for i in prange(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                for k in range(1, A.shape[2] - 1):
                    twice = two * A[i, j, k]
                    B[i, j, k] = (
                        eighth * (A[i + 1, j, k] - twice + A[i - 1, j, k])
                        + eighth * (A[i, j + 1, k] - twice + A[i, j - 1, k])
                        + eighth * (A[i, j, k + 1] - twice + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in prange(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                for k in range(1, A.shape[2] - 1):
                    twice = two * B[i, j, k]
                    A[i, j, k] = (
                        eighth * (B[i + 1, j, k] - twice + B[i - 1, j, k])
                        + eighth * (B[i, j + 1, k] - twice + B[i, j - 1, k])
                        + eighth * (B[i, j, k + 1] - twice + B[i, j, k - 1])
                        + B[i, j, k]
                    )
