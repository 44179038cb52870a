"""``gcg.kernels`` on CuPy arrays."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_matmul(dtype: str) -> None:
    cupy: Any = import_module("cupy")
    a = cupy.arange(70 * 33).reshape(70, 33).astype(dtype) % 7
    b = cupy.arange(33 * 50).reshape(33, 50).astype(dtype) % 5
    result = gcg.kernels.matmul(a, b)
    assert isinstance(result, cupy.ndarray)
    np.testing.assert_array_equal(
        cupy.asnumpy(result), cupy.asnumpy(a) @ cupy.asnumpy(b)
    )


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_conv2d_agrees_with_the_cpu(layout: Any) -> None:
    cupy: Any = import_module("cupy")
    rng = np.random.default_rng(0)
    shapes = {
        "NHWC": ((2, 9, 8, 3), (3, 3, 3, 5)),
        "NCHW": ((2, 3, 9, 8), (5, 3, 3, 3)),
    }
    x, w = (rng.standard_normal(shape).astype("f4") for shape in shapes[layout])
    there = gcg.kernels.conv2d(
        cupy.asarray(x), cupy.asarray(w), strides=(2, 1), padding="same", layout=layout
    )
    here = gcg.kernels.conv2d(x, w, strides=(2, 1), padding="same", layout=layout)
    np.testing.assert_allclose(cupy.asnumpy(there), here, rtol=1e-4, atol=1e-4)
