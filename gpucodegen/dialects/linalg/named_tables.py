"""Table of the named structured operations of linalg.

An entry gives the loops and, per operand, its indices over them, in the manner of
``einsum``: ``y:h`` stands for a window, ``y * stride + h * dilation``, and ``-`` for a
scalar. Loops that do not index the output are reductions.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpucodegen.records import dataclass

SCALAR = "-"


@dataclass(frozen=True, slots=True)
class Named:
    """``loops``, the indices of the inputs, those of the output, and the body's name.

    >>> NAMED["matmul"].inputs
    ('m k', 'k n')
    """

    loops: str
    inputs: tuple[str, ...]
    output: str
    body: str = "multiply_add"

    @property
    def windows(self) -> int:
        """How many numbers ``strides`` and ``dilations`` hold."""
        return self.inputs[0].count(":")


def _quantized(entry: Named) -> Named:
    """The quantized variant of an entry: two zero points more."""
    inputs = (*entry.inputs, SCALAR, SCALAR)
    return Named(entry.loops, inputs, entry.output, "multiply_add_shifted")


CONTRACTIONS: dict[str, Named] = {
    "matmul": Named("m n k", ("m k", "k n"), "m n"),
    "batch_matmul": Named("b m n k", ("b m k", "b k n"), "b m n"),
    "batch_reduce_matmul": Named("b m n k", ("b m k", "b k n"), "m n"),
}
"""Operations whose ``indexing_maps`` may differ from those of the table."""

_PRODUCTS: dict[str, Named] = {
    "matvec": Named("m n", ("m n", "n"), "m"),
    "vecmat": Named("n m", ("m", "m n"), "n"),
    "batch_matvec": Named("b m k", ("b m k", "b k"), "b m"),
    "batch_vecmat": Named("b n k", ("b k", "b k n"), "b n"),
    "dot": Named("m", ("m", "m"), ""),
    "mmt4d": Named("m n k i j l", ("m k i l", "n k j l"), "m n i j"),
    "batch_mmt4d": Named("b m n k i j l", ("b m k i l", "b n k j l"), "b m n i j"),
    "matmul_column_major": Named("n m k", ("k m", "n k"), "n m"),
    "quantized_matmul": _quantized(CONTRACTIONS["matmul"]),
    "quantized_batch_matmul": _quantized(CONTRACTIONS["batch_matmul"]),
}

_CONVOLUTIONS = """
conv_1d                        | xw        | x+w             | w     | x
conv_2d                        | yxhw      | y+h x+w         | hw    | yx
conv_3d                        | zyxdhw    | z+d y+h x+w     | dhw   | zyx
conv_1d_nwc_wcf                | nxfwc     | n x:w c         | wcf   | nxf
conv_1d_ncw_fcw                | nfxcw     | n c x:w         | fcw   | nfx
conv_2d_nhwc_hwcf        (q)   | nyxfhwc   | n y:h x:w c     | hwcf  | nyxf
conv_2d_nhwc_fhwc        (q)   | nyxfhwc   | n y:h x:w c     | fhwc  | nyxf
conv_2d_nchw_fchw        (q)   | nfyxchw   | n c y:h x:w     | fchw  | nfyx
conv_2d_ngchw_fgchw            | ngfyxchw  | n g c y:h x:w   | fgchw | ngfyx
conv_2d_ngchw_gfchw      (q)   | ngfyxchw  | n g c y:h x:w   | gfchw | ngfyx
conv_2d_nhwgc_gfhwc      (q)   | nyxgfhwc  | n y:h x:w g c   | gfhwc | nyxgf
conv_3d_ndhwc_dhwcf      (q)   | nzyxfdhwc | n z:d y:h x:w c | dhwcf | nzyxf
conv_3d_ncdhw_fcdhw            | nfzyxcdhw | n c z:d y:h x:w | fcdhw | nfzyx
depthwise_conv_1d_nwc_wc       | nxcw      | n x:w c         | wc    | nxc
depthwise_conv_1d_ncw_cw       | nxcw      | n c x:w         | cw    | ncx
depthwise_conv_1d_nwc_wcm      | nxcmw     | n x:w c         | wcm   | nxcm
depthwise_conv_2d_nhwc_hwc(q)  | nyxchw    | n y:h x:w c     | hwc   | nyxc
depthwise_conv_2d_nchw_chw     | nyxchw    | n c y:h x:w     | chw   | ncyx
depthwise_conv_2d_nhwc_hwcm(q) | nyxcmhw   | n y:h x:w c     | hwcm  | nyxcm
depthwise_conv_3d_ndhwc_dhwc   | nzyxdhwc  | n z:d y:h x:w c | dhwc  | nzyxc
depthwise_conv_3d_ncdhw_cdhw   | nzyxdhwc  | n c z:d y:h x:w | cdhw  | nczyx
depthwise_conv_3d_ndhwc_dhwcm  | nzyxmdhwc | n z:d y:h x:w c | dhwcm | nzyxcm
conv_1d_nwc                    | nxfwc     | n x+w c         | fwc   | nxf
conv_1d_input_ncw_filter_wcf   | nfxcw     | n c x:w         | wcf   | nfx
conv_2d_input_nchw_filter_hwcf | nfyxchw   | n c y:h x:w     | hwcf  | nfyx
conv_3d_ndhwc                  | nzyxfdhwc | n z+d y+h x+w c | fdhwc | nzyxf
conv_3d_input_ncdhw_filter_dhwcf | nfzyxcdhw | n c z:d y:h x:w | dhwcf | nfzyx
"""
"""Name, loops, image, kernel, output; ``(q)`` if a form with zero points exists.
Indices other than windows are single letters. The last five are of 2021."""

_POOLINGS = """
pooling_nhwc  | n y x c h w     | n y:h x:w c     | h w   | n y x c   | all
pooling_nchw  | n c y x h w     | n c y:h x:w     | h w   | n c y x   | sum max
pooling_nwc   | n x c w         | n x:w c         | w     | n x c     | all
pooling_ncw   | n c x w         | n c x:w         | w     | n c x     | sum max
pooling_ndhwc | n z y x c d h w | n z:d y:h x:w c | d h w | n z y x c | sum max min
"""
_ALL_POOLINGS = ("sum", "max", "max_unsigned", "min", "min_unsigned")


def _rows(table: str) -> Iterator[list[str]]:
    for line in table.strip().splitlines():
        yield [cell.strip() for cell in line.split("|")]


def _convolutions() -> Iterator[tuple[str, Named]]:
    for name, loops, image, kernel, output in _rows(_CONVOLUTIONS):
        entry = Named(" ".join(loops), (image, " ".join(kernel)), " ".join(output))
        plain = name.removesuffix("(q)").rstrip()
        yield plain, entry
        if plain != name:
            yield f"{plain}_q", _quantized(entry)


def _poolings() -> Iterator[tuple[str, Named]]:
    for name, loops, image, window, output, kinds in _rows(_POOLINGS):
        for kind in _ALL_POOLINGS if kinds == "all" else kinds.split():
            yield (
                f"{name}_{kind}",
                Named(loops, (image, window), output, f"pool_{kind}"),
            )


NAMED: dict[str, Named] = {
    **CONTRACTIONS,
    **_PRODUCTS,
    **dict(_convolutions()),
    **dict(_poolings()),
    "fill_rng_2d": Named("m n", (SCALAR,) * 3, "m n", "random"),
    "soft_plus_2d": Named("m n", ("m n",), "m n", "soft_plus"),
}

_UNARY = (
    "fill copy exp log abs ceil floor negf reciprocal round sqrt rsqrt square tanh erf"
    " elemwise_unary"
).split()
_BINARY = "add sub mul div div_unsigned max min powf elemwise_binary".split()

POINTWISE: dict[str, int] = {
    **dict.fromkeys(_UNARY, 1),
    **dict.fromkeys(_BINARY, 2),
    "select": 3,
}
"""Operations of any rank with their number of inputs: every operand is indexed by all
loops, or is a scalar."""

MAPPED: dict[str, int | None] = {
    "contract": 2,
    "scaled_contract": 4,
    "elementwise": None,
}
"""Operations that state their maps themselves, with their number of inputs."""
