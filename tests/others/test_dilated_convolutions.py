"""Convolutions of dilated images: gradients of strided ones, transposed ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import gpucodegen as gcg


@dataclass(frozen=True)
class Case:
    """Per spatial dimension but for the groups."""

    image: tuple[int, int]
    window: tuple[int, int]
    spacing: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    padding: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    reversal: tuple[bool, bool] = (False, False)
    groups: int = 1
    batches: int = 1


CASES = {
    "gradient of stride 2": Case((5, 4), (3, 3), (2, 2), padding=((1, 2), (1, 2))),
    "gradient of one tap": Case((3, 4), (1, 1), (2, 3), padding=((0, 1), (0, 2))),
    "cut": Case((4, 5), (2, 4), (3, 2), padding=((-1, 2), (1, -2))),
    "all far away": Case((2, 3), (2, 2), (2, 2), padding=((7, 0), (0, 9))),
    "strided": Case((6, 5), (4, 3), (2, 3), (3, 2), (1, 2), ((2, 1), (3, 3))),
    "turned": Case((4, 4), (3, 4), (2, 4), reversal=(True, False), groups=2),
    "gaps of both": Case((5, 5), (3, 3), (2, 3), (1, 1), (2, 3), ((2, 2), (3, 1))),
    "groups of images": Case((4, 3), (2, 3), (2, 1), batches=2),
}


def text(case: Case, x: Any, w: Any, result: Any) -> str:
    def words(values: Any) -> str:
        return ", ".join(map(str, values))

    def shape(array: Any) -> str:
        return "x".join(map(str, array.shape)) + "xf32"

    sides = ", ".join(f"[{low}, {high}]" for low, high in case.padding)
    turned = words(str(t).lower() for t in case.reversal)
    return f"""func.func @f(%x: tensor<{shape(x)}>, %w: tensor<{shape(w)}>)
        -> tensor<{shape(result)}> {{
      %0 = stablehlo.convolution(%x, %w)
        dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {{stride = [{words(case.strides)}], pad = [{sides}],
          lhs_dilate = [{words(case.spacing)}],
          rhs_dilate = [{words(case.dilations)}], reverse = [{turned}]}}
        {{batch_group_count = {case.batches} : i64,
          feature_group_count = {case.groups} : i64}}
        : (tensor<{shape(x)}>, tensor<{shape(w)}>) -> tensor<{shape(result)}>
      return %0 : tensor<{shape(result)}>
    }}"""


def reference(case: Case, x: Any, w: Any) -> Any:
    """The image with its zeros, window by window."""
    n, *image, channels = x.shape
    lows, highs = zip(*case.padding, strict=True)
    spans = [(m - 1) * g + 1 for m, g in zip(image, case.spacing, strict=True)]
    border = 16
    room = np.zeros((n, *(s + 2 * border for s in spans), channels))
    inner = [
        slice(border, border + s, g) for s, g in zip(spans, case.spacing, strict=True)
    ]
    room[:, inner[0], inner[1]] = x
    seen = [
        slice(border - low, border + s + high)
        for s, low, high in zip(spans, lows, highs, strict=True)
    ]
    room = room[:, seen[0], seen[1]]
    taps = w[:: -1 if case.reversal[0] else 1, :: -1 if case.reversal[1] else 1]
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[:2], case.dilations, strict=True)]
    windows = sliding_window_view(room, reach, (1, 2))
    (sy, sx), (dy, dx) = case.strides, case.dilations
    windows = windows[:, ::sy, ::sx, :, ::dy, ::dx]
    groups = case.groups * case.batches
    parts = []
    for g, filters in enumerate(np.split(taps, groups, -1)):
        some = windows
        if case.groups > 1:
            some = np.split(windows, groups, 3)[g]
        if case.batches > 1:
            some = np.split(windows, groups, 0)[g]
        parts.append(np.einsum("nyxchw,hwcf->nyxf", some, filters))
    return np.concatenate(parts, -1)


@pytest.mark.slow
def test_taps_that_meet_zeros_are_left_out():
    """Nine taps of a window with a stride of 2 are 1, 2, 2 and 4 of its phases."""
    case = CASES["gradient of stride 2"]
    x, w = np.zeros((2, *case.image, 2), "f4"), np.zeros((*case.window, 2, 2), "f4")
    source = text(case, x, w, reference(case, x, w))
    stages = dict(gcg.compile(source, target="cpu").stages("f"))
    operands = r"ins\([^:]*: tensor<[^>]*>, tensor<(\d)x(\d)x2x2xf32>, "
    windows = re.findall(operands, stages["stablehlo-to-linalg"])
    assert sorted(int(a) * int(b) for a, b in windows) == [1, 2, 2, 4]


@pytest.mark.sampled(40)
@pytest.mark.cases("target", ["cpu", "sim", "interp"])
@pytest.mark.cases("name", CASES)
def test_convolutions_of_dilated_images(name: str, target: str):
    case, rng = CASES[name], np.random.default_rng(3)
    channels, features = 2 * case.groups, 2 * case.groups * case.batches
    x = rng.integers(-4, 5, (2, *case.image, channels)).astype("f4")
    w = rng.integers(-4, 5, (*case.window, 2, features)).astype("f4")
    expected = reference(case, x, w)
    program = gcg.compile(text(case, x, w, expected), target=target)
    np.testing.assert_array_equal(program.f(x, w), expected)
