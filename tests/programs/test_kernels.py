"""``gcg.kernels`` on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg
from examples.problems import Convolution


def numbers(*shape: int, dtype: str = "f4") -> np.ndarray[Any, Any]:
    return (np.random.default_rng(0).standard_normal(shape) * 9).astype(dtype)


class Foreign:
    shape = (2, 2)
    dtype = "float32"


class TestMatmul:
    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
    @pytest.mark.sampled(3)
    def test_dtypes(self, dtype: str) -> None:
        a, b = numbers(40, 30, dtype=dtype), numbers(30, 50, dtype=dtype)
        result = gcg.kernels.matmul(a, b)
        assert result.dtype == a.dtype
        np.testing.assert_allclose(result, a.astype("f8") @ b, rtol=1e-4, atol=1e-3)

    def test_writes_to_out(self) -> None:
        a, b, out = numbers(20, 30), numbers(30, 10), np.full((20, 10), 7, "f4")
        assert gcg.kernels.matmul(a, b, out=out) is out
        np.testing.assert_allclose(out, a @ b, rtol=1e-4, atol=1e-3)

    @pytest.mark.parametrize("dtype", ["f4", "f8"])
    def test_results_start_at_a_cache_line(self, dtype: str) -> None:
        a, b = numbers(7, 9, dtype=dtype), numbers(9, 5, dtype=dtype)
        kept = [gcg.kernels.matmul(a, b) for _ in range(5)]
        assert not any(result.ctypes.data % 64 for result in kept)
        for result in kept:
            np.testing.assert_allclose(result, a @ b, rtol=1e-4, atol=1e-3)

    def test_operands_need_not_be_contiguous(self) -> None:
        a, b = numbers(30, 20).T, numbers(30, 20)[:, ::2]
        np.testing.assert_allclose(
            gcg.kernels.matmul(a, b), a @ b, rtol=1e-4, atol=1e-3
        )

    @pytest.mark.parametrize(
        ("left_shape", "target"),
        [((9, 20), "cpu"), ((9, 20), "sim"), ((90, 200), "cpu")],
    )
    @pytest.mark.parametrize("turned", [(0, 1), (1, 0), (1, 1)])
    @pytest.mark.sampled(9)
    def test_transposes_are_read_as_they_lie(
        self, turned: tuple[int, int], left_shape: tuple[int, int], target: str
    ) -> None:
        a, b = numbers(*left_shape), numbers(left_shape[1], 7)
        left, right = (
            np.asfortranarray(x) if turns else x
            for x, turns in zip((a, b), turned, strict=True)
        )
        for _ in range(2):
            result = gcg.kernels.matmul(left, right, target=target)
            np.testing.assert_allclose(result, a @ b, rtol=1e-4, atol=1e-3)

    def test_refuses_an_unknown_dtype(self) -> None:
        a = np.zeros((2, 2), object)
        with pytest.raises(gcg.LaunchError, match=r"object.*Convert"):
            gcg.kernels.matmul(a, a)

    def test_refuses_a_number(self) -> None:
        with pytest.raises(gcg.LaunchError, match=r"argument b must have rank 1 or 2"):
            gcg.kernels.matmul(numbers(2, 2), numbers())

    def test_refuses_inner_extents_that_differ(self) -> None:
        with pytest.raises(gcg.Error, match="extent"):
            gcg.kernels.matmul(numbers(2, 3), numbers(4, 5))

    def test_refuses_other_containers(self) -> None:
        with pytest.raises(gcg.LaunchError, match="NumPy, CuPy"):
            gcg.kernels.matmul(Foreign(), Foreign())


class TestConv2d:
    @pytest.mark.slow
    @pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
    @pytest.mark.parametrize("strides", [(1, 1), (2, 1), 2])
    @pytest.mark.parametrize("dilations", [(1, 1), (1, 2)])
    @pytest.mark.sampled(10)
    def test_agrees_with_the_definition(
        self, layout: Any, strides: Any, dilations: Any
    ) -> None:
        pair = (strides, strides) if isinstance(strides, int) else strides
        problem = Convolution(layout.lower(), pair, dilations)
        size = {"B": 2, "H": 9, "W": 8, "C": 3, "F": 5, "KH": 3, "KW": 2}
        x, w, _ = problem.arguments(np.random.default_rng(0), size)
        result = gcg.kernels.conv2d(
            x, w, strides=strides, dilations=dilations, layout=layout
        )
        np.testing.assert_allclose(result, problem.convolve(x, w), rtol=1e-4, atol=1e-4)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("padding", "widths"),
        [
            ("same", ((1, 1), (0, 1))),
            (2, ((2, 2), (2, 2))),
            (((0, 1), (2, 0)), ((0, 1), (2, 0))),
        ],
    )
    @pytest.mark.sampled(2)
    def test_padding(self, padding: Any, widths: Any) -> None:
        x, w = numbers(1, 6, 7, 2), numbers(3, 2, 2, 4)
        padded = np.pad(x, [(0, 0), *widths, (0, 0)])
        np.testing.assert_allclose(
            gcg.kernels.conv2d(x, w, padding=padding),
            gcg.kernels.conv2d(padded, w),
        )

    def test_a_number_is_no_integer_because_an_equal_one_was(self) -> None:
        x, w = numbers(1, 4, 4, 1), numbers(2, 2, 1, 1)
        plain = gcg.kernels.conv2d(x, w, strides=1)
        listed: Any = [1, 1]
        np.testing.assert_array_equal(gcg.kernels.conv2d(x, w, strides=listed), plain)
        wishes: list[Any] = [1.0, (1, 1.0)]
        for strides in wishes:
            with pytest.raises(gcg.Error, match="a positive integer"):
                gcg.kernels.conv2d(x, w, strides=strides)

    @pytest.mark.cases(
        ("options", "remedy"),
        [
            ({"layout": "CHWN"}, "NHWC or NCHW"),
            ({"padding": "full"}, "'same'"),
            ({"padding": -1}, "none below zero"),
            ({"strides": (0, 1)}, "a positive integer, or two"),
            ({"strides": 1.5}, "a positive integer, or two"),
            ({"dilations": (1, 1, 1)}, "a positive integer, or two"),
        ],
    )
    def test_refuses_bad_options(self, options: Any, remedy: str) -> None:
        with pytest.raises(gcg.Error, match=remedy):
            gcg.kernels.conv2d(numbers(1, 4, 4, 1), numbers(2, 2, 1, 1), **options)
