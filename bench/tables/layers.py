"""Every convolution of ResNet-50 and three depthwise ones, one image, against torch.

Both sides pad inside of the call and allocate the result; filters are plain arrays on
our side, and in torch's channels-last order on the other for NHWC.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import gpucodegen as gcg
from bench.case import Case
from bench.ceilings import ceiling
from bench.harness import SETTLE, race
from bench.peers import torch_peer
from bench.row import OURS, Limit, Row, Settings, Work
from examples.problems import Answer, Array

# channels, extent of the image, filters, extent of the window, stride
RESNET_50 = (
    (3, 224, 64, 7, 2),
    (64, 56, 64, 1, 1),
    (64, 56, 64, 3, 1),
    (64, 56, 256, 1, 1),
    (256, 56, 64, 1, 1),
    (256, 56, 128, 1, 1),
    (128, 56, 128, 3, 2),
    (256, 56, 512, 1, 2),
    (512, 28, 128, 1, 1),
    (128, 28, 128, 3, 1),
    (128, 28, 512, 1, 1),
    (512, 28, 256, 1, 1),
    (256, 28, 256, 3, 2),
    (512, 28, 1024, 1, 2),
    (1024, 14, 256, 1, 1),
    (256, 14, 256, 3, 1),
    (256, 14, 1024, 1, 1),
    (1024, 14, 512, 1, 1),
    (512, 14, 512, 3, 2),
    (1024, 14, 2048, 1, 2),
    (2048, 7, 512, 1, 1),
    (512, 7, 512, 3, 1),
    (512, 7, 2048, 1, 1),
)
# channels, extent of the image, stride
DEPTHWISE = ((32, 112, 1), (144, 56, 2), (384, 14, 1))


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of a network through ``gcg.kernels.conv2d``, padded by half a window."""

    layout: str
    channels: int
    extent: int
    filters: int
    window: int
    stride: int

    @property
    def name(self) -> str:
        """The layout and all extents."""
        shape = f"{self.channels}x{self.extent}x{self.extent}"
        taps = f"{self.window}x{self.window}/{self.stride}"
        return f"{self.layout} {shape} -> {self.filters} {taps}"

    def arguments(self) -> tuple[Array, Array]:
        """The image and the filters."""
        rng, side = np.random.default_rng(0), self.window
        image = rng.random((1, self.extent, self.extent, self.channels), np.float32)
        filters = rng.random((side, side, self.channels, self.filters), np.float32)
        if self.layout == "NHWC":
            return image, filters
        orders = (image, (0, 3, 1, 2)), (filters, (3, 2, 0, 1))
        image, filters = (np.ascontiguousarray(a.transpose(o)) for a, o in orders)
        return image, filters

    def measure(self, settings: Settings) -> Row:
        """Check against torch, then race."""
        strides, padding = (self.stride, self.stride), self.window // 2
        call: Any = partial(
            gcg.kernels.conv2d,
            *self.arguments(),
            strides=strides,
            padding=padding,
            layout=self.layout,
            target="cpu",
        )
        theirs: Any = torch_peer(partial(_torch, self)).make(self.arguments())
        result, expected = call(), theirs().numpy()
        if self.layout == "NHWC":
            expected = expected.transpose(0, 2, 3, 1)
        np.testing.assert_allclose(result, expected, rtol=1e-3, err_msg=self.name)
        settle = SETTLE if settings.threads > 1 else 0.0
        budget, clock = settings.budget, settings.clock
        ours, other = race(call, theirs, clock=clock, budget=budget, settle=settle)
        work = Work(2 * result.size * self.channels * self.window**2)
        most = ceiling(Limit.FMA, "f32", settings)
        times = {OURS: ours, "torch": other}
        return Row(self.name, times, work, Limit.FMA, "f32", most)


def _torch(layer: Layer, torch: Any) -> Any:
    stride, padding = layer.stride, layer.window // 2

    def call(x: Any, w: Any) -> Any:
        return torch.nn.functional.conv2d(x, w, None, stride, padding)

    if layer.layout == "NCHW":
        return call
    kept: list[Any] = []

    def channels_last(x: Any, w: Any) -> Any:
        if not kept:
            order = w.permute(3, 2, 0, 1)
            kept.append(order.contiguous(memory_format=torch.channels_last))
        return call(x.permute(0, 3, 1, 2), kept[0])

    return channels_last


@dataclass(frozen=True, slots=True)
class Depthwise:
    """A 3x3 window over each channel of an image that is padded already."""

    layout: str
    channels: int
    extent: int
    stride: int

    def array(self, extent: int) -> tuple[int, ...]:
        """The shape of a square in every channel."""
        if self.layout == "NHWC":
            return extent, extent, self.channels
        return self.channels, extent, extent

    @property
    def text(self) -> str:
        """The operation on zeros."""
        suffix = "nhwc_hwc" if self.layout == "NHWC" else "nchw_chw"
        image, filters, result = (
            f"memref<{'x'.join(map(str, shape))}xf32>" for shape in self.shapes
        )
        return f"""func.func @layer(%x: {image}, %w: {filters}, %y: {result}) {{
          %zero = arith.constant 0.0 : f32
          linalg.fill ins(%zero : f32) outs(%y : {result})
          linalg.depthwise_conv_2d_{suffix} {{dilations = dense<1> : tensor<2xi64>,
              strides = dense<{self.stride}> : tensor<2xi64>}}
            ins(%x, %w : {image}, {filters}) outs(%y : {result})
          return
        }}"""

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Those of image, filters and result."""
        pixels = -(-self.extent // self.stride)
        image, result = self.array(self.extent + 2), self.array(pixels)
        return (1, *image), self.array(3), (1, *result)

    def arguments(self, rng: np.random.Generator) -> tuple[Array, ...]:
        """Image, filters and a result to be written."""
        image, filters, result = (rng.random(s, np.float32) for s in self.shapes)
        return image, filters, result

    def by_torch(self, torch: Any) -> Any:
        """The same in torch, on the same image."""
        stride, channels = self.stride, self.channels
        is_last = self.layout == "NHWC"

        def call(x: Any, w: Any, _result: Any) -> Any:
            if is_last:
                x, w = x.permute(0, 3, 1, 2), w.permute(2, 0, 1)
            taps = w.unsqueeze(1)
            return torch.nn.functional.conv2d(x, taps, None, stride, groups=channels)

        return call

    def answer(self, x: Array, w: Array, result: Array) -> Answer:
        """One product for each tap."""
        sides = (1, 2) if self.layout == "NHWC" else (2, 3)
        pixels, total = result.shape[sides[0]], np.zeros(result.shape)
        reach = (pixels - 1) * self.stride + 1
        for tap in np.ndindex(3, 3):
            at: list[Any] = [slice(None)] * 4
            for side, offset in zip(sides, tap, strict=True):
                at[side] = slice(offset, offset + reach, self.stride)
            weight = w[tap] if self.layout == "NHWC" else w[:, *tap][:, None, None]
            total += x[tuple(at)].astype("f8") * weight
        return {2: total}

    def case(self) -> Case:
        """The line of the table."""
        image, _, result = self.shapes
        shape = "x".join(map(str, image))
        return Case(
            name=f"{self.layout} depthwise {shape} 3x3/{self.stride}",
            source=self.text,
            entry="layer",
            arguments=self.arguments,
            answer=self.answer,
            peers=(torch_peer(self.by_torch),),
            work=Work(2 * 9 * int(np.prod(result))),
        )


LINES = (
    *(Layer(layout, *shape) for layout in ("NHWC", "NCHW") for shape in RESNET_50),
    *(
        Depthwise(layout, *shape).case()
        for layout in ("NHWC", "NCHW")
        for shape in DEPTHWISE
    ),
)
