"""Products of matrices and vectors, as plain loops that Numba can compile.

Arguments and order of the operations are those of the ``.mlir`` file of each name.
"""

from __future__ import annotations

from examples.problems import Array


def k2mm(
    alpha: float, beta: float, tmp: Array, A: Array, B: Array, C: Array, D: Array
) -> None:
    """``D = beta D + (alpha A B) C``."""
    NI, NJ = tmp.shape
    for i in range(NI):
        for j in range(NJ):
            tmp[i, j] = 0.0
            for k in range(A.shape[1]):
                tmp[i, j] += alpha * A[i, k] * B[k, j]
    for i in range(NI):
        for j in range(D.shape[1]):
            D[i, j] *= beta
            for k in range(NJ):
                D[i, j] += tmp[i, k] * C[k, j]


def k3mm(E: Array, A: Array, B: Array, F: Array, C: Array, D: Array, G: Array) -> None:
    """``G = (A B) (C D)``."""
    NI, NJ = E.shape
    NL = D.shape[1]
    for i in range(NI):
        for j in range(NJ):
            E[i, j] = 0.0
            for k in range(A.shape[1]):
                E[i, j] += A[i, k] * B[k, j]
    for i in range(NJ):
        for j in range(NL):
            F[i, j] = 0.0
            for k in range(C.shape[1]):
                F[i, j] += C[i, k] * D[k, j]
    for i in range(NI):
        for j in range(NL):
            G[i, j] = 0.0
            for k in range(NJ):
                G[i, j] += E[i, k] * F[k, j]


def atax(A: Array, x: Array, y: Array, tmp: Array) -> None:
    """``y = A' (A x)``."""
    M, N = A.shape
    for j in range(N):
        y[j] = 0.0
    for i in range(M):
        tmp[i] = 0.0
        for j in range(N):
            tmp[i] += A[i, j] * x[j]
        for j in range(N):
            y[j] += A[i, j] * tmp[i]


def bicg(A: Array, s: Array, q: Array, p: Array, r: Array) -> None:
    """``s = A' r`` and ``q = A p``."""
    N, M = A.shape
    for j in range(M):
        s[j] = 0.0
    for i in range(N):
        q[i] = 0.0
        for j in range(M):
            s[j] += r[i] * A[i, j]
            q[i] += A[i, j] * p[j]


def doitgen(A: Array, C4: Array, total: Array) -> None:
    """``A[r, q, :] = A[r, q, :] C4``."""
    NR, NQ, NP = A.shape
    for r in range(NR):
        for q in range(NQ):
            for p in range(NP):
                total[p] = 0.0
                for s in range(NP):
                    total[p] += A[r, q, s] * C4[s, p]
            for p in range(NP):
                A[r, q, p] = total[p]


def gemm(alpha: float, beta: float, C: Array, A: Array, B: Array) -> None:
    """``C = alpha A B + beta C``."""
    NI, NJ = C.shape
    for i in range(NI):
        for j in range(NJ):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(NJ):
                C[i, j] += alpha * A[i, k] * B[k, j]


def gemver(
    alpha: float,
    beta: float,
    A: Array,
    u1: Array,
    v1: Array,
    u2: Array,
    v2: Array,
    w: Array,
    x: Array,
    y: Array,
    z: Array,
) -> None:
    """``A += u1 v1' + u2 v2'``, then ``x += beta A' y + z`` and ``w += alpha A x``."""
    N = A.shape[0]
    for i in range(N):
        for j in range(N):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(N):
        for j in range(N):
            x[i] += beta * A[j, i] * y[j]
    for i in range(N):
        x[i] += z[i]
    for i in range(N):
        for j in range(N):
            w[i] += alpha * A[i, j] * x[j]


def gesummv(
    alpha: float, beta: float, A: Array, B: Array, tmp: Array, x: Array, y: Array
) -> None:
    """``y = alpha A x + beta B x``."""
    N = A.shape[0]
    for i in range(N):
        tmp[i] = 0.0
        y[i] = 0.0
        for j in range(N):
            tmp[i] += A[i, j] * x[j]
            y[i] += B[i, j] * x[j]
        y[i] = alpha * tmp[i] + beta * y[i]


def mvt(x1: Array, x2: Array, y1: Array, y2: Array, A: Array) -> None:
    """``x1 += A y1`` and ``x2 += A' y2``."""
    N = A.shape[0]
    for i in range(N):
        for j in range(N):
            x1[i] += A[i, j] * y1[j]
    for i in range(N):
        for j in range(N):
            x2[i] += A[j, i] * y2[j]


def symm(alpha: float, beta: float, C: Array, A: Array, B: Array) -> None:
    """``C = alpha A B + beta C`` with the lower triangle of a symmetric A."""
    M, N = C.shape
    for i in range(M):
        for j in range(N):
            total = 0.0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                total += B[k, j] * A[i, k]
            own = alpha * B[i, j] * A[i, i]
            C[i, j] = beta * C[i, j] + own + alpha * total


def syr2k(alpha: float, beta: float, C: Array, A: Array, B: Array) -> None:
    """The lower triangle of ``C = alpha (A B' + B A') + beta C``."""
    N, M = A.shape
    for i in range(N):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(M):
            for j in range(i + 1):
                C[i, j] += A[j, k] * alpha * B[i, k] + B[j, k] * alpha * A[i, k]


def syrk(alpha: float, beta: float, C: Array, A: Array) -> None:
    """The lower triangle of ``C = alpha A A' + beta C``."""
    N, M = A.shape
    for i in range(N):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(M):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


def trmm(alpha: float, A: Array, B: Array) -> None:
    """``B = alpha A' B`` with the lower triangle of A, whose diagonal counts as 1."""
    M, N = B.shape
    for i in range(M):
        for j in range(N):
            for k in range(i + 1, M):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] *= alpha
