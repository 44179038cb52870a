"""Convolutions of padded copies of images, which kernels read as they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import gpucodegen as gcg


@dataclass(frozen=True)
class Padded:
    """A layer of C x H x W to F filters, its image in a buffer with room around it.

    ``zeros``: boxes of rows and columns that are cleared, in front of the copy and
    behind it; ``between``: text in front of the convolution.
    """

    extents: tuple[int, int, int, int]
    window: tuple[int, int]
    sides: tuple[int, int, int, int] = (1, 1, 1, 1)
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    first: tuple[tuple[int, int, int, int], ...] | None = None
    last: tuple[tuple[int, int, int, int], ...] = ()
    zero: float = 0.0
    between: str = ""
    images: int = 1

    @property
    def padded(self) -> tuple[int, int]:
        _, high, wide, _ = self.extents
        top, bottom, left, right = self.sides
        return top + high + bottom, left + wide + right

    @property
    def result(self) -> tuple[int, int]:
        pairs = zip(self.padded, self.window, self.strides, self.dilations, strict=True)
        return tuple((n - (w - 1) * d - 1) // s + 1 for n, w, s, d in pairs)

    def cleared(self, box: tuple[int, int, int, int]) -> str:
        channels, low, high, left, right = self.extents[0], *box
        return f"""affine.for %n = 0 to {self.images} {{
          affine.for %c = 0 to {channels} {{
            affine.for %y = {low} to {high} {{
              affine.for %x = {left} to {right} {{
                affine.store %zero, %P[%n, %c, %y, %x] : !padded
              }} }} }} }}"""

    @property
    def text(self) -> str:
        channels, high, wide, filters = self.extents
        down, across = self.padded
        count, (top, _, left, _) = self.images, self.sides
        taps = "x".join(map(str, self.window))
        y, x = self.result
        first = ((0, down, 0, across),) if self.first is None else self.first
        return f"""
        !image = memref<{count}x{channels}x{high}x{wide}xf32>
        !padded = memref<{count}x{channels}x{down}x{across}xf32>
        !filter = memref<{filters}x{channels}x{taps}xf32>
        !result = memref<{count}x{filters}x{y}x{x}xf32>
        func.func @f(%I: !image, %W: !filter, %R: !result) {{
          %zero = arith.constant {self.zero} : f32
          %two = arith.constant 2.0 : f32
          %P = memref.alloc() : !padded
          {"".join(map(self.cleared, first))}
          affine.for %n = 0 to {count} {{
            affine.for %c = 0 to {channels} {{
              affine.for %y = 0 to {high} {{
                affine.for %x = 0 to {wide} {{
                  %v = affine.load %I[%n, %c, %y, %x] : !image
                  affine.store %v, %P[%n, %c, %y + {top}, %x + {left}] : !padded
                }} }} }} }}
          {"".join(map(self.cleared, self.last))}
          {self.between}
          linalg.conv_2d_nchw_fchw {{
            strides = dense<{list(self.strides)}> : vector<2xi64>,
            dilations = dense<{list(self.dilations)}> : vector<2xi64>}}
            ins(%P, %W : !padded, !filter) outs(%R : !result)
          memref.dealloc %P : !padded
          return
        }}"""

    def arguments(self) -> list[np.ndarray]:
        rng = np.random.default_rng(1)
        channels, high, wide, filters = self.extents
        shapes = (
            (self.images, channels, high, wide),
            (filters, channels, *self.window),
            (self.images, filters, *self.result),
        )
        return [rng.integers(-4, 5, shape).astype("f4") for shape in shapes]

    def answer(self, image: np.ndarray, taps: np.ndarray) -> np.ndarray:
        top, _, left, _ = self.sides
        padded = np.full((*image.shape[:2], *self.padded), self.zero)
        inside = padded[:, :, top:, left:][:, :, : image.shape[2], : image.shape[3]]
        inside[...] = image
        for low, high, first, end in self.last:
            padded[:, :, low:high, first:end] = self.zero
        (down, across), (along, beside) = self.strides, self.dilations
        total = np.zeros((image.shape[0], taps.shape[0], *self.result))
        for h, w in np.ndindex(self.window):
            seen = padded[:, :, h * along :, w * beside :][:, :, ::down, ::across]
            seen = seen[:, :, : total.shape[2], : total.shape[3]]
            total += np.einsum("ncyx,fc->nfyx", seen, taps[:, :, h, w])
        return total

    def check(self, **options: object) -> str:
        image, taps, result = self.arguments()
        wanted = result + self.answer(image, taps)
        program = gcg.compile(self.text, **options)
        program.f(image, taps, result)
        np.testing.assert_array_equal(result, wanted, str(self))
        return program.source("f")


BORDER = ((0, 1, 0, 16), (13, 14, 0, 16), (1, 13, 0, 1), (1, 13, 15, 16))
LAYERS = {
    "cleared before": Padded((5, 12, 14, 33), (3, 3)),
    "only its border cleared": Padded((5, 12, 14, 33), (3, 3), first=BORDER),
    "border cleared afterwards": Padded((5, 12, 14, 33), (3, 3), first=(), last=BORDER),
    "strides": Padded((40, 17, 20, 40), (3, 3), strides=(2, 2)),
    "long strides": Padded((7, 23, 31, 20), (2, 5), strides=(3, 4)),
    "dilations": Padded((7, 18, 15, 20), (3, 3), (4, 0, 2, 6), dilations=(3, 2)),
    "both": Padded((3, 21, 22, 18), (3, 2), (0, 3, 1, 0), (2, 3), (3, 2)),
    "more room than the window sees": Padded((9, 6, 7, 24), (3, 3), (5, 4, 6, 3)),
    "large window of a few channels": Padded(
        (3, 40, 40, 24), (7, 7), (3, 3, 3, 3), (2, 2)
    ),
    "many channels of a small image": Padded((130, 7, 7, 48), (3, 3)),
    "a batch": Padded((6, 9, 10, 17), (3, 3), images=3),
    "one channel": Padded((1, 30, 20, 16), (3, 3)),
    "a window of one row": Padded((8, 9, 30, 16), (1, 3), (0, 0, 1, 1)),
}


@pytest.mark.slow
@pytest.mark.drawn(8)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_kernels_read_the_image_itself(layer: Padded, threads: int):
    source = layer.check(target="cpu", threads=threads)
    channels = layer.extents[0]
    down, across = layer.padded
    assert f"({layer.images}, {channels}, {down}, {across})" not in source


OTHERS = {
    "zeros over the copy": Padded((5, 12, 14, 33), (3, 3), last=((3, 5, 2, 9),)),
    "a border of ones": Padded((5, 12, 14, 33), (3, 3), zero=1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("layer", OTHERS.values(), ids=OTHERS)
def test_other_buffers_are_made(layer: Padded):
    assert f"local_{5 * 14 * 16}xf32" in layer.check(target="cpu", threads=1)


@pytest.mark.slow
@pytest.mark.parametrize("right", [0, 2])
def test_a_window_of_one_column_sees_lines_without_gaps(right: int):
    Padded((8, 9, 30, 16), (3, 1), (1, 1, 0, right)).check(target="cpu", threads=1)


@pytest.mark.slow
def test_images_of_a_batch_have_padded_copies_of_their_own():
    layer = Padded((40, 8, 2, 33), (3, 1), (1, 1, 0, 0), images=2)
    layer.check(target="cpu", threads=2)


@pytest.mark.slow
def test_an_image_that_changes_is_copied_before():
    change = """affine.for %c = 0 to 5 {
      affine.for %y = 0 to 12 {
        affine.for %x = 0 to 14 {
          %v = affine.load %I[0, %c, %y, %x] : !image
          %w = arith.mulf %v, %two : f32
          affine.store %w, %I[0, %c, %y, %x] : !image
        } } }"""
    layer = Padded((5, 12, 14, 33), (3, 3), between=change)
    assert f"local_{5 * 14 * 16}xf32" in layer.check(target="cpu", threads=1)


@pytest.mark.slow
def test_a_result_in_the_place_of_the_image():
    layer = Padded((33, 12, 14, 33), (3, 3))
    text = layer.text.replace("%W: !filter, %R: !result", "%W: !filter")
    text = text.replace("outs(%R : !result)", "outs(%I : !image)")
    image, taps, _ = layer.arguments()
    wanted = image + layer.answer(image, taps)
    gcg.compile(text, target="cpu").f(image, taps)
    np.testing.assert_array_equal(image, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_a_result_that_may_overlap_the_image(threads: int):
    layer = Padded((70, 25, 40, 70), (3, 3))
    group = "{gcg.alias_group = distinct[0]<>}"
    text = layer.text.replace("%I: !image", f"%I: !image {group}")
    text = text.replace("%R: !result", f"%R: !result {group}")
    image, taps, _ = layer.arguments()
    wanted = image + layer.answer(image, taps)
    program = gcg.compile(text, target="cpu", threads=threads)
    program.f(image, taps, image)
    np.testing.assert_array_equal(image, wanted)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["cleared before", "both", "large window of a few channels"]
)
def test_on_the_emulated_device(name: str):
    layer = LAYERS[name]
    channels, *_, filters = layer.extents
    small = Padded(
        (min(channels, 2), 7, 9, min(filters, 17)),
        layer.window,
        layer.sides,
        layer.strides,
        layer.dilations,
    )
    small.check(target="sim")
