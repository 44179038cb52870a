"""Reductions, running sums and rows against NumPy in f64, over made shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucodegen as gcg
from gpucodegen import errors
from tests.kernels import formulas
from tests.kernels.formulas import EVERY, FLOATS, Array, check, made, wide

K = gcg.kernels
ROOMY = ("sum", "prod", "all", "any", "count_nonzero", "mean", "var", "std")
ORDERED = ("max", "min", "argmax", "argmin")


def reduced(name: str, x: Array, **options: Any) -> None:
    """Compare a reduction with NumPy's, in f64 and of NumPy's type."""
    function = getattr(np, name)
    with np.errstate(all="ignore"):
        dtype = np.asarray(function(np.ones(1, x.dtype))).dtype
        is_exact = x.dtype.kind in "iub" or name in {*ORDERED, "all", "any"}
        right = function(x if is_exact else wide(x), **options)
    check(getattr(K, name)(x, **options), right, dtype)


def some_axis(x: Array, at: int, several: bool) -> Any:
    return (at % x.ndim, x.ndim - 1)[: 1 + (several and at % x.ndim < x.ndim - 1)]


CASES = st.tuples(formulas.arrays(), st.integers(0, 2), st.booleans(), st.booleans())


def one(name: str, case: tuple[Array, int, bool, bool]) -> None:
    x, at, keepdims, several = case
    axes: Any = some_axis(x, at, several)
    if name in ORDERED:
        if x.dtype.kind == "c" or 0 in [x.shape[axis] for axis in axes]:
            return
        axes = axes[0] if name.startswith("arg") else axes
    if name in {"mean", "var", "std"} and 0 in x.shape:
        return  # NumPy warns; `test_nothing` has these
    reduced(name, x, axis=axes, keepdims=keepdims)


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(st.sampled_from((*ROOMY, *ORDERED)), CASES)
def test_some_reductions(name: str, case: Any) -> None:
    one(name, case)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ROOMY, *ORDERED])
@settings(max_examples=60, deadline=None)
@given(CASES)
@pytest.mark.drawn(6)
def test_reductions(name: str, case: Any) -> None:
    one(name, case)


@pytest.mark.drawn(60)
@pytest.mark.slow
@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("name", [*ROOMY, *ORDERED])
def test_elements(name: str, dtype: str) -> None:
    if name in ORDERED and dtype.startswith("complex"):
        with pytest.raises(errors.WrongDtype):
            getattr(K, name)(made((3, 4), dtype))
        return
    if name == "prod" and dtype == "float16":
        return  # products of many leave the type
    reduced(name, made((3, 4), dtype), axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("name", ["sum", "argmax"])
def test_targets(name: str, target: str) -> None:
    x = made((4, 40), "float32")
    check(
        getattr(K, name)(x, axis=1, target=target),
        getattr(np, name)(x, 1),
        "f4" if name == "sum" else "i8",
    )


@pytest.mark.slow
def test_places_of_nan_and_of_ties() -> None:
    x = np.array([[1, np.nan, 3, np.nan], [np.inf, 2, np.inf, 0]], "f4")
    assert K.argmax(x, 1).tolist() == [1, 0]
    assert K.argmin(x, 1).tolist() == [1, 3]


def test_nothing() -> None:
    x = np.zeros((0, 3), "f4")
    check(K.sum(x, 0), np.zeros(3), "f4")
    assert np.isnan(K.mean(x, 0)).all()
    with pytest.raises(errors.WrongArgumentType, match="with elements"):
        K.max(x, 0)


def test_logsumexp_of_the_largest_and_the_least() -> None:
    x = np.array([[1e4, 1e4], [-np.inf, -np.inf], [np.inf, 0]])
    check(K.logsumexp(x, 1), [1e4 + np.log(2), -np.inf, np.inf], "f8")


def test_types_of_sums() -> None:
    x = made((3, 50), "int8")
    assert K.sum(x, dtype="i4").dtype == np.int32
    check(K.sum(made((100,), "float16") * 100, 0), 100 * made((100,), "f8").sum(), "f2")


@pytest.mark.parametrize("axis", [3, 1.0, (0, 0)])
def test_axes_that_are_none(axis: Any) -> None:
    with pytest.raises(errors.InvalidOption, match="axis"):
        K.sum(np.zeros((2, 3)), axis)


ROWS = st.tuples(formulas.arrays(FLOATS), st.integers(-1, 2))


def row_functions(case: tuple[Array, int]) -> None:
    x, at = case
    axis = at if at < x.ndim else 0
    right = formulas.softmax(x, axis)
    check(K.softmax(x, axis), right, x.dtype)
    with np.errstate(divide="ignore"):
        check(K.log_softmax(x, axis), np.log(right), x.dtype)
    check(K.cumsum(x, axis), np.cumsum(wide(x), axis), x.dtype)


@pytest.mark.sampled(2)
@settings(max_examples=2, deadline=None)
@given(ROWS)
def test_some_rows(case: Any) -> None:
    row_functions(case)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_rows(case: Any) -> None:
    row_functions(case)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", EVERY)
def test_running_sums(dtype: str) -> None:
    x = made((3, 4), dtype)
    for name in ("cumsum", "cumprod"):
        function, is_whole = getattr(np, name), x.dtype.kind in "iub"
        right = function(x if is_whole else wide(x), 1)
        check(getattr(K, name)(x, 1), right, function(x, 1).dtype)
    check(
        K.cumsum(x),
        np.cumsum(x if x.dtype.kind in "iub" else wide(x)),
        np.cumsum(x).dtype,
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_norms(dtype: str) -> None:
    x, w, b = made((3, 5, 7), dtype), made((7,), dtype, 1), made((7,), dtype, 2)
    norm = formulas.normed(x, (2,), 1e-5)
    check(K.layer_norm(x, 7, w, b), norm * wide(w) + wide(b), dtype)
    root = np.sqrt((wide(x) ** 2).mean((1, 2), keepdims=True) + 1e-6)
    check(K.rms_norm(x, (5, 7), eps=1e-6), wide(x) / root, dtype)
    mean, var = made((5,), dtype, 3), np.abs(made((5,), dtype, 4))
    scaled = (wide(x) - wide(mean)[:, None]) / np.sqrt(wide(var)[:, None] + 1e-5)
    check(K.batch_norm(x, mean, var), scaled, dtype)
    check(K.batch_norm(x, mean, var, bias=mean), scaled + wide(mean)[:, None], dtype)


def test_norms_refuse_other_shapes() -> None:
    x = made((3, 4), "float32")
    with pytest.raises(errors.InvalidOption, match="last extents"):
        K.layer_norm(x, 3)
    with pytest.raises(errors.WrongExtent):
        K.layer_norm(x, 4, made((3,), "float32"))
    with pytest.raises(errors.WrongDtype):
        K.softmax(made((3, 4), "int32"))
