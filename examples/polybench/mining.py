"""Statistics, an image filter and dynamic programs, as plain loops for Numba.

Arguments and order of the operations are those of the ``.mlir`` file of each name.
"""

from __future__ import annotations

import numpy as np

from examples.problems import Array


def correlation(data: Array, corr: Array, mean: Array, stddev: Array) -> None:
    """Correlations of the columns of ``data``, which is centred and reduced."""
    N, M = data.shape
    for j in range(M):
        mean[j] = 0.0
        for i in range(N):
            mean[j] += data[i, j]
        mean[j] /= N
    for j in range(M):
        stddev[j] = 0.0
        for i in range(N):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        stddev[j] = np.sqrt(stddev[j] / N)
        if stddev[j] <= 0.1:
            stddev[j] = 1.0
    for i in range(N):
        for j in range(M):
            data[i, j] = (data[i, j] - mean[j]) / (np.sqrt(float(N)) * stddev[j])
    for i in range(M - 1):
        corr[i, i] = 1.0
        for j in range(i + 1, M):
            corr[i, j] = 0.0
            for k in range(N):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[M - 1, M - 1] = 1.0


def covariance(data: Array, cov: Array, mean: Array) -> None:
    """Covariances of the columns of ``data``, which is centred."""
    N, M = data.shape
    for j in range(M):
        mean[j] = 0.0
        for i in range(N):
            mean[j] += data[i, j]
        mean[j] /= N
    for i in range(N):
        for j in range(M):
            data[i, j] -= mean[j]
    for i in range(M):
        for j in range(i, M):
            cov[i, j] = 0.0
            for k in range(N):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= N - 1.0
            cov[j, i] = cov[i, j]


def deriche(alpha: float, image: Array, out: Array, y1: Array, y2: Array) -> None:
    """Smooth an image along and across its lines."""
    W, H = image.shape
    decay = np.exp(-alpha)
    k = (1.0 - decay) ** 2 / (1.0 + 2.0 * alpha * decay - np.exp(2.0 * alpha))
    a1, a2 = k, k * decay * (alpha - 1.0)
    a3, a4 = k * decay * (alpha + 1.0), -k * np.exp(-2.0 * alpha)
    b1, b2 = 2.0**-alpha, -np.exp(-2.0 * alpha)
    for i in range(W):
        xm1 = ym1 = ym2 = 0.0
        for j in range(H):
            y1[i, j] = a1 * image[i, j] + a2 * xm1 + b1 * ym1 + b2 * ym2
            xm1, ym1, ym2 = image[i, j], y1[i, j], ym1
    for i in range(W):
        xp1 = xp2 = yp1 = yp2 = 0.0
        for j in range(H - 1, -1, -1):
            y2[i, j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2
            xp1, xp2, yp1, yp2 = image[i, j], xp1, y2[i, j], yp1
    for i in range(W):
        for j in range(H):
            out[i, j] = y1[i, j] + y2[i, j]
    for j in range(H):
        xm1 = ym1 = ym2 = 0.0
        for i in range(W):
            y1[i, j] = a1 * out[i, j] + a2 * xm1 + b1 * ym1 + b2 * ym2
            xm1, ym1, ym2 = out[i, j], y1[i, j], ym1
    for j in range(H):
        xp1 = xp2 = yp1 = yp2 = 0.0
        for i in range(W - 1, -1, -1):
            y2[i, j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2
            xp1, xp2, yp1, yp2 = out[i, j], xp1, y2[i, j], yp1
    for i in range(W):
        for j in range(H):
            out[i, j] = y1[i, j] + y2[i, j]


def floyd_warshall(path: Array) -> None:
    """Lengths of all shortest paths from the lengths of the edges."""
    N = path.shape[0]
    for k in range(N):
        for i in range(N):
            for j in range(N):
                through = path[i, k] + path[k, j]
                if not path[i, j] < through:
                    path[i, j] = through


def nussinov(seq: Array, table: Array) -> None:
    """The largest number of pairs in every stretch of bases."""
    N = seq.shape[0]
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            best = max(table[i, j], table[i, j - 1], table[i + 1, j])
            pair = 1 if i < j - 1 and seq[i] + seq[j] == 3 else 0
            best = max(best, table[i + 1, j - 1] + pair)
            for k in range(i + 1, j):
                best = max(best, table[i, k] + table[k + 1, j])
            table[i, j] = best
