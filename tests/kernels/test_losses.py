"""Losses and norms against their formulas in f64, over made shapes and types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from tests.kernels.formulas import FLOATS, Array, check, made, wide

K = gcg.kernels
SHAPES = [(7,), (3, 5), (2, 3, 4), (1, 1), (0, 3)]
PAIRS: dict[str, Callable[..., Array]] = {
    "l1_loss": lambda x, y: abs(x - y),
    "mse_loss": lambda x, y: (x - y) ** 2,
    "hinge_loss": lambda x, y: np.maximum(1 - x * y, 0),
    "huber_loss": lambda x, y: np.where(
        abs(x - y) <= 1.5, (x - y) ** 2 / 2, 1.5 * (abs(x - y) - 0.75)
    ),
    "smooth_l1_loss": lambda x, y: np.where(
        abs(x - y) < 1.5, (x - y) ** 2 / 3, abs(x - y) - 0.75
    ),
    "kl_div": lambda x, y: np.where(y > 0, y * (np.log(np.where(y > 0, y, 1)) - x), 0),
}
PARAMETERS = {"huber_loss": {"delta": 1.5}, "smooth_l1_loss": {"beta": 1.5}}
REDUCED: dict[str, Callable[[Array], Any]] = {
    "none": lambda each: each,
    "sum": np.sum,
    "mean": np.mean,
}


@pytest.mark.drawn(12)
@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", PAIRS)
def test_losses_of_pairs(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    x, y = made(shape, dtype), abs(made(shape, dtype, 1)) / 4
    for reduction, total in REDUCED.items():
        if reduction == "mean" and 0 in shape:
            continue  # 0 / 0
        right = total(PAIRS[name](wide(x), wide(y)))
        options = PARAMETERS.get(name, {})
        check(getattr(K, name)(x, y, reduction, **options), right, dtype)


@pytest.mark.slow
def test_kl_div_of_logarithms_and_over_a_batch() -> None:
    x, y = made((3, 4), "float64"), abs(made((3, 4), "float64", 1)) + 0.5
    right = (y * (np.log(y) - x)).sum() / 3
    check(K.kl_div(x, np.log(y), "batchmean", log_target=True), right, "f8")


def log_softmax(x: Array) -> Array:
    less = x - x.max(1, keepdims=True)
    return less - np.log(np.exp(less).sum(1, keepdims=True))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("shape", [(5, 7), (2, 3, 4), (2, 5, 2, 3)])
@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
@pytest.mark.drawn(4)
def test_losses_of_classes(name: str, shape: tuple[int, ...], target: str) -> None:
    x = made(shape, "float32")
    around = (shape[0], *shape[2:])
    labels = np.random.default_rng(3).integers(0, shape[1], around)
    labels.flat[1] = -7
    is_softmax = name == "cross_entropy"
    logs = log_softmax(wide(x)) if is_softmax else wide(x)
    known = np.expand_dims(np.maximum(labels, 0), 1)
    each = -np.take_along_axis(logs, known, 1)[:, 0] * (labels >= 0)
    options = {"ignore_index": -7, "target": target}
    function = getattr(K, name)
    check(function(x, labels, "none", **options), each, "f4")
    check(function(x, labels, "sum", **options), each.sum(), "f4")
    mean = each.sum() / (labels >= 0).sum()
    check(function(x, labels.astype("i4"), **options), mean, "f4")


@pytest.mark.slow
def test_a_label_that_is_no_class() -> None:
    found = K.cross_entropy(made((3, 4), "float32"), np.array([0, 4, -1]), "none")
    assert np.isnan(found).tolist() == [False, True, True]


@pytest.mark.slow
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, np.inf])
def test_distances_of_rows(p: float) -> None:
    a, b, c = (made((4, 6), "float64", seed) for seed in range(3))

    def far(other: Array) -> Array:
        return np.linalg.norm(a - other + 1e-3, p, axis=1)

    each = np.maximum(far(b) - far(c) + 2, 0)
    options = {"margin": 2, "p": p, "eps": 1e-3}
    check(K.triplet_margin_loss(a, b, c, **options, reduction="none"), each, "f8")
    check(K.triplet_margin_loss(a, b, c, **options), each.mean(), "f8")


def normalized(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    x = wide(x)
    mean, var = (f(x, axis=axes, keepdims=True) for f in (np.mean, np.var))
    return (x - mean) / np.sqrt(var + eps)


@pytest.mark.drawn(8)
@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(2, 6, 5), (3, 4, 3, 3), (2, 6, 2, 3, 2)])
def test_norms_of_groups(shape: tuple[int, ...], dtype: str, target: str) -> None:
    x = made(shape, dtype)
    weight, bias = made(shape[1:2], dtype, 1), made(shape[1:2], dtype, 2)
    every = tuple(range(2, len(shape)))
    spread = (slice(None), *[None] * len(every))

    def scaled(right: Array) -> Array:
        return right * wide(weight)[spread] + wide(bias)[spread]

    how = {"target": target}
    right = normalized(x, every, 1e-5)
    check(K.instance_norm(x, **how), right, dtype)
    check(K.instance_norm(x, weight=weight, bias=bias, **how), scaled(right), dtype)
    parts = x.reshape(shape[0], 2, -1)
    right = normalized(parts, (2,), 1e-3).reshape(shape)
    check(K.group_norm(x, 2, weight, bias, 1e-3, **how), scaled(right), dtype)
    right = normalized(x, (0, *every), 1e-5)
    check(K.batch_norm(x, weight=weight, bias=bias, **how), scaled(right), dtype)


@pytest.mark.slow
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_norms_along_an_axis(axis: int) -> None:
    x = made((3, 4, 5), "float32")
    weight = made(x.shape[axis:][:1], "float32", 1)
    squares = (wide(x) ** 2).mean(axis, keepdims=True)
    right = np.moveaxis(wide(x) / np.sqrt(squares + 1e-6), axis, -1) * wide(weight)
    found = K.rms_norm(x, weight=weight, eps=1e-6, axis=axis)
    check(found, np.moveaxis(right, -1, axis), "f4")
    for p in (1.0, 2.0, np.inf, 3.0):
        norm = np.linalg.norm(wide(x), p, axis=axis, keepdims=True)
        check(K.normalize(x, p, axis), wide(x) / np.maximum(norm, 1e-12), "f4")


@pytest.mark.slow
@pytest.mark.parametrize("k", [-2, 0, 1, 9])
def test_triangles(k: int) -> None:
    for shape in ((4, 5), (2, 3, 3), (0, 2)):
        x = made(shape, "int32") + 20
        check(K.triu(x, k), np.triu(x, k), "i4")
        check(K.tril(x, k), np.tril(x, k), "i4")


@pytest.mark.slow
def test_clip() -> None:
    x = made((4, 5), "float32")
    check(K.clip(x, -1, 1), x.clip(-1, 1), "f4")
    check(K.clip(x, min=0), x.clip(0), "f4")
    check(K.clip(x, max=x[0]), x.clip(None, x[0]), "f4")


IN_PLACE: dict[str, Callable[..., Array]] = {
    "elementwise": lambda x, out: K.elementwise("x * 2 + 1", x=x, out=out),
    "clip": lambda x, out: K.clip(x, -1, 1, out=out),
    "softmax": lambda x, out: K.softmax(x, out=out),
    "transpose": lambda x, out: K.transpose(x, out=out),
    "cumsum": lambda x, out: K.cumsum(x, 0, out=out),
    "matmul": lambda x, out: K.matmul(x, x, out=out),
    "instance_norm": lambda x, out: K.instance_norm(x[None], out=out[None])[0],
    "stencil": lambda x, out: K.stencil(x, np.ones((3, 3)), out=out),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.sampled(3)
def test_a_result_may_take_the_place_of_an_operand(name: str) -> None:
    x = made((4, 4), "float64")
    right = IN_PLACE[name](x, np.empty_like(x))
    IN_PLACE[name](x, x)
    np.testing.assert_allclose(x, right, atol=1e-12)


def test_what_is_refused() -> None:
    x = made((2, 4), "float32")
    with pytest.raises(errors.InvalidOption, match="reduction"):
        K.mse_loss(x, x, "median")
    with pytest.raises(errors.WrongExtent):
        K.mse_loss(x, x[:1])
    with pytest.raises(errors.WrongDtype):
        K.cross_entropy(x, np.zeros(2))
    with pytest.raises(errors.InvalidOption, match="divisor of 4"):
        K.group_norm(x, 3)
    with pytest.raises(errors.InvalidOption, match="running_var"):
        K.batch_norm(x, np.zeros(4, "f4"))
    with pytest.raises(errors.InvalidOption, match="normalized_shape or axis"):
        K.rms_norm(x)
    with pytest.raises(errors.InvalidOption, match="above 0"):
        K.huber_loss(x, x, delta=0)


@pytest.mark.slow
@pytest.mark.parametrize(("triangle", "part"), [("upper", np.triu), ("lower", np.tril)])
def test_triangles_of_products(triangle: str, part: Callable[[Array], Array]) -> None:
    a, b = made((2, 5, 7), "float32"), made((7, 6), "float32")
    check(K.matmul(a, b, triangle=triangle), part(wide(a) @ wide(b)), "f4")
    with pytest.raises(errors.InvalidOption, match="upper, lower"):
        K.matmul(a, b, triangle="left")
    with pytest.raises(errors.InvalidOption, match="matrices"):
        K.matmul(a[0, 0], b, triangle=triangle)
