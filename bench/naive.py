"""PolyBench's products as Numba users write them: plain loops, the outermost parallel.

Arguments are those of the kernels in `examples.polybench`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.problems import Array

if TYPE_CHECKING:
    prange = range
else:
    from numba import prange


def gemm(alpha: float, beta: float, C: Array, A: Array, B: Array) -> None:
    """``C = alpha A B + beta C``."""
    for i in prange(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


def k2mm(
    alpha: float, beta: float, tmp: Array, A: Array, B: Array, C: Array, D: Array
) -> None:
    """``D = beta D + (alpha A B) C``."""
    for i in prange(tmp.shape[0]):
        for j in range(tmp.shape[1]):
            tmp[i, j] = 0.0
            for k in range(A.shape[1]):
                tmp[i, j] += alpha * A[i, k] * B[k, j]
    for i in prange(D.shape[0]):
        for j in range(D.shape[1]):
            D[i, j] *= beta
            for k in range(C.shape[0]):
                D[i, j] += tmp[i, k] * C[k, j]


def k3mm(E: Array, A: Array, B: Array, F: Array, C: Array, D: Array, G: Array) -> None:
    """``G = (A B) (C D)``."""
    for i in prange(E.shape[0]):
        for j in range(E.shape[1]):
            E[i, j] = 0.0
            for k in range(A.shape[1]):
                E[i, j] += A[i, k] * B[k, j]
    for i in prange(F.shape[0]):
        for j in range(F.shape[1]):
            F[i, j] = 0.0
            for k in range(C.shape[1]):
                F[i, j] += C[i, k] * D[k, j]
    for i in prange(G.shape[0]):
        for j in range(G.shape[1]):
            G[i, j] = 0.0
            for k in range(F.shape[0]):
                G[i, j] += E[i, k] * F[k, j]


def syrk(alpha: float, beta: float, C: Array, A: Array) -> None:
    """The lower triangle of ``C = alpha A A' + beta C``."""
    for i in prange(C.shape[0]):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


def doitgen(A: Array, C4: Array, total: Array) -> None:
    """``A[r, q, :] = A[r, q, :] C4``; each iteration has its own sums."""
    for r in prange(A.shape[0]):
        for q in range(A.shape[1]):
            own = A[r, q].copy()
            for p in range(A.shape[2]):
                A[r, q, p] = 0.0
                for s in range(A.shape[2]):
                    A[r, q, p] += own[s] * C4[s, p]
    total[:] = A[-1, -1]


def covariance(data: Array, cov: Array, mean: Array) -> None:
    """Covariances of the columns of ``data``, which is centred."""
    rows, columns = data.shape
    for j in prange(columns):
        mean[j] = 0.0
        for i in range(rows):
            mean[j] += data[i, j]
        mean[j] /= rows
    for i in prange(rows):
        for j in range(columns):
            data[i, j] -= mean[j]
    for i in prange(columns):
        for j in range(i, columns):
            cov[i, j] = 0.0
            for k in range(rows):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= rows - 1.0
            cov[j, i] = cov[i, j]
