"""Pooling in one, two and three dimensions: maximum or mean of each window."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any, Unpack

from gpucodegen import errors
from gpucodegen.kernels.arrays import Memory, require_rank
from gpucodegen.kernels.calls import How, Kernel, Recipe, described
from gpucodegen.kernels.elements import REAL, element_of
from gpucodegen.kernels.function_text import Text
from gpucodegen.kernels.reduction_text import worst
from gpucodegen.kernels.scalar_text import Value
from gpucodegen.kernels.windows import texts
from gpucodegen.kernels.windows.geometry import (
    LAYOUTS,
    Padding,
    Sizes,
    SlidingWindow,
    layout_of,
    positive,
)


def _largest(sides: int):  # noqa: ANN202 - it infers what would say the signature twice
    def call(
        x: Any,
        window: int | Sizes,
        *,
        strides: int | Sizes | None = None,
        dilations: int | Sizes = 1,
        padding: Padding = "valid",
        layout: str = LAYOUTS[sides],
        out: Any = None,
        target: str = "auto",
        **how: Unpack[How],
    ) -> Any:
        options = window, strides, dilations, padding, layout
        return LARGEST[sides]((x,), out, target, *options, **how)

    return described(call)


@_largest(1)
def max_pool1d() -> None:
    """The largest element under each window of a batch of lines, of real numbers.

    ``layout`` is ``"NWC"``, or ``"NCW"``.
    Options are those of `max_pool2d`.

    >>> import numpy as np
    >>> max_pool1d(np.array([1.0, 3.0, 2.0, 0.0]).reshape(1, 4, 1), 2)[0, :, 0]
    array([3., 2.])
    """


def _mean(sides: int):  # noqa: ANN202 - it infers what would say the signature twice
    def call(
        x: Any,
        window: int | Sizes,
        *,
        strides: int | Sizes | None = None,
        padding: Padding = "valid",
        count_include_pad: bool = True,
        layout: str = LAYOUTS[sides],
        out: Any = None,
        target: str = "auto",
        **how: Unpack[How],
    ) -> Any:
        options = window, strides, 1, padding, layout, count_include_pad
        return MEANS[sides]((x,), out, target, *options, **how)

    return described(call)


@_mean(1)
def avg_pool1d() -> None:
    """The mean of the elements under each window of a batch of lines.

    ``layout`` is ``"NWC"``, or ``"NCW"``.
    Options are those of `avg_pool2d`.

    >>> import numpy as np
    >>> avg_pool1d(np.array([1.0, 3.0, 2.0, 0.0]).reshape(1, 4, 1), 2)[0, :, 0]
    array([2., 1.])
    """


@_largest(2)
def max_pool2d() -> None:
    """The largest element under each window of a batch of images, of real numbers.

    ``layout`` is ``"NHWC"``, or ``"NCHW"``.
    ``window`` and ``strides`` are one extent for all sides or one for each; windows lie
    side by side without ``strides``.  ``padding`` is as for
    `gpucodegen.kernels.conv2d`; what it adds is never the largest.  NaN is largest.
    Of windows without elements the result is the least number.  Errors:
    WrongDtype, WrongArgumentRank, InvalidOption.

    >>> import numpy as np
    >>> max_pool2d(np.arange(16).reshape(1, 4, 4, 1), 2)[0, :, :, 0]
    array([[ 5,  7],
           [13, 15]])
    """


@_mean(2)
def avg_pool2d() -> None:
    """The mean of the elements under each window of a batch of images.

    ``layout`` is ``"NHWC"``, or ``"NCHW"``.
    Sums of floats of 16 bits and less are kept in f32; those of integers are computed,
    and returned, in f64.  With ``count_include_pad`` zeros of the padding count as
    elements of a window.  Other options and errors are those of `max_pool2d`.

    >>> import numpy as np
    >>> avg_pool2d(np.arange(16.0).reshape(1, 4, 4, 1), 2)[0, :, :, 0]
    array([[ 2.5,  4.5],
           [10.5, 12.5]])
    """


@_largest(3)
def max_pool3d() -> None:
    """The largest element under each window of a batch of volumes, of real numbers.

    ``layout`` is ``"NDHWC"``, or ``"NCDHW"``.
    Options are those of `max_pool2d`.

    >>> import numpy as np
    >>> max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2, 1), 2)
    array([[[[[7.]]]]])
    """


@_mean(3)
def avg_pool3d() -> None:
    """The mean of the elements under each window of a batch of volumes.

    ``layout`` is ``"NDHWC"``, or ``"NCDHW"``.
    Options are those of `avg_pool2d`.

    >>> import numpy as np
    >>> avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2, 1), 2)
    array([[[[[3.5]]]]])
    """


def _prepare(
    arrays: tuple[Memory, ...],
    extents: Any,
    strides: Any,
    dilations: Any,
    padding: Any,
    wish: str,
    includes: bool | None = None,
    *,
    name: str,
    sides: int,
) -> Recipe:
    """Prepare max pooling, or mean pooling if it is told whether padding counts."""
    (x,) = arrays
    layout = layout_of(wish, sides)
    require_rank(x, (sides + 2,), function=name, argument="x")
    is_mean = includes is not None
    kinds = "fiu" if is_mean else REAL
    element = element_of(x.dtype, function=name, argument="x", kinds=kinds)
    taps = positive("window", extents, sides)
    steps = taps if strides is None else positive("strides", strides, sides)
    window = SlidingWindow(taps, steps, positive("dilations", dilations, sides))
    image = tuple(x.shape[axis] for axis in layout.image)
    border = window.padding(padding, image)
    if any(2 * max(pair) > n for pair, n in zip(border, taps, strict=True)):
        hint = "Pass at most half of the window"
        raise errors.InvalidOption(name="padding", value=padding, hint=hint)
    result = element.averaged if is_mean else element
    text = Text(name=name)
    source = text.array("image", element, sides + 2)
    first = 0 if is_mean else worst("max", element)
    padded = texts.padded(text, source, layout.image, border, first)
    out = text.array("out", result, sides + 2)
    summed = result.computed
    plain = not is_mean and result.mlir == summed.mlir
    into = out if plain else text.alloc(summed, text.dims(out))
    texts.pool(text, padded, into, layout, window, first, "add" if is_mean else "max")

    def divisor() -> Value:
        if includes:
            return text.constant(prod(taps), summed)
        count = texts.covered(text, source, layout, window, border)
        return text.cast(count, summed)

    if is_mean:
        texts.divide(text, into, out, divisor)
    elif not plain:
        texts.rounded(text, into, out)
    places = tuple(
        window.outputs(side, extent and extent + sum(border[side]))
        for side, extent in enumerate(image)
    )
    channels = x.shape[layout.channels]
    shape = layout.result_shape(x.shape[0], channels, places)
    return Recipe(text, shape, result.numpy)


def _kernels(word: str) -> dict[int, Kernel]:
    names = {n: f"{word}_pool{n}d" for n in (1, 2, 3)}
    return {
        n: Kernel(name, ("x",), partial(_prepare, name=name, sides=n))
        for n, name in names.items()
    }


LARGEST = _kernels("max")
MEANS = _kernels("avg")
