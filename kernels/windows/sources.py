"""The ``.mlir`` files of this folder, with other aliases put in.

Comes in: a file name and values for its aliases.  Goes out: MLIR text.  Every file is
complete as it stands; its first lines define the aliases that may differ.  Only checked
integers and names from the table of element types are ever written into the text.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from gpucodegen.kernels.elements import Element
from gpucodegen.kernels.windows.geometry import Layout, SlidingWindow, Widths

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
    """The map that moves an index by a width.

    >>> shift(2)
    'affine_map<(d0) -> (d0 + 2)>'
    """
    return f"affine_map<(d0) -> (d0 + {operator.index(width)})>"


def source(name: str, aliases: Mapping[str, str]) -> str:
    """The text of a file with some of its aliases defined anew.

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
        """The text of the file."""
        return source(self.file, dict(self.aliases))


FILES = {True: "conv_2d_nhwc_hwcf.mlir", False: "conv_2d_nchw_fchw.mlir"}
"""Convolutions of planes, by whether channels are last."""


def image_text(
    layout: Layout, element: Element, window: SlidingWindow, border: Widths
) -> File:
    """The convolution of planes, of one group, that nothing follows."""
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
