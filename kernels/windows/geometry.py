"""Geometry of sliding windows: layouts, padding and extents of the result."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

from gpucodegen import errors
from gpucodegen.records import dataclass

Pair = tuple[int, int]
Sizes = tuple[int, ...]
Widths = tuple[Pair, ...]
"""Padding before and after, per spatial dimension."""
Padding = Literal["valid", "same"] | int | Sequence[int | Pair]
SIDES = "DHW"
"""Letters of the spatial dimensions, of which two-dimensional images have the last two.
"""
LAYOUTS = {sides: f"N{SIDES[-sides:]}C" for sides in (1, 2, 3)}
"""Layouts with channels last, the default ones."""


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Extents, strides and dilations of a window, per spatial dimension."""

    extents: Sizes
    strides: Sizes
    dilations: Sizes

    def reach(self, side: int) -> int:
        """Number of image elements that the dilated window spans.

        >>> SlidingWindow((3, 3), (1, 1), (2, 1)).reach(0)
        5
        """
        return max(self.extents[side] - 1, 0) * self.dilations[side] + 1

    def outputs(self, side: int, image: int) -> int:
        """Number of window positions on an already padded image.

        Raises ShapesDisagree for an image that is smaller than the window.
        """
        reach = self.reach(side)
        if not self.extents[side] or image < reach:
            problem = (
                f"the window {self.extents} reaches over {reach} elements along side"
                f" {side}, and the image has {image} there with its padding"
            )
            raise errors.ShapesDisagree(problem=problem)
        return (image - reach) // self.strides[side] + 1

    def padding(self, wish: Any, image: Sizes) -> Widths:
        """Padding before and after, per spatial dimension.

        >>> SlidingWindow((3, 3), (2, 2), (1, 1)).padding("same", (4, 5))
        ((0, 1), (1, 1))
        """
        if isinstance(wish, str) and wish == "same":
            return tuple(self._same(side, n) for side, n in enumerate(image))
        return widths(wish, len(image))

    def _same(self, side: int, image: int) -> Pair:
        stride = self.strides[side]
        outputs = -(-image // stride)
        total = max((outputs - 1) * stride + self.reach(side) - image, 0)
        return total // 2, total - total // 2


def widths(wish: Any, sides: int) -> Widths:
    """Explicit padding widths (not ``"same"``), or a refusal.

    >>> widths(1, 2), widths(((0, 1), 2), 2)
    (((1, 1), (1, 1)), ((0, 1), (2, 2)))
    """
    if isinstance(wish, str) and wish == "valid":
        return ((0, 0),) * sides
    each = (wish,) * sides if isinstance(wish, int) else wish
    try:
        found = tuple(_pair(one) for one in each)
    except (TypeError, ValueError):
        found = ()
    if len(found) == sides and all(min(pair) >= 0 for pair in found):
        return found
    hint = (
        "Pass 'valid', 'same', a width or one for each side, as in"
        " ((top, bottom), (left, right)), none below zero"
    )
    raise errors.InvalidOption(name="padding", value=wish, hint=hint)


def _pair(wish: Any) -> Pair:
    """Widths before and after, or one width for both."""
    if isinstance(wish, Iterable):
        before, after = (operator.index(n) for n in cast("Iterable[Any]", wish))
        return before, after
    width = operator.index(wish)
    return width, width


@dataclass(frozen=True, slots=True)
class Layout:
    """Axis order of images and filters; channels are last in NWC, NHWC and NDHWC."""

    sides: int
    is_last: bool

    @property
    def image(self) -> range:
        """Spatial axes of an image."""
        return range(1, self.sides + 1) if self.is_last else range(2, self.sides + 2)

    @property
    def channels(self) -> int:
        """Channel axis of an image."""
        return self.sides + 1 if self.is_last else 1

    @property
    def window(self) -> range:
        """Spatial axes of filters: (H, W, C, F), or (F, C, H, W)."""
        return range(self.sides) if self.is_last else range(2, self.sides + 2)

    @property
    def taken(self) -> int:
        """Filter axis of input channels."""
        return self.sides if self.is_last else 1

    @property
    def made(self) -> int:
        """Filter axis of output channels."""
        return self.sides + 1 if self.is_last else 0

    def names(self, batch: str, channels: str, sides: Sequence[str]) -> list[str]:
        """Names of an image's axes in order."""
        return [batch, *sides, channels] if self.is_last else [batch, channels, *sides]

    def filter_names(self, taken: str, made: str, sides: Sequence[str]) -> list[str]:
        """Names of the filters' axes in order."""
        return [*sides, taken, made] if self.is_last else [made, taken, *sides]

    def result_shape(self, batch: int, channels: int, sides: Sizes) -> Sizes:
        """Extents of an image in order."""
        if self.is_last:
            return (batch, *sides, channels)
        return (batch, channels, *sides)


def layout_of(wish: str, sides: int) -> Layout:
    """A layout by its letters, or a refusal that lists the known ones.

    >>> layout_of("NCHW", 2)
    Layout(sides=2, is_last=False)
    """
    letters = SIDES[-sides:]
    known = {f"N{letters}C": True, f"NC{letters}": False}
    if wish not in known:
        hint = f"Pass {' or '.join(known)}"
        raise errors.InvalidOption(name="layout", value=wish, hint=hint)
    return Layout(sides, known[wish])


def positive(name: str, wish: Any, sides: int) -> Sizes:
    """Positive integers, one for all sides or each, or a refusal with the name.

    >>> positive("strides", 2, 2), positive("strides", (1, 2), 2)
    ((2, 2), (1, 2))
    """
    try:
        each = (wish,) * sides if isinstance(wish, int) else wish
        values = tuple(operator.index(n) for n in each)
    except TypeError:
        values = ()
    if len(values) == sides and min(values) > 0:
        return values
    several = {1: "", 2: ", or two", 3: ", or three"}[sides]
    hint = f"Pass a positive integer{several}"
    raise errors.InvalidOption(name=name, value=wish, hint=hint)
