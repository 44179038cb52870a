"""Factors of matrices and solutions of equations, as plain loops for Numba.

Arguments and order of the operations are those of the ``.mlir`` file of each name.
"""

from __future__ import annotations

import numpy as np

from examples.problems import Array


def cholesky(A: Array) -> None:
    """``A`` becomes its Cholesky factor, below the diagonal and on it."""
    for i in range(A.shape[0]):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = np.sqrt(A[i, i])


def durbin(r: Array, y: Array) -> None:
    """Solve the Yule-Walker equations of the autocorrelation ``r``."""
    N = r.shape[0]
    z = np.zeros_like(y)
    y[0] = -r[0]
    alpha = -r[0]
    beta = 1.0
    for k in range(1, N):
        beta = (1.0 - alpha * alpha) * beta
        total = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


def gramschmidt(A: Array, R: Array, Q: Array) -> None:
    """``A = Q R`` with orthonormal columns of ``Q``; ``A`` is used up."""
    M, N = A.shape
    for k in range(N):
        square = 0.0
        for i in range(M):
            square += A[i, k] * A[i, k]
        R[k, k] = np.sqrt(square)
        for i in range(M):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, N):
            R[k, j] = 0.0
            for i in range(M):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(M):
                A[i, j] -= Q[i, k] * R[k, j]


def lu(A: Array) -> None:
    """``A`` becomes ``L`` (below the diagonal) and ``U``."""
    N = A.shape[0]
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, N):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


def ludcmp(A: Array, b: Array, x: Array, y: Array) -> None:
    """Solve ``A x = b`` by way of ``L y = b``; ``A`` becomes its factors."""
    N = A.shape[0]
    for i in range(N):
        for j in range(i):
            w = A[i, j]
            for k in range(j):
                w -= A[i, k] * A[k, j]
            A[i, j] = w / A[j, j]
        for j in range(i, N):
            w = A[i, j]
            for k in range(i):
                w -= A[i, k] * A[k, j]
            A[i, j] = w
    for i in range(N):
        w = b[i]
        for j in range(i):
            w -= A[i, j] * y[j]
        y[i] = w
    for i in range(N - 1, -1, -1):
        w = y[i]
        for j in range(i + 1, N):
            w -= A[i, j] * x[j]
        x[i] = w / A[i, i]


def trisolv(L: Array, x: Array, b: Array) -> None:
    """Solve ``L x = b``."""
    for i in range(L.shape[0]):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]
