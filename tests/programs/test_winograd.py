"""Winograd's transforms around a product, against the convolution that they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import gpucodegen as gcg

SIZES = [(2, 3), (4, 3), (2, 5)]
F, C, N = 4, 3, 2


def tensor(*shape: int) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def program(m: int, r: int, taps: tuple[int, int], tiles: tuple[int, int]) -> str:
    """The three transforms and the sum over channels between them."""
    alpha = [m + r - 1 if t > 1 else 1 for t in taps]
    points = [m if t > 1 else 1 for t in taps]
    high, wide = (n * p for n, p in zip(tiles, points, strict=True))
    g, d = tensor(F, *taps, C), tensor(N, high + taps[0] - 1, wide + taps[1] - 1, C)
    o, u = tensor(N, high, wide, F), tensor(*alpha, C, F)
    v, w = tensor(*alpha, *tiles, N, C), tensor(*alpha, *tiles, N, F)
    return f"""
    #u = affine_map<(i, j, s, t, n, f, c) -> (i, j, c, f)>
    #v = affine_map<(i, j, s, t, n, f, c) -> (i, j, s, t, n, c)>
    #w = affine_map<(i, j, s, t, n, f, c) -> (i, j, s, t, n, f)>
    func.func @f(%g: {g}, %d: {d}, %o: {o}) -> {o} {{
      %zero = arith.constant 0.0 : f32
      %u0 = tensor.empty() : {u}
      %v0 = tensor.empty() : {v}
      %w0 = tensor.empty() : {w}
      %start = linalg.fill ins(%zero : f32) outs(%w0 : {w}) -> {w}
      %u = linalg.winograd_filter_transform fmr(F_{m}_{r})
        ins(%g : {g}) outs(%u0 : {u}) -> {u}
      %v = linalg.winograd_input_transform fmr(F_{m}_{r})
        ins(%d : {d}) outs(%v0 : {v}) -> {v}
      %w = linalg.contract indexing_maps = [#u, #v, #w]
        ins(%u, %v : {u}, {v}) outs(%start : {w}) -> {w}
      %r = linalg.winograd_output_transform fmr(F_{m}_{r})
        ins(%w : {w}) outs(%o : {o}) -> {o}
      return %r : {o}
    }}"""


def check(m: int, r: int, taps: tuple[int, int], target: str) -> None:
    tiles = tuple(n if t > 1 else 1 for n, t in zip((2, 3), taps, strict=True))
    high, wide = (n * (m if t > 1 else 1) for n, t in zip(tiles, taps, strict=True))
    rng = np.random.default_rng(1)

    def random(*shape: int) -> Any:
        return rng.random(shape).astype("f4")

    filters, start = random(F, *taps, C), random(N, high, wide, F)
    image = random(N, high + taps[0] - 1, wide + taps[1] - 1, C)
    windows = sliding_window_view(image.astype(float), taps, (1, 2))
    want = start + np.einsum("nyxchw,fhwc->nyxf", windows, filters)
    text = program(m, r, taps, (tiles[0], tiles[1]))
    got = gcg.compile(text, target=target).f(filters, image, start)
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("m", "r"), SIZES)
def test_a_convolution(m: int, r: int):
    check(m, r, (r, r), "cpu")


@pytest.mark.slow
@pytest.mark.parametrize("side", [0, 1])
def test_filters_of_one_row_or_column(side: int):
    check(4, 3, ((3, 1), (1, 3))[side], "cpu")


@pytest.mark.slow
@pytest.mark.parametrize(("m", "r"), SIZES)
@pytest.mark.parametrize("form", range(3))
@pytest.mark.drawn(4)
def test_on_a_gpu(m: int, r: int, form: int):
    check(m, r, ((r, r), (r, 1), (1, r))[form], "sim")
