"""Grids, products of all pairs, and other arrangements of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen.python.composed.checks import axis_of, constant


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


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    return convolve(a, np.conjugate(np.asarray(v)[::-1]), mode)


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
    places = np.arange(count)
    return moved[..., places + down, places + right]


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return np.sum(diagonal(a, offset, axis1, axis2), -1)


def fill_diagonal(a: Any, val: Any) -> None:
    if a.ndim != 2:
        raise TypeError("`fill_diagonal` of no matrix", "Write a loop")
    count = min(a.shape[0], a.shape[1])
    values = np.broadcast_to(np.asarray(val), (count,)) if np.ndim(val) == 0 else val
    for i in range(count):
        a[i, i] = values[i]


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    parts = _places(dimensions, dtype)
    if sparse:
        return parts
    return np.stack(tuple([np.broadcast_to(part, dimensions) for part in parts]))


def _places(shape: Any, dtype: Any) -> Any:
    return tuple(
        [
            np.arange(n, dtype=dtype).reshape(
                (1,) * d + (n,) + (1,) * (len(shape) - d - 1)
            )
            for d, n in enumerate(shape)
        ]
    )


def fromfunction(function: Any, shape: Any, *, dtype: Any = float) -> Any:
    parts = [np.broadcast_to(part, shape) for part in _places(shape, dtype)]
    return function(*parts)


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    turns = constant(k, "k=") % 4
    one, two = axes
    if turns == 0:
        return np.copy(m)
    if turns == 2:
        return np.flip(m, (one, two))
    if turns == 1:
        return np.swapaxes(np.flip(m, two), one, two)
    return np.flip(np.swapaxes(m, one, two), two)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    axis = axis_of(axis, a.ndim)
    start = start + a.ndim if start < 0 else start
    return np.moveaxis(a, axis, start - 1 if axis < start else start)


def atleast_1d(a: Any) -> Any:
    a = np.asarray(a)
    return np.broadcast_to(a, (1,)) if a.ndim == 0 else a


def atleast_2d(a: Any) -> Any:
    a = atleast_1d(a)
    return a[None, :] if a.ndim == 1 else a


def dstack(tup: Any) -> Any:
    return np.concatenate(tuple([_deep(part) for part in tup]), 2)


def _deep(a: Any) -> Any:
    a = atleast_2d(a)
    return a[:, :, None] if a.ndim == 2 else a


def broadcast_arrays(*args: Any) -> Any:
    shape = np.broadcast_shapes(*[np.shape(a) for a in args])
    return tuple([np.broadcast_to(a, shape) for a in args])


def tril_indices(n: Any, k: int = 0, m: Any = None) -> Any:
    return np.nonzero(np.tri(n, m, k, bool))


def triu_indices(n: Any, k: int = 0, m: Any = None) -> Any:
    return np.nonzero(~np.tri(n, m, k - 1, bool))


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    count = len(x) if N is None else N
    powers = np.arange(count)
    powers = powers if increasing else powers[::-1]
    return x[:, None] ** powers[None, :]


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0
) -> Any:
    return np.power(base, np.linspace(start, stop, num, endpoint))


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    sign = np.where(start < 0, -1.0, 1.0)
    low, high = np.log10(start * sign), np.log10(stop * sign)
    made = sign * logspace(low, high, num, endpoint)
    for i in range(min(num, 1)):
        made[i] = start
    if endpoint:
        for i in range(max(num - 1, 1), num):
            made[i] = stop
    return made
