"""Two-dimensional convolution: ``linalg.conv_2d_*`` as a function of arrays."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from gpucodegen import api
from gpucodegen.calls.form import form_of
from gpucodegen.kernels.arrays import Array, ArrayT, library, require_rank
from gpucodegen.kernels.calls import Calls, KernelCall
from gpucodegen.kernels.sources import element_aliases, shift, source, vector
from gpucodegen.kernels.windows import (
    NO_PADDING,
    Layout,
    Padding,
    Pair,
    SlidingWindow,
    as_key,
    axes_of,
    positive_pair,
)

if TYPE_CHECKING:
    from gpucodegen.calls.function import Function


def conv2d(
    x: ArrayT,
    w: ArrayT,
    *,
    strides: int | Pair = 1,
    dilations: int | Pair = 1,
    padding: Padding = "valid",
    layout: Layout = "NHWC",
    out: ArrayT | None = None,
    target: str = "auto",
) -> ArrayT:
    """The convolution (no flip, as in neural networks) of a batch of images.

    ``layout`` is ``"NHWC"`` with filters HWCF, or ``"NCHW"`` with filters FCHW.
    ``strides`` and ``dilations`` are (along rows, along columns), or one for both.
    ``padding`` is ``"valid"`` (none), ``"same"`` (output extent = input / stride,
    rounded up), one width for all sides, or ``((top, bottom), (left, right))``.

    >>> import numpy as np
    >>> image, filters = np.ones((1, 4, 4, 1), "f4"), np.ones((3, 3, 1, 1), "f4")
    >>> conv2d(image, filters, padding="same")[0, :, :, 0]
    array([[4., 6., 6., 4.],
           [6., 9., 9., 6.],
           [6., 9., 9., 6.],
           [4., 6., 6., 4.]], dtype=float32)
    """
    options = f"{strides!r} {dilations!r} {padding!r}", layout, target
    done = _CALLS.repeated(options, x, w) if out is None else NotImplemented
    if done is not NotImplemented:
        return done
    form = options, form_of((x, w))
    call = _CALLS.known.get(form)
    if call is None:
        steps = positive_pair("strides", strides), positive_pair("dilations", dilations)
        prepared = _prepared(x, w, steps, as_key(padding), layout, target)
        call = _CALLS.keep(form, prepared)
    return _CALLS.run(options, call, (x, w), out)


_CALLS = Calls()


def _prepared(
    x: Array,
    w: Array,
    steps: tuple[Pair, Pair],
    padding: Padding,
    layout: Layout,
    target: str,
) -> KernelCall:
    """What a call of these shapes needs, after all checks."""
    xp = library(x, function="conv2d", argument="x")
    library(w, function="conv2d", argument="w")
    require_rank(x, 4, function="conv2d", argument="x")
    require_rank(w, 4, function="conv2d", argument="w")
    axes, image, filters = axes_of(layout), x.shape, w.shape
    extents = filters[axes.kernel[0]], filters[axes.kernel[1]]
    window = SlidingWindow(extents, *steps)
    widths = window.padding(padding, (image[axes.image[0]], image[axes.image[1]]))
    shape = axes.result_shape(image, filters[axes.filters], window, widths)
    return KernelCall(xp, _kernel(axes.file, x.dtype, steps, widths, target), shape)


@cache
def _kernel(
    file: str,
    dtype: object,
    steps: tuple[Pair, Pair],
    widths: tuple[Pair, Pair],
    target: str,
) -> Function:
    strides, dilations = steps
    aliases = element_aliases(str(dtype), function="conv2d", argument="x") | {
        "#strides": vector(strides),
        "#dilations": vector(dilations),
    }
    if widths != NO_PADDING:
        (top, bottom), (left, right) = widths
        sides = {"#top": top, "#bottom": bottom, "#left": left, "#right": right}
        aliases |= {side: shift(width) for side, width in sides.items()}
        file = f"padded_{file}"
    return api.compile(source(file, aliases), target=target).conv2d
