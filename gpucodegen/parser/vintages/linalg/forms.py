"""linalg of 2019 to 2025 in words of its day: which form reads which name.

``FORMS`` are operations that are gone, ``SPELLINGS`` those whose words once stood in
another order.  All become today's operations, or those of ``linalg_old``.
"""

from __future__ import annotations

import re

from gpucodegen.dialects.framework.syntax import State
from gpucodegen.dialects.linalg.named.definitions import map_of
from gpucodegen.dialects.linalg.named.tables import CONTRACTIONS, NAMED, POINTWISE
from gpucodegen.ir.attributes import AffineMapAttr, ArrayAttr
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.vintages.linalg import calls, generic, shapes
from gpucodegen.parser.vintages.text_2019 import OldForm, renamed
from gpucodegen.parser.vintages.text_2020 import Spelling

# -- names -----------------------------------------------------------------------------

_NAMES = {
    "conv_1d_input_nwc_filter_wcf": "conv_1d_nwc_wcf",
    "conv_1d_ncw": "conv_1d_ncw_fcw",
    "conv_2d_input_nhwc_filter_hwcf": "conv_2d_nhwc_hwcf",
    "conv_2d_input_nhwc_filter_ohwi_poly": "conv_2d_nhwc_fhwc",
    "conv_2d_input_nhwc_filter_ohwi_poly_q": "conv_2d_nhwc_fhwc_q",
    "conv_2d_nchw": "conv_2d_nchw_fchw",
    "conv_2d_nhwc": "conv_2d_nhwc_fhwc",
    "conv_3d_input_ndhwc_filter_dhwcf": "conv_3d_ndhwc_dhwcf",
    "conv_3d_ncdhw": "conv_3d_ncdhw_fcdhw",
    "depthwise_conv2D_nhw": "depthwise_conv_2d_nhwc_hwc",
    "depthwise_conv2D_nhw_q": "depthwise_conv_2d_nhwc_hwc_q",
    "depthwise_conv2D_nhwc": "depthwise_conv_2d_nhwc_hwcm",
    "depthwise_conv2D_nhwc_q": "depthwise_conv_2d_nhwc_hwcm_q",
    "depthwise_conv_1d_nwc": "depthwise_conv_1d_nwc_wc",
    "depthwise_conv_2d_input_nhwc_filter_hwc": "depthwise_conv_2d_nhwc_hwc",
    "depthwise_conv_2d_input_nhwc_filter_hwc_poly": "depthwise_conv_2d_nhwc_hwc",
    "depthwise_conv_2d_input_nhwc_filter_hwcf": "depthwise_conv_2d_nhwc_hwcm",
    "depthwise_conv_2d_nhwc": "depthwise_conv_2d_nhwc_hwcm",
    "depthwise_conv_2d_nchw": "depthwise_conv_2d_nchw_chw",
    "pooling_nhwc_max_poly": "pooling_nhwc_max",
    "pooling_nhwc_sum_poly": "pooling_nhwc_sum",
}
_TYPED = re.compile(
    r"(matmul|matvec|vecmat|dot|batch_matmul)(_i\d+){3}|(pooling_nhwc)_i\d+(_\w+)"
)


def modern_name(name: str) -> str | None:
    """Today's name of a structured operation that was only renamed."""
    dialect, _, short = name.partition(".")
    if dialect != "linalg":
        return None
    if short == "indexed_generic":
        return "linalg.generic"
    match = _TYPED.fullmatch(short)
    if match is not None:
        found = match[1] or f"{match[3]}{match[4]}"
    else:
        found = _NAMES.get(short)
    return f"linalg.{found}" if found else None


def lookup(name: str) -> OldForm | None:
    """What reads an operation of linalg that is gone."""
    modern = modern_name(name)
    return FORMS.get(name) or (_structured(modern) if modern else None)


# -- structured operations -------------------------------------------------------------


def _structured(name: str) -> OldForm:
    """The operation under today's name, in any order of words."""

    def read(p: Parser, state: State) -> None:
        state.name = name
        if not calls.read_named(p, state):
            renamed(name)(p, state)

    return read


def _transposed(name: str, inputs: tuple[str, ...]) -> OldForm:
    """A contraction with a transposed input, as maps."""
    entry = CONTRACTIONS[name]
    maps = [map_of(entry.loops, text) for text in (*inputs, entry.output)]
    attribute = ArrayAttr(tuple(map(AffineMapAttr, maps)))

    def read(p: Parser, state: State) -> None:
        _structured(f"linalg.{name}")(p, state)
        state.attributes["indexing_maps"] = attribute

    return read


FORMS: dict[str, OldForm] = {
    "linalg.indexed_generic": generic.read_indexed,
    "linalg.init_tensor": shapes.init_tensor,
    "linalg.pad_tensor": shapes.pad_tensor,
    "linalg.reshape": shapes.reshape,
    "linalg.tensor_reshape": shapes.reshape,
    "linalg.collapse_shape": shapes.reshape,
    "linalg.expand_shape": shapes.reshape,
    "linalg.tensor_collapse_shape": shapes.reshape,
    "linalg.tensor_expand_shape": shapes.reshape,
    "linalg.for": renamed("scf.for"),
    "linalg.terminator": renamed("scf.yield"),
    "linalg.matmul_transpose_a": _transposed("matmul", ("k m", "k n")),
    "linalg.matmul_transpose_b": _transposed("matmul", ("m k", "n k")),
    "linalg.batch_matmul_transpose_a": _transposed("batch_matmul", ("b k m", "b k n")),
    "linalg.batch_matmul_transpose_b": _transposed("batch_matmul", ("b m k", "b n k")),
    "tensor.pack": renamed("linalg.pack"),
    "tensor.unpack": renamed("linalg.unpack"),
}

SPELLINGS: dict[str, Spelling] = {
    **{f"linalg.{name}": calls.read_named for name in (*NAMED, *POINTWISE)},
    "linalg.copy": calls.read_copy,
    "linalg.fill": calls.read_fill,
    "linalg.conv": calls.read_convolution,
    **{f"linalg.pooling_{kind}": calls.read_pooling for kind in ("max", "min", "sum")},
    "linalg.generic": generic.read_old,
    "linalg.transpose": shapes.transposed,
}

GENERIC: dict[str, OldForm] = {"linalg.generic": generic.adapt}
