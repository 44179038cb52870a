"""Transposed convolutions in one, two and three dimensions."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from gpucodegen import errors
from gpucodegen.dialects.shared.window_phases import phases
from gpucodegen.kernels.arrays import Memory
from gpucodegen.kernels.calls import How, Kernel, Recipe, described
from gpucodegen.kernels.products.matmul import Epilogue
from gpucodegen.kernels.windows import texts
from gpucodegen.kernels.windows.forms import Form, checked
from gpucodegen.kernels.windows.geometry import (
    LAYOUTS,
    Layout,
    Padding,
    Sizes,
    SlidingWindow,
    Widths,
    layout_of,
    positive,
    widths,
)
from gpucodegen.options import Precision


def _transposed(sides: int):  # noqa: ANN202 - it infers what would say the signature twice
    def transposed_convolution(
        x: Any,
        w: Any,
        bias: Any = None,
        *,
        strides: int | Sizes = 1,
        padding: Padding = 0,
        output_padding: int | Sizes = 0,
        groups: int = 1,
        dilations: int | Sizes = 1,
        layout: str = LAYOUTS[sides],
        out: Any = None,
        target: str = "auto",
        precision: Precision = "ieee",
        **how: Unpack[How],
    ) -> Any:
        options = strides, dilations, padding, output_padding, groups, layout
        operands = (x, w) if bias is None else (x, w, bias)
        return TRANSPOSED[sides](
            operands, out, target, *options, precision=precision, **how
        )

    return described(transposed_convolution)


@_transposed(1)
def conv_transpose1d() -> None:
    """The transpose of `conv1d` as a linear map; options are `conv_transpose2d`'s.

    >>> import numpy as np
    >>> x = np.array([1.0, 2.0]).reshape(1, 2, 1)
    >>> conv_transpose1d(x, np.ones((2, 1, 1)), strides=2)[0, :, 0]
    array([1., 1., 2., 2.])
    """


@_transposed(2)
def conv_transpose2d() -> None:
    """The transpose of `conv2d` as a linear map, with torch's rule for extents.

    Filters are (H, W, C, F / groups) for ``"NHWC"``, and torch's (C, F / groups, H, W)
    for ``"NCHW"``. ``padding`` is removed from the result, ``output_padding`` is added
    at its ends: ``(n - 1) * stride - before - after + reach + output_padding``
    elements. Types and errors are those of `conv2d`.

    >>> import numpy as np
    >>> conv_transpose2d(np.ones((1, 2, 2, 1)), np.ones((2, 2, 1, 1)))[0, :, :, 0]
    array([[1., 2., 1.],
           [2., 4., 2.],
           [1., 2., 1.]])
    """


@_transposed(3)
def conv_transpose3d() -> None:
    """The transpose of `conv3d` as a linear map; options are `conv_transpose2d`'s.

    >>> import numpy as np
    >>> conv_transpose3d(np.ones((1, 1, 1, 1, 1)), np.ones((1, 1, 2, 1, 1))).shape
    (1, 1, 1, 2, 1)
    """


def _prepare_transposed(
    arrays: tuple[Memory, ...],
    strides: Any,
    dilations: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    wish: str,
    *,
    sides: int,
) -> Recipe:
    """Lower to convolutions with flipped filters, one for each phase of the strides."""
    name = f"conv_transpose{sides}d"
    layout = layout_of(wish, sides)
    steps = positive("strides", strides, sides)
    gaps = positive("dilations", dilations, sides)
    x, w, *rest = arrays
    element = checked(name, arrays, layout)
    taken, made = _transposed_channels(name, x, w, groups, layout)
    window = SlidingWindow(tuple(w.shape[a] for a in layout.window), steps, gaps)
    cut, more = widths(padding, sides), _more(output_padding, steps, gaps)
    border = _border(window, cut, more, padding)
    apart = SlidingWindow(window.extents, (1,) * sides, gaps)
    places = tuple(
        apart.outputs(
            side, x.shape[axis] and (x.shape[axis] - 1) * step + 1 + sum(around)
        )
        for side, (axis, step, around) in enumerate(
            zip(layout.image, steps, border, strict=True)
        )
    )
    shape = layout.result_shape(x.shape[0], groups * made, places)
    form = Form(name, layout, element, texts.Groups(groups, taken, made), turns=True)
    after = Epilogue(has_bias=bool(rest))
    sides = [
        [
            *phases(
                x.shape[axis],
                apart.extents[side],
                places[side],
                stride=1,
                dilation=gaps[side],
                spacing=step,
                low=border[side][0],
            )
        ]
        for side, (axis, step) in enumerate(zip(layout.image, steps, strict=True))
    ]
    room = tuple(
        (max([0, *(p.low for p in side)]), max([0, *(p.high for p in side)]))
        for side in sides
    )
    text = form.write(apart, rest, after, room, sides)
    return form.recipe(text, arrays, shape)


def _transposed_channels(
    name: str, x: Memory, w: Memory, groups: int, layout: Layout
) -> tuple[int, int]:
    """Input and output channels of each group; filters hold all input channels."""
    channels = x.shape[layout.channels]
    takes, makes = (layout.taken, layout.made)[:: 1 if layout.is_last else -1]
    if not (isinstance(groups, int) and groups > 0) or channels % groups:
        hint = f"Pass a number that divides {channels} channels"
        raise errors.InvalidOption(name="groups", value=groups, hint=hint)
    if w.shape[takes] != channels:
        problem = (
            f"{name}: filters of shape {w.shape} take {w.shape[takes]} channels, the"
            f" image of shape {x.shape} has {channels}"
        )
        raise errors.ShapesDisagree(problem=problem)
    return channels // groups, w.shape[makes]


def _more(wish: Any, steps: Sizes, gaps: Sizes) -> Sizes:
    """The output padding per spatial dimension, below its stride or dilation."""
    found = tuple(before for before, _ in widths(wish, len(steps)))
    if all(n < max(pair) for n, *pair in zip(found, steps, gaps, strict=True)):
        return found
    hint = "Pass less than the stride or the dilation"
    raise errors.InvalidOption(name="output_padding", value=wish, hint=hint)


def _border(
    window: SlidingWindow, cut: Widths, more: Sizes, wish: Any
) -> tuple[tuple[int, int], ...]:
    """The padding with which each output position has a whole window."""
    found = tuple(
        (window.reach(side) - 1 - low, window.reach(side) - 1 - high + more[side])
        for side, (low, high) in enumerate(cut)
    )
    if all(min(pair) >= 0 for pair in found):
        return found
    hint = "Pass less than the window reaches over"
    raise errors.InvalidOption(name="padding", value=wish, hint=hint)


TRANSPOSED = {
    n: Kernel(
        f"conv_transpose{n}d", ("x", "w", "bias"), partial(_prepare_transposed, sides=n)
    )
    for n in (1, 2, 3)
}
