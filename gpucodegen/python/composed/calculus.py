"""Differences, gradients, integrals, interpolation and rounding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpucodegen.python.composed.checks import along, axis_of, constant, spread


def round(a: Any, decimals: int = 0) -> Any:  # NumPy scales, rounds and scales back
    kind, decimals = np.result_type(a).kind, constant(decimals, "decimals=")
    if kind == "c":
        return round(a.real, decimals) + 1j * round(a.imag, decimals)
    if kind in "iu":
        if decimals >= 0:
            return np.positive(a)
        return (np.rint(a / 10.0**-decimals) * 10.0**-decimals).astype(a.dtype)
    if decimals == 0:
        return np.rint(a)
    if decimals > 0:
        return np.rint(a * 10.0**decimals) / 10.0**decimals
    return np.rint(a / 10.0**-decimals) * 10.0**-decimals


around = round


def float_power(x1: Any, x2: Any) -> Any:
    kind = np.result_type(x1, x2, np.float64)
    return np.power(x1, x2, dtype=kind)


def fix(x: Any) -> Any:
    return np.copy(x) if np.result_type(x).kind in "iub" else np.trunc(x)


def signbit(x: Any) -> Any:
    return np.copysign(1.0, x) < 0


def modf(x: Any) -> Any:
    x = np.copysign(np.fabs(x), x)  # integers become floats
    whole = np.trunc(x)
    return np.copysign(np.where(np.isinf(x), 0.0, x - whole), x), whole


def logaddexp(x1: Any, x2: Any) -> Any:
    larger, apart = _apart(x1, x2)
    return larger + np.log1p(np.exp(apart))


def logaddexp2(x1: Any, x2: Any) -> Any:
    larger, apart = _apart(x1, x2)
    return larger + np.log1p(np.exp2(apart)) * (1 / math.log(2))


def _apart(x1: Any, x2: Any) -> Any:
    """The larger of two numbers, and the smaller one minus it: 0 if equal."""
    kind = np.hypot(x1, x2).dtype
    x1, x2 = np.multiply(x1, 1, dtype=kind), np.multiply(x2, 1, dtype=kind)
    return np.maximum(x1, x2), np.where(x1 == x2, 0.0, -np.abs(x1 - x2))


def diff(
    a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> Any:
    axis = axis_of(axis, np.ndim(a))
    if prepend is not None:
        a = np.concatenate((_row(prepend, a, axis), a), axis)
    if append is not None:
        a = np.concatenate((a, _row(append, a, axis)), axis)
    return _differences(np.asarray(a), constant(n, "n="), axis)


def _row(value: Any, like: Any, axis: int) -> Any:
    """A number as an array with an extent of 1 along an axis."""
    if np.ndim(value) > 0:
        return value
    shape = (*like.shape[:axis], 1, *like.shape[axis + 1 :])
    return np.broadcast_to(np.asarray(value), shape)


def _differences(a: Any, n: int, axis: int) -> Any:
    if n == 0:
        return a
    count = max(a.shape[axis] - 1, 0)
    high = a[along(axis, slice(a.shape[axis] - count, a.shape[axis]))]
    low = a[along(axis, slice(0, count))]
    step = high != low if a.dtype.kind == "b" else high - low
    return _differences(step, n - 1, axis)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = np.asarray(f)
    axes = tuple(range(f.ndim)) if axis is None else axis
    if np.ndim(axes) == 0:
        return _slope(f, varargs[0] if varargs else 1.0, axes, edge_order)
    steps = varargs if len(varargs) == len(axes) else (varargs or (1.0,)) * len(axes)
    pairs = zip(steps, axes, strict=True)
    made = tuple([_slope(f, h, d, edge_order) for h, d in pairs])
    return made[0] if axis is None and f.ndim == 1 else made


def _slope(f: Any, h: Any, axis: int, edge_order: int) -> Any:
    """Central differences inside, one-sided ones of an order at both ends."""
    axis = axis_of(axis, f.ndim)
    assert f.shape[axis] > edge_order, "gradient of too few elements"
    work = f if f.dtype.kind in "fc" else f.astype(np.float64)
    made = np.empty(f.shape, work.dtype)
    n = f.shape[axis]
    first, second, third = (work[along(axis, k)] for k in (0, 1, 2 * edge_order - 2))
    last, before, earlier = (
        work[along(axis, n - k)] for k in (1, 2, 2 * edge_order - 1)
    )
    low, middle = work[along(axis, slice(0, n - 2))], work[along(axis, slice(1, n - 1))]
    high, inside = work[along(axis, slice(2, n))], along(axis, slice(1, n - 1))
    one, two, begin, end = h, h, (h, h), (h, h)
    if np.ndim(h) > 0:
        steps = diff(h)
        one, two = (spread(x, axis, f.ndim) for x in (steps[: n - 2], steps[1 : n - 1]))
        begin, end = (
            (steps[0], steps[edge_order - 1]),
            (steps[n - 1 - edge_order], steps[n - 2]),
        )
        both = one + two
        made[inside] = (
            one / (two * both) * high
            - two / (one * both) * low
            + (two - one) / (one * two) * middle
        )
    else:
        made[inside] = (high - low) / (2.0 * h)
    made[along(axis, 0)] = (second - first) / begin[0]
    made[along(axis, n - 1)] = (last - before) / end[1]
    if edge_order == 2:  # parabolas through three points
        one, two = begin
        made[along(axis, 0)] = (
            (one + two) / (one * two) * second
            - (2.0 * one + two) / (one * (one + two)) * first
            - one / (two * (one + two)) * third
        )
        one, two = end
        made[along(axis, n - 1)] = (
            two / (one * (one + two)) * earlier
            - (two + one) / (one * two) * before
            + (2.0 * two + one) / (two * (one + two)) * last
        )
    return made


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    axis = axis_of(axis, y.ndim)
    count = max(y.shape[axis] - 1, 0)
    after = slice(y.shape[axis] - count, y.shape[axis])
    both = y[along(axis, after)] + y[along(axis, slice(0, count))]
    if x is None:
        return np.sum(dx * both / 2.0, axis)
    if x.ndim == 1:
        return np.sum(spread(diff(x), axis, y.ndim) * both / 2.0, axis)
    return np.sum(diff(x, axis=axis) * both / 2.0, axis)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    a = a if sorter is None else a[sorter]
    if np.ndim(v) == 0:
        return _place(a, v, side)
    flat = np.ravel(v)
    found = np.empty(flat.shape, np.int64)
    for i in range(flat.shape[0]):
        found[i] = _place(a, flat[i], side)
    return found.reshape(np.shape(v))


def _place(a: Any, x: Any, side: str) -> Any:
    """Binary search; NaN is behind all numbers."""
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        y = a[middle]
        if side == "left":
            is_before = y < x or (_is_nan(x) and not _is_nan(y))
        else:
            is_before = not (x < y or (_is_nan(y) and not _is_nan(x)))
        if is_before:
            low = middle + 1
        else:
            high = middle
    return np.int64(low)


def _is_nan(x: Any) -> Any:
    return np.isnan(x) if np.result_type(x).kind in "fc" else False


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    if period is not None:
        raise TypeError("`period=` of `interp`", "Append the first points to the last")
    x = np.float64(x)
    points, values = np.float64(np.asarray(xp)), np.asarray(fp)
    values = values if values.dtype.kind == "c" else np.float64(values)
    last = len(points) - 1
    place = searchsorted(points, x, "right") - 1
    low = np.clip(place, 0, max(last - 1, 0))
    high = np.minimum(low + 1, last)
    slope = (values[high] - values[low]) / (points[high] - points[low])
    found = slope * (x - points[low]) + values[low]
    other = slope * (x - points[high]) + values[high]
    found = np.where(np.isnan(found), other, found)
    level = np.isnan(found) & (values[low] == values[high])
    found = np.where(level | (points[low] == x), values[low], found)
    found = np.where(place >= last, values[last], found)
    found = np.where(x < points[0], values[0] if left is None else left, found)
    found = np.where(x > points[last], values[last] if right is None else right, found)
    return np.where(np.isnan(x), x, found)
