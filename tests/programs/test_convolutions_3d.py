"""Convolutions of volumes, with strides and dilations, against ``einsum``."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import gpucodegen as gcg

STRIDES, DILATIONS = (2, 1, 2), (2, 1, 1)


def tensor(shape: tuple[int, ...], dtype: str) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{dtype}>"


def text(image: str, filters: str, result: str) -> str:
    return f"""
func.func @f(%x: {image}, %w: {filters}, %o: {result}) -> {result} {{
  %r = linalg.conv_3d_ndhwc_dhwcf {{
      strides = dense<{list(STRIDES)}> : tensor<3xi64>,
      dilations = dense<{list(DILATIONS)}> : tensor<3xi64>}}
    ins(%x, %w : {image}, {filters}) outs(%o : {result}) -> {result}
  return %r : {result}
}}"""


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize(
    ("batch", "pixels", "taps", "channels", "filters"),
    [
        (2, (3, 4, 2), (2, 3, 2), 2, 1),  # columns collapse to a window of one filter
        (1, (4, 5, 4), (2, 3, 2), 3, 4),
        (1, (2, 1, 3), (1, 2, 3), 1, 8),
        (2, (1, 3, 9), (3, 1, 1), 4, 2),
    ],
)
@pytest.mark.sampled(10)
def test_volumes(
    dtype: str,
    batch: int,
    pixels: tuple[int, ...],
    taps: tuple[int, ...],
    channels: int,
    filters: int,
):
    sizes = [
        (n - 1) * stride + (k - 1) * dilation + 1
        for n, k, stride, dilation in zip(pixels, taps, STRIDES, DILATIONS, strict=True)
    ]
    shapes = (
        (batch, *sizes, channels),
        (*taps, channels, filters),
        (batch, *pixels, filters),
    )
    rng = np.random.default_rng(0)
    numpy_type = {"f32": np.float32, "f64": np.float64}[dtype]
    arrays = [rng.integers(-8, 9, shape).astype(numpy_type) for shape in shapes]
    image, weights, wanted = (array.astype(np.float64) for array in arrays)
    for tap in product(*map(range, taps)):
        seen = tuple(
            slice(k * dilation, k * dilation + (n - 1) * stride + 1, stride)
            for k, n, stride, dilation in zip(
                tap, pixels, STRIDES, DILATIONS, strict=True
            )
        )
        wanted += np.einsum("nzyxc,cf->nzyxf", image[:, *seen], weights[tap])
    program = gcg.compile(text(*(tensor(s, dtype) for s in shapes)), target="cpu")
    np.testing.assert_array_equal(program.f(*arrays), wanted)
