"""Convolutions of all layouts, strides, dilations and odd extents against NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import gpucodegen as gcg

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Kind:
    """Letters of a named operation: extents of image, filter and result."""

    image: str
    filter: str
    result: str

    @property
    def sum(self) -> str:
        """The same as an ``einsum`` of all windows (y, x: pixels; h, w: taps)."""
        windows = self.image.replace("y", "yh").replace("x", "xw")
        return f"{windows},{self.filter}->{self.result}"


KINDS = {
    "conv_2d_nhwc_hwcf": Kind("nyxc", "hwcf", "nyxf"),
    "conv_2d_nchw_fchw": Kind("ncyx", "fchw", "nfyx"),
    "conv_2d_nhwc_fhwc": Kind("nyxc", "fhwc", "nyxf"),
    "conv_2d_ngchw_gfchw": Kind("ngcyx", "gfchw", "ngfyx"),
    "conv_2d_nhwgc_gfhwc": Kind("nyxgc", "gfhwc", "nyxgf"),
    "depthwise_conv_2d_nhwc_hwc": Kind("nyxc", "hwc", "nyxc"),
    "depthwise_conv_2d_nchw_chw": Kind("ncyx", "chw", "ncyx"),
    "depthwise_conv_2d_nhwc_hwcm": Kind("nyxc", "hwcm", "nyxcm"),
}


@dataclass(frozen=True)
class Problem:
    """One operation with all its extents."""

    name: str
    extents: dict[str, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    dtype: str = "f32"

    @staticmethod
    def random(name: str, seed: int, dtype: str = "f32") -> Problem:
        rng = np.random.default_rng(seed)
        small = {letter: int(rng.integers(1, 4)) for letter in "nghwm"}
        large = {letter: int(rng.integers(1, 40)) for letter in "yxfc"}
        high, wide, along, across = map(int, rng.integers(1, 4, 4))
        return Problem(name, small | large, (high, wide), (along, across), dtype)

    @property
    def kind(self) -> Kind:
        return KINDS[self.name]

    def image_extent(self, letter: str) -> int:
        if letter not in "yx":
            return self.extents[letter]
        side, tap = "yx".index(letter), "hw"["yx".index(letter)]
        reach = (self.extents[tap] - 1) * self.dilations[side] + 1
        slack = self.extents["n"] - 1
        return (self.extents[letter] - 1) * self.strides[side] + reach + slack

    def arguments(self) -> list[Array]:
        rng, kind = np.random.default_rng(0), self.kind
        shapes = [
            [self.image_extent(letter) for letter in kind.image],
            [self.extents[letter] for letter in kind.filter],
            [self.extents[letter] for letter in kind.result],
        ]
        numpy_type = {"f32": "f4", "f64": "f8", "i32": "i4"}[self.dtype]
        return [rng.integers(-8, 9, shape).astype(numpy_type) for shape in shapes]

    def answer(self, image: Array, filters: Array, result: Array) -> Array:
        kind, exact = self.kind, image.astype("f8")
        shape: list[int] = []
        steps: list[int] = []
        for letter, step in zip(kind.image, exact.strides, strict=True):
            shape.append(self.extents[letter])
            if letter not in "yx":
                steps.append(step)
                continue
            side = "yx".index(letter)
            shape.append(self.extents["hw"[side]])
            steps += [step * self.strides[side], step * self.dilations[side]]
        windows = np.lib.stride_tricks.as_strided(exact, shape, steps)
        return result + np.einsum(kind.sum, windows, filters.astype("f8"))

    def text(self, fill: bool) -> str:
        image, filters, result = (
            f"memref<{'x'.join(map(str, a.shape))}x{self.dtype}>"
            for a in self.arguments()
        )
        zero = "0.0" if self.dtype[0] == "f" else "0"
        start = (
            f"%z = arith.constant {zero} : {self.dtype}\n"
            f"linalg.fill ins(%z : {self.dtype}) outs(%r : {result})\n"
        )
        return f"""func.func @f(%i: {image}, %w: {filters}, %r: {result}) {{
        {start if fill else ""}
        linalg.{self.name} {{strides = dense<{list(self.strides)}> : vector<2xi64>,
          dilations = dense<{list(self.dilations)}> : vector<2xi64>}}
          ins(%i, %w : {image}, {filters}) outs(%r : {result})
        return
        }}"""

    def check(self, *, fill: bool, **options: Any) -> None:
        image, filters, result = self.arguments()
        start = np.zeros_like(result) if fill else result
        wanted = self.answer(image, filters, start)
        gcg.compile(self.text(fill), **options).f(image, filters, result)
        np.testing.assert_array_equal(result, wanted, str(self))


CASES = [(name, seed) for seed in range(2) for name in KINDS]


@pytest.mark.parametrize(("name", "seed"), CASES)
@pytest.mark.sampled(18)
def test_on_the_cpu(name: str, seed: int) -> None:
    Problem.random(name, seed).check(fill=bool(seed), target="cpu", threads=1 + seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["conv_2d_nhwc_hwcf", "conv_2d_nchw_fchw"])
@pytest.mark.parametrize("dtype", ["f64", "i32"])
def test_other_elements(name: str, dtype: str) -> None:
    Problem.random(name, 3, dtype).check(fill=True, target="cpu")


@pytest.mark.drawn(6)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["conv_2d_nhwc_hwcf", "conv_2d_nchw_fchw"])
@pytest.mark.parametrize("size", [7, 14])
@pytest.mark.parametrize("stride", [1, 2])
def test_layers_on_two_threads(name: str, size: int, stride: int) -> None:
    extents = {"n": 1, "y": size, "x": size, "c": 48, "f": 80, "h": 3, "w": 3}
    problem = Problem(name, extents, (stride, stride), (1, 1))
    problem.check(fill=True, target="cpu", threads=2)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["conv_2d_nhwc_hwcf", "conv_2d_nchw_fchw"])
def test_one_by_one_windows_are_matrix_products(name: str) -> None:
    extents = {"n": 1, "y": 13, "x": 9, "c": 37, "f": 21, "h": 1, "w": 1}
    Problem(name, extents, (1, 1), (1, 1)).check(fill=True, target="cpu")


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_wide_strides(name: str) -> None:
    small = {"n": 2, "h": 1, "w": 5, "g": 1, "m": 3}
    extents = small | {"y": 3, "x": 21, "c": 20, "f": 5}
    Problem(name, extents, (2, 2), (1, 1)).check(fill=True, target="cpu", threads=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_wide_images(name: str) -> None:
    extents = {
        "n": 1,
        "y": 5,
        "x": 61,
        "c": 33,
        "f": 19,
        "h": 3,
        "w": 3,
        "g": 2,
        "m": 2,
    }
    Problem(name, extents, (1, 1), (1, 1)).check(fill=False, target="cpu")


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_on_the_emulated_device(name: str) -> None:
    small = {"n": 1, "y": 3, "x": 4, "c": 3, "f": 5, "h": 2, "w": 2, "g": 2, "m": 2}
    Problem(name, small, (1, 2), (2, 1)).check(fill=True, target="sim")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strided", ["filter", "result"])
def test_images_in_rows_and_other_operands_with_gaps(strided: str) -> None:
    gaps = {"filter": "strided<[216, 12, 4, 1]>", "result": "strided<[512, 32, 1]>"}
    layouts = {name: f", {gaps[name]}" if name == strided else "" for name in gaps}
    image = "memref<1x17x16x20xf32>"
    kernel = f"memref<33x17x3x3xf32{layouts['filter']}>"
    output = f"memref<1x33x14x18xf32{layouts['result'].replace('<[', '<[16896, ')}>"
    text = f"""func.func @f(%I: {image}, %K: {kernel}, %O: {output}) {{
      linalg.conv_2d_nchw_fchw {{dilations = dense<1> : vector<2xi64>,
                                 strides = dense<1> : vector<2xi64>}}
        ins(%I, %K : {image}, {kernel}) outs(%O : {output})
      return
    }}"""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((1, 17, 16, 20)).astype("f4")
    filters = np.zeros((33, 18, 3, 4) if strided == "filter" else (33, 17, 3, 3), "f4")
    k = filters[:, :17, :, :3]
    k[...] = rng.standard_normal(k.shape)
    results = np.zeros(
        (1, 33, 16, 32) if strided == "result" else (1, 33, 14, 18), "f4"
    )
    y = results[:, :, :14, :18]
    gcg.compile(text, target="cpu").f(x, k, y)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype("f8"), (3, 3), (2, 3))
    expected = np.einsum("ncyxhw,fchw->nfyx", windows, k.astype("f8"))
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-3)
    assert not results[:, :, 14:].any()
    assert not results[..., 18:].any()
