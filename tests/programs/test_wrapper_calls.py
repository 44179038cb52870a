"""Calls of ready-made functions whose operands have a form seen before."""

from __future__ import annotations

import numpy as np
import pytest

import gpucodegen as gcg
from gpucodegen import errors
from gpucodegen.calls.launch import form_of, no_fast_path
from gpucodegen.kernels import calls
from gpucodegen.kernels.products.matmul import MATMUL
from gpucodegen.kernels.windows.convolutions import CONVOLUTIONS

RNG = np.random.default_rng(3)


def image_and_filters(channels: int = 5) -> tuple[np.ndarray, np.ndarray]:
    x = RNG.standard_normal((2, 6, 7, channels)).astype(np.float32)
    w = RNG.standard_normal((1, 1, channels, 4)).astype(np.float32)
    return x, w


def convolved(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return np.tensordot(x.astype("f8"), w.astype("f8")[0, 0], 1)


def conv2d(x: np.ndarray, w: np.ndarray, **options: object) -> np.ndarray:
    return gcg.kernels.conv2d(x, w, target="cpu", **options)


def test_later_calls_have_results_of_their_own() -> None:
    results = []
    for _ in range(4):
        x, w = image_and_filters()
        results.append((conv2d(x, w), convolved(x, w)))
    for result, expected in results:
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
        assert result.flags.writeable
        assert result.flags.c_contiguous
        assert result.ctypes.data % 64 == 0


def test_later_calls_are_one_launch() -> None:
    x, w = image_and_filters(9)
    conv2d(x, w)
    options = repr((1, 1, "valid", 1, "NHWC", None)), "cpu", "ieee", False, None
    form = options, form_of((x, w))
    direct = CONVOLUTIONS[2].known[form].again
    assert direct is not no_fast_path
    assert CONVOLUTIONS[2].last[options] is direct


@pytest.mark.slow
def test_transposes_among_calls_of_one_shape() -> None:
    a, b = (RNG.standard_normal((96, 96)) for _ in range(2))
    every = [(a, b), (a, b.T), (a.T, b), (a.T, b.T), (a, b), (a[::-1], b), (b, a)]
    for left, right in every * 2:
        found = gcg.kernels.matmul(left, right, target="cpu")
        np.testing.assert_allclose(found, left @ right)


@pytest.mark.parametrize("kind", ["transposed", "reversed", "read-only", "own"])
def test_operands_of_any_layout(kind: str) -> None:
    for _ in range(3):
        a = RNG.standard_normal((12, 20))
        b = RNG.standard_normal((20, 8))
        out = np.empty((12, 8)) if kind == "own" else None
        given = a
        if kind == "transposed":
            given = np.asfortranarray(a)
        elif kind == "reversed":
            given = np.ascontiguousarray(a[:, ::-1])[:, ::-1]
        elif kind == "read-only":
            given = a.copy()
            given.flags.writeable = False
        result = gcg.kernels.matmul(given, b, out=out, target="cpu")
        assert out is None or result is out
        np.testing.assert_allclose(result, a @ b)


def test_element_types_of_all_operands_count() -> None:
    x, w = image_and_filters()
    conv2d(x, w)
    with pytest.raises(errors.WrongDtype):
        conv2d(x, w.astype(np.float64))
    with pytest.raises(errors.WrongDtype):
        conv2d(x, w, out=np.empty((2, 6, 7, 4)))


def test_shapes_that_do_not_fit_are_refused_again() -> None:
    a, b = np.ones((3, 4)), np.ones((5, 6))
    for _ in range(2):
        with pytest.raises(errors.Error):
            gcg.kernels.matmul(a, b, target="cpu")
    with pytest.raises(errors.WrongArgumentRank):
        gcg.kernels.matmul(np.ones(()), b, target="cpu")


def test_the_target_of_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = np.ones((3, 4)), np.ones((4, 2))
    for _ in range(2):
        gcg.kernels.matmul(a, b, target="cpu")
    monkeypatch.setenv("GPUCODEGEN_TARGET", "nowhere")
    with pytest.raises(errors.UnknownTarget):
        gcg.kernels.matmul(a, b, target="cpu")


@pytest.mark.slow
def test_calls_in_mind_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_CALLS", 2)
    for n in range(1, 6):
        a = np.ones((n, 3))
        np.testing.assert_array_equal(gcg.kernels.matmul(a, a.T, target="cpu"), a @ a.T)
        assert len(MATMUL.known) <= 2
