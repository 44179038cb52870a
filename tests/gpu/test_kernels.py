"""``gcg.kernels`` on arrays of a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_matmul(dtype: str, xp: Any) -> None:
    a = xp.asarray((np.arange(70 * 33).reshape(70, 33) % 7).astype(dtype))
    b = xp.asarray((np.arange(33 * 50).reshape(33, 50) % 5).astype(dtype))
    result = gcg.kernels.matmul(a, b)
    assert type(result) is type(a)
    np.testing.assert_array_equal(xp.asnumpy(result), xp.asnumpy(a) @ xp.asnumpy(b))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_conv2d_agrees_with_the_cpu(layout: Any, xp: Any) -> None:
    rng = np.random.default_rng(0)
    shapes = {
        "NHWC": ((2, 9, 8, 3), (3, 3, 3, 5)),
        "NCHW": ((2, 3, 9, 8), (5, 3, 3, 3)),
    }
    x, w = (rng.standard_normal(shape).astype("f4") for shape in shapes[layout])
    there = gcg.kernels.conv2d(
        xp.asarray(x), xp.asarray(w), strides=(2, 1), padding="same", layout=layout
    )
    here = gcg.kernels.conv2d(x, w, strides=(2, 1), padding="same", layout=layout)
    np.testing.assert_allclose(xp.asnumpy(there), here, rtol=1e-4, atol=1e-4)
