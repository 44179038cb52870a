"""What operations are, as NumPy in f64, and arrays to ask them about."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

Array = np.ndarray[Any, Any]

FLOATS = ("float16", "float32", "float64")
WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
REAL = (*FLOATS, *WHOLE, "bool")
EVERY = (*REAL, *COMPLEX)
DISTANCE = {"float16": 4e-3, "float32": 2e-5, "complex64": 2e-5}
"""How far results of narrow elements may be from exact ones, of the largest."""


def made(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Numbers around zero, or from zero on, of a type."""
    numbers = np.random.default_rng(seed).integers(-9, 10, shape) / 2
    if dtype.startswith("complex"):
        return (numbers + 1j * numbers[::-1]).astype(dtype)
    if dtype.startswith(("u", "b")):
        return np.abs(numbers).astype(dtype)
    return numbers.astype(dtype)


def wide(array: Array) -> Array:
    """The same numbers in a type in which sums are exact enough."""
    return array.astype("c16" if array.dtype.kind == "c" else "f8")


def check(found: Any, right: Any, dtype: Any) -> None:
    """Raise an AssertionError unless a result has this type and these numbers."""
    right = np.asarray(right)
    assert isinstance(found, np.ndarray)
    assert found.shape == right.shape
    assert found.dtype == dtype
    scale = float(np.abs(right[np.isfinite(right)]).max(initial=1))
    far = DISTANCE.get(str(found.dtype), 1e-12)
    exact = found.astype(right.dtype)
    np.testing.assert_allclose(exact, right, rtol=far, atol=far * scale)


shapes = st.lists(st.sampled_from([0, 1, 2, 3, 5]), min_size=1, max_size=3).map(tuple)
"""Shapes of one to three axes, with extents of 0 and 1."""


@st.composite
def arrays(draw: st.DrawFn, dtypes: tuple[str, ...] = EVERY) -> Array:
    """Arrays that lie row by row, turned, backwards, or with gaps."""
    array = made(draw(shapes), draw(st.sampled_from(dtypes)), draw(st.integers(0, 9)))
    match draw(st.sampled_from(["whole", "turned", "backwards", "gaps"])):
        case "turned":
            return array.T
        case "backwards":
            return array[::-1]
        case "gaps":
            return np.repeat(array, 2, -1)[..., ::2]
        case _:
            return array


def softmax(x: Array, axis: int) -> Array:
    powers = np.exp(wide(x) - wide(x).max(axis, keepdims=True, initial=-np.inf))
    return powers / powers.sum(axis, keepdims=True)


def normed(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    x = wide(x)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def windows(x: Array, extents: tuple[int, ...], steps: int, gaps: int = 1) -> Array:
    """All windows of images whose channels are last; those of each place at the end."""
    sides = tuple(range(1, x.ndim - 1))
    reach = [(n - 1) * gaps + 1 for n in extents]
    every = sliding_window_view(x, reach, sides)
    at = (slice(None), *[slice(None, None, steps)] * len(sides), slice(None))
    return every[(*at, *[slice(None, None, gaps)] * len(sides))]


def convolved(x: Array, w: Array, groups: int, steps: int, gaps: int) -> Array:
    """Images (n, sides, c) and filters (sides, c / groups, f)."""
    sides = x.ndim - 2
    taken, made_ = w.shape[-2], w.shape[-1] // groups
    found = windows(wide(x), w.shape[:sides], steps, gaps)
    parts = [
        np.tensordot(
            found[(*[slice(None)] * (sides + 1), slice(g * taken, (g + 1) * taken))],
            wide(w)[..., g * made_ : (g + 1) * made_],
            ([*range(sides + 2, 2 * sides + 2), sides + 1], [*range(sides), sides]),
        )
        for g in range(groups)
    ]
    return np.concatenate(parts, -1)


def transposed(x: Array, w: Array, steps: int, gaps: int) -> Array:
    """Each element of images (n, h, w, c) times the filters (h, w, c, f), added up."""
    n, *image, _ = x.shape
    extents = [
        (e - 1) * steps + (k - 1) * gaps + 1
        for e, k in zip(image, w.shape[:2], strict=True)
    ]
    result = np.zeros((n, *extents, w.shape[-1]))
    for y, z in np.ndindex(*image):
        for i, j in np.ndindex(*w.shape[:2]):
            at = slice(None), y * steps + i * gaps, z * steps + j * gaps
            result[at] += wide(x)[:, y, z] @ wide(w)[i, j]
    return result


def relaxed(x: Array, weights: Array, steps: int) -> Array:
    """Steps of weighted sums of neighbours; the border stays."""
    x = wide(x)
    inner = tuple(slice(n // 2, -(n // 2) or None) for n in weights.shape)
    for _ in range(steps):
        y = x.copy()
        if all(have >= want for have, want in zip(x.shape, weights.shape, strict=True)):
            axes = tuple(range(-x.ndim, 0))
            y[inner] = (sliding_window_view(x, weights.shape) * weights).sum(axes)
        x = y
    return x
