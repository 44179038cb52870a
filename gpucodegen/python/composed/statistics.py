"""Averages, covariances, histograms, counts, and reductions that skip NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen.python.composed.calculus import searchsorted
from gpucodegen.python.composed.checks import axis_of, constant, is_one, spread


def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    a = np.asarray(a)
    if weights is None:
        made = np.mean(a, axis, keepdims=keepdims)
        total = np.full(np.shape(made), a.size / np.size(made), made.dtype)
        return (made, total) if returned else made
    kind = np.result_type(a.dtype, np.asarray(weights).dtype)
    kind = np.result_type(kind, np.float64) if a.dtype.kind in "iub" else kind
    shares = np.asarray(weights, dtype=kind)
    if shares.ndim != a.ndim:
        shares = spread(shares, axis_of(axis, a.ndim), a.ndim)
    total = np.sum(shares, axis, keepdims=keepdims)
    assert np.all(total != 0), "the weights of an average sum to zero"
    made = np.sum(a * shares, axis, dtype=kind, keepdims=keepdims) / total
    return (made, np.broadcast_to(total, np.shape(made))) if returned else made


def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None
) -> Any:
    rows = _observations(m, rowvar)
    if y is not None:
        rows = np.concatenate((rows, _observations(y, rowvar)), 0)
    freedom = (0 if bias else 1) if ddof is None else ddof
    rest = rows - np.mean(rows, 1, keepdims=True)
    count = max(rows.shape[1] - freedom, 0)
    made = np.dot(rest, np.conjugate(rest.T)) * np.true_divide(1, count)
    return made[0, 0] if is_one(rows.shape[0]) else made


def _observations(m: Any, rowvar: bool) -> Any:
    """Variables in rows, of at least double precision."""
    m = np.asarray(m)
    if m.ndim > 2:
        raise TypeError("`cov` of more than two dimensions", "Give a matrix")
    rows = np.atleast_2d(m).astype(np.result_type(m.dtype, np.float64))
    return rows if rowvar or m.ndim == 1 else np.copy(rows.T)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    made = np.asarray(cov(x, y, rowvar))
    if made.ndim == 0:
        return (made / made)[()]
    size = np.sqrt(np.diag(made).real)
    scaled = made / size[:, None] / size[None, :]
    if scaled.dtype.kind == "c":
        real, imaginary = np.clip(scaled.real, -1, 1), np.clip(scaled.imag, -1, 1)
        return real + 1j * imaginary
    return np.clip(scaled, -1, 1)


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    x = np.asarray(x)
    assert np.min(x, initial=0) >= 0, "bincount counts no negative numbers"
    count = max(int(np.max(x, initial=0)) + (x.size > 0), minlength)
    if weights is None:
        found = np.zeros(count, np.int64)
        for i in range(len(x)):
            found[x[i]] += 1
        return found
    total = np.zeros(count)
    for i in range(len(x)):
        total[x[i]] += weights[i]
    return total


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None) -> Any:
    if np.ndim(bins) > 0:
        return np.asarray(bins)
    a = np.asarray(a)
    kind = a.dtype if a.dtype.kind == "f" else np.dtype(np.float64)
    if range is None:
        wide = np.float64(a)
        low, high = np.min(wide, initial=np.inf), np.max(wide, initial=-np.inf)
        if a.size == 0:
            low, high = np.float64(0), np.float64(1)
        assert np.isfinite(high - low), "a histogram of finite numbers"
    else:
        low, high = np.float64(range[0]), np.float64(range[1])
        assert low <= high, "the range of a histogram does not fall"
    more = 0.5 if low == high else 0.0
    return np.linspace(low - more, high + more, bins + 1, dtype=kind)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    flat = np.ravel(a)
    edges = histogram_bin_edges(flat, bins, range)
    count = len(edges) - 1
    kind = np.dtype(np.int64) if weights is None else np.asarray(weights).dtype
    found = np.zeros(count, kind)
    shares = np.ones(1, kind) if weights is None else np.ravel(weights)
    places = np.empty(flat.shape, np.int64)
    if np.ndim(bins) > 0:
        places[...] = searchsorted(edges, flat, "right") - 1
    else:
        work = flat.astype(edges.dtype)
        scale = count / (edges[count] - edges[0])
        for i in _to(len(flat)):  # the quotient may round across one edge
            x = work[i]
            place = -1
            if edges[0] <= x <= edges[count]:
                place = min(int((x - edges[0]) * scale), count - 1)
                if x < edges[place]:
                    place = place - 1
                elif place < count - 1 and x >= edges[place + 1]:
                    place = place + 1
            places[i] = place
    places[flat == edges[count]] = count - 1
    for i in _to(len(flat)):
        if 0 <= places[i] < count:
            found[places[i]] += shares[0 if weights is None else i]
    if constant(density, "density="):
        return found / np.float64(edges[1:] - edges[:count]) / np.sum(found), edges
    return found, edges


def _to(n: int) -> Any:
    return range(n)


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    x = np.asarray(x)
    if x.dtype.kind in "iub":
        return np.copy(x)
    high = np.finfo(x.dtype).max if posinf is None else posinf
    low = np.finfo(x.dtype).min if neginf is None else neginf
    if x.dtype.kind == "c":
        real, imaginary = (
            nan_to_num(part, copy, nan, posinf, neginf) for part in (x.real, x.imag)
        )
        return real + 1j * imaginary
    finite = np.where(x == np.inf, high, np.where(x == -np.inf, low, x))
    return np.where(np.isnan(x), nan, finite)
