"""Convolutions, pooling, stencils and places against NumPy in f64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen import errors
from tests.kernels import formulas
from tests.kernels.formulas import Array, check, made, wide

K = gcg.kernels


def channels_first(x: Array) -> Array:
    return np.moveaxis(x, -1, 1)


@st.composite
def layers(draw: st.DrawFn) -> dict[str, Any]:
    sides = draw(st.integers(1, 3))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    taken, made_ = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    taps = tuple(draw(st.integers(1, 3)) for _ in range(sides))
    return {
        "x": (draw(st.integers(0, 2)), *[7] * sides, groups * taken),
        "w": (*taps, taken, groups * made_),
        "groups": groups,
        "steps": draw(st.integers(1, 3)),
        "gaps": draw(st.integers(1, 2)),
        "width": draw(st.integers(0, 2)),
        "last": draw(st.booleans()),
        "bias": draw(st.booleans()),
        "dtype": draw(
            st.sampled_from(
                ["float16", "float32", "float64", "int8", "bool", "uint16", "complex64"]
            )
        ),
    }


def layer(case: dict[str, Any]) -> None:
    sides, dtype = len(case["x"]) - 2, case["dtype"]
    x, w = made(case["x"], dtype), made(case["w"], dtype, 1)
    bias = made((w.shape[-1],), dtype, 2) if case["bias"] else None
    pads = [(0, 0), *[(case["width"],) * 2] * sides, (0, 0)]
    right = formulas.convolved(
        np.pad(x, pads), w, case["groups"], case["steps"], case["gaps"]
    )
    right = right + (0 if bias is None else wide(bias))
    letters = "DHW"[-sides:]
    layout = f"N{letters}C"
    if not case["last"]:
        x, right = channels_first(x), channels_first(right)
        w, layout = np.moveaxis(w, (-1, -2), (0, 1)), f"NC{letters}"
    if dtype in {"int8", "uint16"}:
        right = right.astype("i8").astype(dtype)
    elif dtype == "bool":
        right = right != 0
    options = {"strides": case["steps"], "dilations": case["gaps"], "layout": layout}
    options |= {"padding": case["width"], "groups": case["groups"]}
    check(getattr(K, f"conv{sides}d")(x, w, bias, **options), right, dtype)


@pytest.mark.sampled(6)
@settings(max_examples=3, deadline=None)
@given(layers())
def test_some_layers(case: Any) -> None:
    layer(case)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(layers())
def test_layers(case: Any) -> None:
    layer(case)


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "gaps"), [(1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize("groups", [1, 2])
def test_transposed_layers(steps: int, gaps: int, groups: int) -> None:
    x, w = made((2, 4, 3, 4), "float32"), made((3, 2, 4, 2), "float32", 1)
    taken = 4 // groups
    parts = [slice(g * taken, (g + 1) * taken) for g in range(groups)]
    right = np.concatenate(
        [formulas.transposed(x[..., p], w[:, :, p], steps, gaps) for p in parts], -1
    )
    options = {"strides": steps, "dilations": gaps, "groups": groups}
    check(K.conv_transpose2d(x, w, **options), right, "f4")
    cut = K.conv_transpose2d(x, w, padding=((1, 0), (0, 1)), **options)
    check(cut, right[:, 1:, :-1], "f4")
    first = np.moveaxis(w, (2, 3), (0, 1))
    turned = K.conv_transpose2d(channels_first(x), first, layout="NCHW", **options)
    check(turned, channels_first(right), "f4")


@pytest.mark.slow
@pytest.mark.cases("target", ["cpu", "sim"])
def test_strides_beyond_the_window_leave_the_bias(target: str) -> None:
    x = np.array([1.0, 2.0, 3.0]).reshape(1, 3, 1)
    w, bias = np.array([[[10.0, 20.0]]]), np.array([0.5, -1.0])
    options = {"strides": 3, "output_padding": 2, "target": target}
    expected = np.tile(bias, (1, 9, 1))
    expected[:, ::3] += x * w[0]
    result = K.conv_transpose1d(x, w, bias, **options)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.slow
def test_same_padding_has_as_many_places_as_the_image() -> None:
    x = made((1, 5, 6, 2), "float32")
    assert K.conv2d(x, made((3, 4, 2, 3), "float32"), padding="same").shape == (
        1,
        5,
        6,
        3,
    )
    assert K.max_pool2d(x, 3, strides=2, padding="same").shape == (1, 3, 3, 2)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "float32", "int16", "uint8"])
def test_pooling(dtype: str) -> None:
    x = made((2, 7, 6, 3), dtype)
    every = formulas.windows(wide(x), (3, 2), 2)
    check(K.max_pool2d(x, (3, 2), strides=2), every.max((-1, -2)), dtype)
    mean = "f8" if dtype in {"int16", "uint8"} else dtype
    check(K.avg_pool2d(x, (3, 2), strides=2), every.mean((-1, -2)), mean)


@pytest.mark.slow
def test_padding_of_pools() -> None:
    x = made((2, 7, 6, 3), "float32")
    pads = ((0, 0), (1, 1), (1, 1), (0, 0))
    sums = formulas.windows(np.pad(wide(x), pads), (3, 3), 2).sum((-1, -2))
    counts = formulas.windows(np.pad(np.ones_like(wide(x)), pads), (3, 3), 2)
    options: Any = {"strides": 2, "padding": 1}
    check(K.avg_pool2d(x, 3, **options), sums / 9, "f4")
    found = K.avg_pool2d(x, 3, count_include_pad=False, **options)
    check(found, sums / counts.sum((-1, -2)), "f4")
    least = np.pad(wide(x), pads, constant_values=-np.inf)
    right = formulas.windows(least, (3, 3), 2).max((-1, -2))
    check(K.max_pool2d(x, 3, **options), right, "f4")
    check(K.max_pool2d(x, 3, target="sim", **options), right, "f4")


@pytest.mark.cases("steps", [0, 1, 2, 5, 8])
@pytest.mark.cases("shape", [(9, 8), (6, 5, 7), (11,), (2, 3), (0, 4)])
@pytest.mark.sampled(13)
def test_stencils(steps: int, shape: tuple[int, ...]) -> None:
    x = made(shape, "float32")
    weights = made((3,) * len(shape), "float64", 1) / 27
    check(K.stencil(x, weights, steps), formulas.relaxed(x, weights, steps), "f4")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_places(target: str) -> None:
    x, at = made((4, 5, 3), "float32"), np.array([[0, -1], [2, 1]], "i4")
    check(K.take(x, at, 1, target=target), np.take(x, at, 1), "f4")
    where, updates = np.array([0, 2, 0, -1]), made((4, 4, 3), "float32", 1)
    right = wide(x)
    np.add.at(right, (slice(None), where), wide(updates))
    check(K.scatter_add(x, where, updates, 1, target=target), right, "f4")
    numbers = made((50,), "uint8")
    right = np.bincount(numbers, minlength=12)
    check(K.bincount(numbers, 12, target=target), right, "i8")
    some = np.array([-1.0, -0.3, 0.2, np.nan, 1.0, 2.0, 0.7])
    check(K.histogram(some, 4, (-1, 1), target=target), [1, 1, 1, 2], "i8")


def placed(case: tuple[Array, int, int]) -> None:
    """Any array as it lies, an axis, and the number of places."""
    x, seed, count = case
    axis = seed % x.ndim
    extent = x.shape[axis]
    at = np.random.default_rng(seed).integers(
        -extent, extent or 1, count * (extent > 0)
    )
    np.testing.assert_array_equal(K.take(x, at, axis), np.take(x, at, axis))
    updates = made((*x.shape[:axis], len(at), *x.shape[axis + 1 :]), str(x.dtype), 1)
    right = wide(x)
    np.add.at(right, (*[slice(None)] * axis, at), wide(updates))
    if x.dtype.kind in "fc":
        check(K.scatter_add(x, at, updates, axis), right, x.dtype)


def counted(x: Array) -> None:
    """Whole numbers from zero on, and all numbers in bins."""
    if x.dtype.kind == "u":
        right = np.bincount(x.ravel(), minlength=12)
        check(K.bincount(x.ravel(), 12), right, "i8")
    if x.dtype.kind in "fiu":
        right = np.histogram(x.astype("f8"), 5, (-2.5, 2.5))[0]
        check(K.histogram(x, 5, (-2.5, 2.5)), right, "i8")


PLACED = st.tuples(formulas.arrays(), st.integers(0, 9), st.sampled_from([0, 1, 5]))


@pytest.mark.sampled(3)
@settings(max_examples=6, deadline=None)
@given(PLACED)
def test_some_places(case: tuple[Array, int, int]) -> None:
    placed(case)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(PLACED)
def test_places_of_any_array(case: tuple[Array, int, int]) -> None:
    placed(case)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(formulas.arrays())
def test_counts_of_any_array(x: Array) -> None:
    counted(x)


def test_places_outside() -> None:
    with pytest.raises(gcg.Error, match="outside dimension 0"):
        K.take(made((4,), "float32"), np.array([4]))
    with pytest.raises(gcg.Error, match="outside"):
        K.bincount(np.array([-1]), 3)


@pytest.mark.cases(
    ("call", "refusal"),
    [
        (lambda x, w: K.conv2d(x, w, groups=3), "divides 4"),
        (lambda x, w: K.conv2d(x, w[:, :, :1]), "take 1 channels"),
        (lambda x, w: K.conv2d(x[0], w), "rank 4"),
        (lambda x, w: K.conv_transpose2d(x, w, padding=5), "Pass less than"),
        (lambda x, _: K.max_pool2d(x, 2, padding=2), "half of the window"),
        (lambda x, _: K.stencil(x[0, 0], np.ones((2, 2))), "odd extents"),
        (lambda x, _: K.stencil(x[0, 0], np.ones((3, 3)), -1), "integer >= 0"),
        (lambda x, _: K.histogram(x, 3, (1, 0)), "the smaller one first"),
        (lambda x, _: K.take(x, x, 1), "must hold"),
        (lambda x, _: K.transpose(x, (0, 1)), "each of 4 axes"),
    ],
)
def test_refusals(call: Any, refusal: str) -> None:
    x, w = made((1, 4, 4, 4), "float32"), made((2, 2, 4, 2), "float32")
    with pytest.raises(errors.Error, match=refusal):
        call(x, w)
