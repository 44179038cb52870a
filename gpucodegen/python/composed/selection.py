"""Elements picked, put, split, chosen and compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen.python.composed.checks import along, axis_of, constant, spread


def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    a = np.asarray(a)
    if axis is None:
        return take(np.ravel(a), indices, 0, mode=mode)
    axis = axis_of(axis, a.ndim)
    places = np.asarray(indices) if np.ndim(indices) else indices
    if mode == "wrap":
        places = places % a.shape[axis]
    elif mode == "clip":
        places = np.clip(places, 0, a.shape[axis] - 1)
    elif np.ndim(indices) == 0:
        places = np.where(places < 0, places + a.shape[axis], places)
    return a[along(axis, places)]


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    places, values = np.ravel(np.asarray(ind)), np.ravel(np.asarray(v))
    if mode == "clip":
        places = np.clip(places, 0, a.size - 1)
    places = (
        np.where(places < 0, places + a.size, places)
        if mode == "raise"
        else (places % a.size)
    )
    given = values[np.arange(len(places)) % len(values)]
    a[unravel_index(places, a.shape)] = given


def unravel_index(indices: Any, shape: Any) -> Any:
    if len(shape) == 1:
        return (indices,)
    outer = unravel_index(indices // shape[-1], shape[:-1])
    return (*outer, indices % shape[-1])


def _with_places(a: Any, indices: Any, axis: int) -> Any:
    """A subscript: the indices along an axis, and all places along the others."""
    rows = [np.arange(n) for n in a.shape]
    others = [spread(row, d, a.ndim) for d, row in enumerate(rows)]
    return (*others[:axis], indices, *others[axis + 1 :])


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        return take_along_axis(np.ravel(arr), indices, 0)
    return arr[_with_places(arr, indices, axis_of(axis, arr.ndim))]


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    arr[_with_places(arr, indices, axis_of(axis, arr.ndim))] = values


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    kind = np.result_type(*choicelist, default)
    made = default
    for test, choice in zip(condlist[::-1], choicelist[::-1], strict=True):
        made = np.where(test, choice, made)
    return made.astype(kind)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    axis = axis_of(axis, ary.ndim)
    n = ary.shape[axis]
    if np.ndim(indices_or_sections) > 0:
        ends = tuple([min(e + n if e < 0 else e, n) for e in indices_or_sections])
        starts, ends = (0, *ends), (*ends, n)
    else:
        count = constant(indices_or_sections, "the number of parts")
        if count < 1:
            raise TypeError("a split into no parts", "Give a number of parts")
        size, rest = n // count, n % count
        firsts = tuple([k * size + min(k, rest) for k in tuple(range(count + 1))])
        starts, ends = firsts[:-1], firsts[1:]
    pairs = zip(starts, ends, strict=True)
    return tuple([ary[along(axis, slice(low, max(low, high)))] for low, high in pairs])


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if np.ndim(indices_or_sections) == 0:
        n = ary.shape[axis_of(axis, ary.ndim)]
        assert n % indices_or_sections == 0, "split makes equal parts"
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 2)


def isclose(
    a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> Any:
    x = np.asarray(a) if isinstance(a, (tuple, list)) else a
    y = np.asarray(b) if isinstance(b, (tuple, list)) else b
    y = y if np.result_type(y).kind in "fc" else y * 1.0
    near = np.abs(x - y) <= atol + rtol * np.abs(y)
    found = near & np.isfinite(y) | np.equal(x, y)
    if equal_nan:
        found = found | (np.isnan(x) & np.isnan(y))
    return found


def allclose(
    a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> Any:
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    a, b = np.asarray(a1), np.asarray(a2)
    if a.ndim != b.ndim:
        return False
    found = False
    if a.shape == b.shape:
        same = a == b
        if equal_nan:
            same = same | (np.isnan(a) & np.isnan(b))
        found = bool(np.all(same))
    return found


def _at_least(x: Any, y: Any) -> Any:
    return max(x, y)


def _at_most(x: Any, y: Any) -> Any:
    return min(x, y)


def clip(
    a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    low = a_min if min is None else min
    high = a_max if max is None else max
    if low is None and high is None:
        return np.asarray(a).copy()
    kind = np.result_type(a)
    if low is not None and high is not None:
        common = np.result_type(a, low, high)
        a = a if common == kind else a.astype(common)
        kind = common
    if kind.kind in "iu" and kind != np.int64:
        low = _at_least(low, np.iinfo(kind).min) if isinstance(low, int) else low
        if isinstance(high, int) and kind != np.uint64:
            high = _at_most(high, np.iinfo(kind).max)
    a = a if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)
