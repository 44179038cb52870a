"""Grids, products of all pairs, and other arrangements of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen.python.composed.checks import axis_of, constant, last_diagonal, spread


def kron(a: Any, b: Any) -> Any:
    a, b = np.asarray(a), np.asarray(b)
    rank = max(a.ndim, b.ndim)
    outer = (1,) * (rank - a.ndim) + a.shape
    inner = (1,) * (rank - b.ndim) + b.shape
    first, second, sizes = (), (), ()
    for n, m in zip(outer, inner, strict=True):
        first, second, sizes = (*first, n, 1), (*second, 1, m), (*sizes, n * m)
    return (a.reshape(first) * b.reshape(second)).reshape(sizes)


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    a, v = np.asarray(a), np.asarray(v)
    n, m = len(a), len(v)
    assert min(n, m) > 0, "convolve of no elements"
    first, count = 0, n + m - 1
    if mode == "same":
        first, count = (min(n, m) - 1) // 2, max(n, m)
    elif mode == "valid":
        first, count = min(n, m) - 1, max(n, m) - min(n, m) + 1
    made = np.zeros(count, np.result_type(a.dtype, v.dtype))
    for k in range(count):
        for j in range(max(0, k + first - m + 1), min(k + first + 1, n)):
            made[k] += a[j] * v[k + first - j]
    return made


def hanning(M: Any) -> Any:
    return 0.5 + 0.5 * np.cos(np.pi * np.arange(1 - M, M, 2) / max(M - 1, 1))


def hamming(M: Any) -> Any:
    return 0.54 + 0.46 * np.cos(np.pi * np.arange(1 - M, M, 2) / max(M - 1, 1))


def blackman(M: Any) -> Any:
    x = np.pi * np.arange(1 - M, M, 2) / max(M - 1, 1)
    return 0.42 + 0.5 * np.cos(x) + 0.08 * np.cos(2.0 * x)


def bartlett(M: Any) -> Any:
    return 1.0 - np.abs(np.arange(1 - M, M, 2) / max(M - 1, 1))


def cross(
    a: Any,
    b: Any,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: Any = None,
) -> Any:
    last = axisc if axis is None else axis
    x = np.moveaxis(np.asarray(a), axisa if axis is None else axis, -1)
    y = np.moveaxis(np.asarray(b), axisb if axis is None else axis, -1)
    assert x.shape[-1] == y.shape[-1] == 3, "cross of vectors of 3"
    parts = tuple(
        [
            x[..., i] * y[..., j] - x[..., j] * y[..., i]
            for i, j in ((1, 2), (2, 0), (0, 1))
        ]
    )
    return np.stack(parts, last)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    moved = np.moveaxis(np.asarray(a), (axis1, axis2), (-2, -1))
    down, right = max(-offset, 0), max(offset, 0)
    count = max(min(moved.shape[-2] - down, moved.shape[-1] - right), 0)
    if offset != 0:  # a slice without elements begins inside, too
        down = min(down, max(moved.shape[-2] - 1, 0))
        right = min(right, max(moved.shape[-1] - 1, 0))
    square = moved[..., down : down + count, right : right + count]
    return last_diagonal(square)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return np.sum(diagonal(a, offset, axis1, axis2), -1)


def diag(v: Any, k: int = 0) -> Any:
    v = np.asarray(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise TypeError("`diag` of this rank", "Give a vector or a matrix")
    down, right = max(-k, 0), max(k, 0)
    size = len(v) + down + right
    made = np.zeros((size, size), v.dtype)
    for i in range(len(v)):
        made[i + down, i + right] = v[i]
    return made


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    one, two = axis_of(axes[0], m.ndim), axis_of(axes[1], m.ndim)
    turns = constant(k, "k=") % 4
    if turns == 0:
        return m[...]
    if turns == 2:
        return np.flip(m, (one, two))
    if turns == 1:
        return np.swapaxes(np.flip(m, two), one, two)
    return np.flip(np.swapaxes(m, one, two), two)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    axis, start = axis_of(axis, a.ndim), constant(start, "start=")
    start = start + a.ndim if start < 0 else start
    return np.moveaxis(a, axis, start - 1 if axis < start else start)


def pad(
    array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0
) -> Any:
    a = np.asarray(array)
    widths = _widths(pad_width, a.ndim)
    if mode == "constant":
        pairs = tuple(zip(a.shape, widths, strict=True))
        made = np.empty(tuple([n + low + high for n, (low, high) in pairs]), a.dtype)
        made[...] = constant_values
        made[tuple([slice(low, low + n) for n, (low, _) in pairs])] = a
        return made
    for d, (low, high) in enumerate(widths):
        n = a.shape[d]
        a = np.take(a, _mirrored(np.arange(-low, n + high), n, mode), d)
    return a


def _widths(given: Any, rank: int) -> Any:
    if np.ndim(given) == 0:
        return ((given, given),) * rank
    if np.ndim(given) == 1:
        return ((given[0], given[-1]),) * rank
    if len(given) not in (1, rank) or len(given[0]) != 2:
        raise TypeError("these widths", "Give a pair for each axis")
    return given * rank if len(given) == 1 else given


def _mirrored(places: Any, n: Any, mode: str) -> Any:
    if mode == "edge":
        return np.clip(places, 0, n - 1)
    if mode == "wrap":
        return places % n
    if mode == "reflect":
        return np.abs((places + n - 1) % (2 * n - 2) - (n - 1))
    if mode == "symmetric":
        return np.minimum(places % (2 * n), 2 * n - 1 - places % (2 * n))
    raise TypeError("the mode of `pad`", "Use constant, edge, wrap or reflect")


def fill_diagonal(a: Any, val: Any) -> None:
    if a.ndim != 2:
        raise TypeError("`fill_diagonal` of no matrix", "Write a loop")
    count = min(a.shape[0], a.shape[1])
    values = np.broadcast_to(np.asarray(val), (count,)) if np.ndim(val) == 0 else val
    for i in range(count):
        a[i, i] = values[i]


def hstack(tup: Any) -> Any:
    parts = tuple([np.atleast_1d(part) for part in tup])
    return np.concatenate(parts, min(1, parts[0].ndim - 1))


def vstack(tup: Any) -> Any:
    return np.concatenate(tuple([np.atleast_2d(part) for part in tup]), 0)


def column_stack(tup: Any) -> Any:
    parts = [np.atleast_1d(part) for part in tup]
    return np.concatenate([p[:, None] if p.ndim == 1 else p for p in parts], 1)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        arr, values, axis = (*(np.ravel(atleast_1d(part)) for part in (arr, values)), 0)
    return np.concatenate((arr, values), axis)


def outer(a: Any, b: Any) -> Any:
    return np.multiply.outer(np.ravel(a), np.ravel(b))


def flatnonzero(a: Any) -> Any:
    return np.nonzero(np.ravel(a))[0]


def meshgrid(*xi: Any, indexing: str = "xy", sparse: bool = False) -> Any:
    rank, turned = len(xi), indexing == "xy"
    places = [1 - d if turned and d < 2 and rank > 1 else d for d in tuple(range(rank))]
    parts = [spread(x, d, rank) for d, x in zip(places, xi, strict=True)]
    if sparse:
        return tuple(parts)
    return tuple([np.copy(part) for part in broadcast_arrays(*parts)])


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    parts = _places(dimensions, dtype)
    if sparse:
        return parts
    return np.stack(tuple([np.broadcast_to(part, dimensions) for part in parts]))


def _places(shape: Any, dtype: Any) -> Any:
    rows = [np.arange(n, dtype=dtype) for n in shape]
    return tuple([spread(row, d, len(shape)) for d, row in enumerate(rows)])


def fromfunction(function: Any, shape: Any, *, dtype: Any = float) -> Any:
    parts = [np.broadcast_to(part, shape) for part in _places(shape, dtype)]
    return function(*parts)


def atleast_1d(a: Any) -> Any:
    a = np.asarray(a)
    return np.broadcast_to(a, (1,)) if a.ndim == 0 else a


def atleast_2d(a: Any) -> Any:
    a = atleast_1d(a)
    return a[None, :] if a.ndim == 1 else a


def broadcast_arrays(*args: Any) -> Any:
    shape = np.broadcast_shapes(*[np.shape(a) for a in args])
    return tuple([np.broadcast_to(a, shape) for a in args])
