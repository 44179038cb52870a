"""Convolutions in one, two and three dimensions.

Plain convolutions use the ``.mlir`` files of this folder with other aliases
substituted: every file is complete, and its first lines define the aliases that may
differ. Only checked integers and names from the table of element types are written into
the text.
"""

from __future__ import annotations

import operator
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Unpack

from gpucodegen import errors
from gpucodegen.kernels.arrays import Memory
from gpucodegen.kernels.calls import How, Kernel, Recipe, described
from gpucodegen.kernels.elements import Element
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
)
from gpucodegen.options import Precision
from gpucodegen.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def vector(values: Iterable[int]) -> str:
    """A dense vector of integers.

    >>> vector((2, 1))
    'dense<[2, 1]> : tensor<2xi64>'
    """
    numbers = [operator.index(value) for value in values]
    return f"dense<{numbers}> : tensor<{len(numbers)}xi64>"


def shift(width: int) -> str:
    """The map that shifts an index by a width.

    >>> shift(2)
    'affine_map<(d0) -> (d0 + 2)>'
    """
    return f"affine_map<(d0) -> (d0 + {operator.index(width)})>"


def source(name: str, aliases: Mapping[str, str]) -> str:
    """The text of a file with some of its aliases redefined.

    >>> print(source("conv_2d_nhwc_hwcf.mlir", {"!element": "f64"})[:32])
    !element = f64
    #zero = 0.0 : f32
    """
    text = files(__name__.rpartition(".")[0]).joinpath(name).read_text("utf-8")
    lines = text.splitlines()
    for alias, value in aliases.items():
        lines[_definition(lines, alias)] = f"{alias} = {value}"
    return "\n".join(lines) + "\n"


def _definition(lines: list[str], alias: str) -> int:
    return next(i for i, line in enumerate(lines) if line.startswith(f"{alias} = "))


@dataclass(frozen=True, slots=True)
class File:
    """A function of a file, with its aliases."""

    name: str
    file: str
    aliases: tuple[tuple[str, str], ...]

    def text(self) -> str:
        return source(self.file, dict(self.aliases))


FILES = {True: "conv_2d_nhwc_hwcf.mlir", False: "conv_2d_nchw_fchw.mlir"}
"""Two-dimensional convolutions, by whether channels are last."""


def image_text(
    layout: Layout, element: Element, window: SlidingWindow, border: Widths
) -> File:
    """The text of a convolution of one group without an epilogue."""
    zero = "0.0" if element.kind == "f" else "0"
    aliases = {
        "!element": element.mlir,
        "#zero": f"{zero} : {element.mlir}",
        "#strides": vector(window.strides),
        "#dilations": vector(window.dilations),
    }
    file = FILES[layout.is_last]
    if any(map(any, border)):
        (top, bottom), (left, right) = border
        sides = {"#top": top, "#bottom": bottom, "#left": left, "#right": right}
        aliases |= {side: shift(width) for side, width in sides.items()}
        file = f"padded_{file}"
    return File("conv2d", file, tuple(aliases.items()))


def _convolution(sides: int):  # noqa: ANN202 - it infers what would say the signature twice
    def convolution(
        x: Any,
        w: Any,
        bias: Any = None,
        *,
        strides: int | Sizes = 1,
        dilations: int | Sizes = 1,
        padding: Padding = "valid",
        groups: int = 1,
        layout: str = LAYOUTS[sides],
        activation: str | None = None,
        out: Any = None,
        target: str = "auto",
        precision: Precision = "ieee",
        **how: Unpack[How],
    ) -> Any:
        operands = (x, w) if bias is None else (x, w, bias)
        options = strides, dilations, padding, groups, layout, activation
        return CONVOLUTIONS[sides](
            operands, out, target, *options, precision=precision, **how
        )

    return described(convolution)


@_convolution(1)
def conv1d() -> None:
    """The convolution of a batch of lines; all options are those of `conv2d`.

    ``layout`` is ``"NWC"`` with filters WCF, or ``"NCW"`` with filters FCW.

    >>> import numpy as np
    >>> conv1d(np.arange(4.0).reshape(1, 4, 1), np.ones((2, 1, 1)))[0, :, 0]
    array([1., 3., 5.])
    """


@_convolution(2)
def conv2d() -> None:
    """The convolution (no flip, as in neural networks) of a batch of images.

    ``layout`` is ``"NHWC"`` with filters HWCF, or ``"NCHW"`` with filters FCHW.
    ``strides`` and ``dilations`` are (along rows, along columns), or one for both.
    ``padding`` is ``"valid"`` (none), ``"same"`` (output extent = input / stride,
    rounded up), one width for all sides, or ``((top, bottom), (left, right))``.
    ``groups`` split the channels of the image and of the result; filters take those of
    one group, and a convolution of as many groups as channels is depthwise.  ``bias``
    has an element for each channel of the result, and ``activation`` is as for
    `gpucodegen.kernels.matmul`.  All arrays have one dtype; sums of floats of 16 bits
    and less are kept in f32 and rounded once; ``precision`` is as for
    `gpucodegen.kernels.matmul`.  Errors: WrongDtype, WrongArgumentRank,
    ShapesDisagree, InvalidOption.

    >>> import numpy as np
    >>> image, filters = np.ones((1, 4, 4, 1), "f4"), np.ones((3, 3, 1, 1), "f4")
    >>> conv2d(image, filters, padding="same")[0, :, :, 0]
    array([[4., 6., 6., 4.],
           [6., 9., 9., 6.],
           [6., 9., 9., 6.],
           [4., 6., 6., 4.]], dtype=float32)
    """


@_convolution(3)
def conv3d() -> None:
    """The convolution of a batch of volumes; all options are those of `conv2d`.

    ``layout`` is ``"NDHWC"`` with filters DHWCF, or ``"NCDHW"`` with filters FCDHW.

    >>> import numpy as np
    >>> conv3d(np.ones((1, 2, 2, 2, 3)), np.ones((2, 2, 2, 3, 1)))
    array([[[[[24.]]]]])
    """


def _prepare(
    arrays: tuple[Memory, ...],
    strides: Any,
    dilations: Any,
    padding: Any,
    groups: int,
    wish: str,
    activation: str | None,
    *,
    sides: int,
) -> Recipe:
    name = f"conv{sides}d"
    layout = layout_of(wish, sides)
    steps = positive("strides", strides, sides), positive("dilations", dilations, sides)
    x, w, *rest = arrays
    element = checked(name, arrays, layout)
    taken, made = _channels(name, x, w, groups, layout)
    image = tuple(x.shape[axis] for axis in layout.image)
    window = SlidingWindow(tuple(w.shape[axis] for axis in layout.window), *steps)
    border = window.padding(padding, image)
    places = tuple(
        window.outputs(side, extent and extent + sum(border[side]))
        for side, extent in enumerate(image)
    )
    shape = layout.result_shape(x.shape[0], groups * made, places)
    after = Epilogue(has_bias=bool(rest), activation=activation)
    if sides == 2 and groups == 1 and after == Epilogue() and _is_plain(element):
        text = image_text(layout, element, window, border)
        return Recipe(text, shape, element.numpy)
    form = Form(name, layout, element, texts.Groups(groups, taken, made))
    text = form.write(window, rest, after, border)
    return form.recipe(text, arrays, shape)


def _is_plain(element: Element) -> bool:
    """Whether the accumulator type is the element type itself."""
    return element.mlir == element.summed.mlir and element.kind in "fi"


def _channels(
    name: str, x: Memory, w: Memory, groups: int, layout: Layout
) -> tuple[int, int]:
    """Input and output channels of each group, or a refusal."""
    channels, filters = x.shape[layout.channels], w.shape[layout.made]
    is_count = isinstance(groups, int) and groups > 0
    if not is_count or channels % groups or filters % groups:
        hint = f"Pass a number that divides {channels} and {filters} channels"
        raise errors.InvalidOption(name="groups", value=groups, hint=hint)
    taken = w.shape[layout.taken]
    if taken * groups != channels:
        problem = (
            f"{name}: filters of shape {w.shape} take {taken} channels each, the"
            f" image of shape {x.shape} has {channels // groups} in a group"
        )
        raise errors.ShapesDisagree(problem=problem)
    return taken, filters // groups


CONVOLUTIONS = {
    n: Kernel(f"conv{n}d", ("x", "w", "bias"), partial(_prepare, sides=n))
    for n in (1, 2, 3)
}
