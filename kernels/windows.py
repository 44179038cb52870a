"""The geometry of a sliding window: layouts, padding and extents of the result."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

from gpucodegen import errors

Pair = tuple[int, int]
Padding = Literal["valid", "same"] | int | tuple[Pair, Pair]
Layout = Literal["NHWC", "NCHW"]

NO_PADDING = (0, 0), (0, 0)


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Extents, strides and dilations of the filters, along the height and the width."""

    extents: Pair
    strides: Pair
    dilations: Pair

    def reach(self, side: int) -> int:
        """Rows or columns of the image under the window.

        >>> SlidingWindow((3, 3), (1, 1), (2, 1)).reach(0)
        5
        """
        return (self.extents[side] - 1) * self.dilations[side] + 1

    def outputs(self, side: int, image: int) -> int:
        """Positions of the window on an image that is already padded."""
        return (image - self.reach(side)) // self.strides[side] + 1

    def padding(self, wish: Padding, image: Pair) -> tuple[Pair, Pair]:
        """Zeros before and after, along the height and the width.

        >>> SlidingWindow((3, 3), (2, 2), (1, 1)).padding("same", (4, 5))
        ((0, 1), (1, 1))
        """
        match wish:
            case "valid":
                return NO_PADDING
            case "same":
                return self._same(0, image[0]), self._same(1, image[1])
            case int() if wish >= 0:
                return (wish, wish), (wish, wish)
            case ((int(), int()) as high, (int(), int()) as wide) if (
                min(*high, *wide) >= 0
            ):
                return high, wide
            case _:
                hint = (
                    "Pass 'valid', 'same', a width or ((top, bottom), (left, right)),"
                    " none below zero"
                )
                raise errors.InvalidOption(name="padding", value=wish, hint=hint)

    def _same(self, side: int, image: int) -> Pair:
        stride = self.strides[side]
        outputs = -(-image // stride)
        total = max((outputs - 1) * stride + self.reach(side) - image, 0)
        return total // 2, total - total // 2


@dataclass(frozen=True, slots=True)
class Axes:
    """Where a layout keeps what, and the file that holds its operation."""

    file: str
    image: Pair
    channels: int
    kernel: Pair
    filters: int

    def result_shape(
        self,
        shape: tuple[int, ...],
        filters: int,
        window: SlidingWindow,
        widths: tuple[Pair, Pair],
    ) -> tuple[int, ...]:
        """Shape of the result, from that of the image and the widths of its padding."""
        extents = list(shape)
        extents[self.channels] = filters
        for side, axis in enumerate(self.image):
            extents[axis] = window.outputs(side, shape[axis] + sum(widths[side]))
        return tuple(extents)


LAYOUTS = {
    "NHWC": Axes(
        "conv_2d_nhwc_hwcf.mlir", image=(1, 2), channels=3, kernel=(0, 1), filters=3
    ),
    "NCHW": Axes(
        "conv_2d_nchw_fchw.mlir", image=(2, 3), channels=1, kernel=(2, 3), filters=0
    ),
}


def axes_of(layout: str) -> Axes:
    """Axes of a layout, or a refusal that lists the known ones."""
    if layout not in LAYOUTS:
        hint = f"Pass {' or '.join(LAYOUTS)}"
        raise errors.InvalidOption(name="layout", value=layout, hint=hint)
    return LAYOUTS[layout]


def as_key(wish: Any) -> Any:
    """A wish for padding that can be looked up: tuples in place of other sequences.

    What is no integer becomes text: 1.0 is not 1.

    >>> as_key(2), as_key("same"), as_key([[0, 1], (1, 1.0)])
    (2, 'same', ((0, 1), (1, '1.0')))
    """
    if isinstance(wish, int | str):
        return wish
    if isinstance(wish, Iterable):
        return tuple(map(as_key, cast("Iterable[Any]", wish)))
    return repr(wish)


def positive_pair(name: str, wish: int | Iterable[int]) -> Pair:
    """Two positive integers, one for both, or a refusal that names the parameter.

    >>> positive_pair("strides", 2), positive_pair("strides", (1, 2))
    ((2, 2), (1, 2))
    """
    try:
        values = (wish, wish) if isinstance(wish, int) else wish
        high, wide = map(operator.index, values)
    except (TypeError, ValueError):
        high = wide = 0
    if min(high, wide) > 0:
        return high, wide
    hint = "Pass a positive integer, or two"
    raise errors.InvalidOption(name=name, value=wish, hint=hint)
