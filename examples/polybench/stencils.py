"""Steps in time over a line, a plane or a cube, as plain loops for Numba.

Arguments and order of the operations are those of the ``.mlir`` file of each name.
"""

from __future__ import annotations

from examples.problems import Array


def adi(T: int, u: Array, v: Array, p: Array, q: Array) -> None:
    """Heat in a plane, columns and rows solved in turn."""
    N = u.shape[0]
    ratio = (1.0 / T) / ((1.0 / N) * (1.0 / N))
    a = c = -ratio
    d = f = a / 2.0
    b, e = 1.0 - 2.0 * a, 1.0 - 2.0 * d
    for _ in range(T):
        for i in range(1, N - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in range(1, N - 1):
                pivot = a * p[i, j - 1] + b
                p[i, j] = -c / pivot
                source = -d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i]
                q[i, j] = (source - f * u[j, i + 1] - a * q[i, j - 1]) / pivot
            v[N - 1, i] = 1.0
            for j in range(N - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, N - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, N - 1):
                pivot = d * p[i, j - 1] + e
                p[i, j] = -f / pivot
                source = -a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j]
                q[i, j] = (source - c * v[i + 1, j] - d * q[i, j - 1]) / pivot
            u[i, N - 1] = 1.0
            for j in range(N - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]


def fdtd_2d(ex: Array, ey: Array, hz: Array, fict: Array) -> None:
    """Electric and magnetic fields in a plane."""
    NX, NY = hz.shape
    for t in range(fict.shape[0]):
        for j in range(NY):
            ey[0, j] = fict[t]
        for i in range(1, NX):
            for j in range(NY):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(NX):
            for j in range(1, NY):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(NX - 1):
            for j in range(NY - 1):
                across = ex[i, j + 1] - ex[i, j]
                hz[i, j] -= 0.7 * (across + ey[i + 1, j] - ey[i, j])


def heat_3d(T: int, A: Array, B: Array) -> None:
    """Heat in a cube, from ``A`` to ``B`` and back."""
    inner = range(1, A.shape[0] - 1)
    for _ in range(T):
        for i in inner:
            for j in inner:
                for k in inner:
                    here = A[i, j, k]
                    di = 0.125 * (A[i + 1, j, k] - 2.0 * here + A[i - 1, j, k])
                    dj = 0.125 * (A[i, j + 1, k] - 2.0 * here + A[i, j - 1, k])
                    dk = 0.125 * (A[i, j, k + 1] - 2.0 * here + A[i, j, k - 1])
                    B[i, j, k] = di + dj + dk + here
        for i in inner:
            for j in inner:
                for k in inner:
                    here = B[i, j, k]
                    di = 0.125 * (B[i + 1, j, k] - 2.0 * here + B[i - 1, j, k])
                    dj = 0.125 * (B[i, j + 1, k] - 2.0 * here + B[i, j - 1, k])
                    dk = 0.125 * (B[i, j, k + 1] - 2.0 * here + B[i, j, k - 1])
                    A[i, j, k] = di + dj + dk + here


def jacobi_1d(T: int, A: Array, B: Array) -> None:
    """Means of three points, from ``A`` to ``B`` and back."""
    inner = range(1, A.shape[0] - 1)
    for _ in range(T):
        for i in inner:
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i in inner:
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1])


def jacobi_2d(T: int, A: Array, B: Array) -> None:
    """Means of five points, from ``A`` to ``B`` and back."""
    inner = range(1, A.shape[0] - 1)
    for _ in range(T):
        for i in inner:
            for j in inner:
                row = A[i, j] + A[i, j - 1] + A[i, j + 1]
                B[i, j] = 0.2 * (row + A[i + 1, j] + A[i - 1, j])
        for i in inner:
            for j in inner:
                row = B[i, j] + B[i, j - 1] + B[i, j + 1]
                A[i, j] = 0.2 * (row + B[i + 1, j] + B[i - 1, j])


def seidel_2d(T: int, A: Array) -> None:
    """Means of nine points in place."""
    inner = range(1, A.shape[0] - 1)
    for _ in range(T):
        for i in inner:
            for j in inner:
                above = A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                beside = above + A[i, j - 1] + A[i, j] + A[i, j + 1]
                below = beside + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                A[i, j] = below / 9.0
