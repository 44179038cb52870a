"""Products and convolutions with bias and activation, on the tiles of the result.

Every result is new memory.  NumPy gets the product, the bias and the activation as
three passes over one result; torch adds the bias in its kernel and runs the activation
in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.case import Case
from bench.peers import iree_peer, numpy_peer, torch_peer
from bench.row import Work
from examples.catalogue import PROGRAMS
from examples.problems import RESULT, Answer, Array, Convolution

DENSE = PROGRAMS["dense_layer"]
SHAPES = (
    (1024, 1024, 64),
    (4096, 256, 256),
    (512, 512, 512),
    (1024, 1024, 1024),
    (1000, 513, 777),
)
"""Rows, columns, and terms of each sum."""


def dense(m: int, n: int, k: int) -> Case:
    """``max(X W + bias, 0)``."""

    def in_numpy(x: Array, w: Array, bias: Array) -> Array:
        result: Array = np.matmul(x, w)
        np.add(result, bias, out=result)
        return np.maximum(result, 0, out=result)

    peers = (
        numpy_peer(in_numpy),
        torch_peer(lambda torch: lambda x, w, b: torch.addmm(b, x, w).relu_()),
    )
    name = f"matmul + bias + relu {m}x{n}x{k}"
    return Case.of(DENSE, {"M": m, "N": n, "K": k}, peers, name=name)


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution over an image that is padded already, bias, and relu."""

    layout: str
    channels: int
    extent: int
    filters: int
    window: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Those of image, filters, bias and result."""
        side, window = self.extent + self.window - 1, self.window
        image, pixels = (side, side), (self.extent, self.extent)
        if self.layout == "nhwc":
            filters = (window, window, self.channels, self.filters)
            ends = (1, *image, self.channels), (1, *pixels, self.filters)
        else:
            filters = (self.filters, self.channels, window, window)
            ends = (1, self.channels, *image), (1, self.filters, *pixels)
        return ends[0], filters, (self.filters,), ends[1]

    @property
    def text(self) -> str:
        """The layer on tensors."""
        x, w, b, y = (f"tensor<{'x'.join(map(str, s))}xf32>" for s in self.shapes)
        kind, channel = {
            "nhwc": ("nhwc_hwcf", "d3"),
            "nchw": ("nchw_fchw", "d1"),
        }[self.layout]
        whole = "affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>"
        return f"""func.func @layer(%x: {x}, %w: {w}, %b: {b}) -> {y} {{
          %zero = arith.constant 0.0 : f32
          %e = tensor.empty() : {y}
          %s = linalg.fill ins(%zero : f32) outs(%e : {y}) -> {y}
          %c = linalg.conv_2d_{kind} {{dilations = dense<1> : tensor<2xi64>,
                 strides = dense<1> : tensor<2xi64>}}
            ins(%x, %w : {x}, {w}) outs(%s : {y}) -> {y}
          %r = linalg.generic {{
              indexing_maps = [{whole},
                affine_map<(d0, d1, d2, d3) -> ({channel})>, {whole}],
              iterator_types = ["parallel", "parallel", "parallel", "parallel"]
            }} ins(%c, %b : {y}, {b}) outs(%e : {y}) {{
            ^bb0(%p: f32, %q: f32, %z: f32):
              %t = arith.addf %p, %q : f32
              %u = arith.maximumf %t, %zero : f32
              linalg.yield %u : f32
          }} -> {y}
          return %r : {y}
        }}"""

    def arguments(self, rng: np.random.Generator) -> tuple[Array, ...]:
        """Image, filters and bias."""
        *inputs, _ = self.shapes
        return tuple(rng.standard_normal(shape).astype("f4") for shape in inputs)

    def by_torch(self, torch: Any) -> Any:
        """The same in torch; filters in its channels-last order for NHWC."""
        kept: list[Any] = []

        def call(x: Any, w: Any, b: Any) -> Any:
            if self.layout == "nhwc":
                if not kept:
                    order = w.permute(3, 2, 0, 1)
                    kept.append(order.contiguous(memory_format=torch.channels_last))
                x, w = x.permute(0, 3, 1, 2), kept[0]
            return torch.nn.functional.conv2d(x, w, b).relu_()

        return call

    def answer(self, x: Array, w: Array, b: Array) -> Answer:
        """One product for each tap, the bias, and the maximum."""
        problem = Convolution(self.layout)
        sums = problem.convolve(x.astype("f8"), w.astype("f8"))
        bias = b if self.layout == "nhwc" else b[:, None, None]
        return {RESULT: np.maximum(sums + bias, 0)}

    def case(self) -> Case:
        """The line of the table."""
        _, _, _, result = self.shapes
        image = f"{self.channels}x{self.extent}x{self.extent}"
        shape = f"{image} -> {self.filters} {self.window}x{self.window}"
        terms = self.channels * self.window**2
        return Case(
            name=f"conv + bias + relu {self.layout} {shape}",
            source=self.text,
            entry="layer",
            arguments=self.arguments,
            answer=self.answer,
            peers=(torch_peer(self.by_torch), iree_peer(self.text, "layer", 3)),
            work=Work(2 * int(np.prod(result)) * terms),
        )


LAYERS = tuple(
    Layer(layout, *extents)
    for layout in ("nhwc", "nchw")
    for extents in ((64, 56, 64, 3), (256, 14, 256, 3), (64, 56, 256, 1))
)
LINES = (*(dense(*shape) for shape in SHAPES), *(layer.case() for layer in LAYERS))
