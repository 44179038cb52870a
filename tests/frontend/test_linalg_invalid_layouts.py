"""Wrong packs, transforms and operations of old linalg."""

from __future__ import annotations

import pytest
from linalg_frame import ID, Case, check_accepted, check_refused


def _pack(text: str, source: str = "%t", ty: str = "tensor<16x8xf32>") -> str:
    return f"%0 = linalg.pack {source} {text} into %p : {ty} -> tensor<2x4x8x2xf32>"


RELAYOUT = {
    "tile count": (
        _pack("inner_dims_pos = [0] inner_tiles = [8, 2]"),
        "V016",
        "2 tiles for 1 dimensions",
    ),
    "empty tile": (
        _pack("inner_dims_pos = [0, 1] inner_tiles = [8, 0]"),
        "V016",
        "no elements",
    ),
    "positions": (
        _pack("inner_dims_pos = [0, 0] inner_tiles = [8, 2]"),
        "V016",
        "does not name distinct",
    ),
    "order": (
        _pack("outer_dims_perm = [1, 1] inner_dims_pos = [0, 1] inner_tiles = [8, 2]"),
        "V016",
        "no permutation",
    ),
    "tiled shape": (
        _pack("outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 2]"),
        "V016",
        "the tiled shape is 4x2x8x2",
    ),
    "padding needed": (
        (
            "%0 = tensor.empty() : tensor<3x4x8x2xf32>\n"
            "%1 = linalg.pack %s inner_dims_pos = [0, 1] inner_tiles = [8, 2]"
            " into %0 : tensor<17x8xf32> -> tensor<3x4x8x2xf32>"
        ),
        "V016",
        "do not divide extent 17",
    ),
    "padding type": (
        _pack("padding_value(%n : index) inner_dims_pos = [0, 1] inner_tiles = [8, 2]"),
        "V016",
        "pads f32 with index",
    ),
    "softmax dimension": (
        (
            "linalg.softmax dimension(2) ins(%A : memref<4x8xf32>)"
            " outs(%A : memref<4x8xf32>)"
        ),
        "V016",
        "dimension = [2]",
    ),
    "softmax shape": (
        (
            "linalg.softmax dimension(1) ins(%A : memref<4x8xf32>)"
            " outs(%B : memref<8x4xf32>)"
        ),
        "V016",
        "turns 4x8 into 8x4",
    ),
    "winograd": (
        (
            "%0 = tensor.empty() : tensor<2x4x3x5xf32>\n"
            "%1 = tensor.empty() : tensor<6x6x5x2xf32>\n"
            "%2 = linalg.winograd_filter_transform fmr(F_4_3)"
            " ins(%0 : tensor<2x4x3x5xf32>) outs(%1 : tensor<6x6x5x2xf32>)"
            " -> tensor<6x6x5x2xf32>"
        ),
        "V016",
        "a filter of 4x3",
    ),
    "winograd algorithm": (
        (
            "%2 = linalg.winograd_filter_transform fmr(F_9_9)"
            " ins(%t : tensor<16x8xf32>)"
            " outs(%t : tensor<16x8xf32>) -> tensor<16x8xf32>"
        ),
        "P023",
        "F_9_9",
    ),
}

OLD = {
    "counts": (
        (
            f"linalg.generic {{args_in = 1, args_out = 1, n_views = [2, 1],"
            f" indexing_maps = [{ID}, {ID}], iterator_types = []}} %A, %A"
            " {\n^bb0(%a: f32, %b: f32):\nlinalg.yield %a : f32\n}"
            " : memref<4x8xf32>, memref<4x8xf32>"
        ),
        "V029",
        "n_views",
    ),
    "no body": (
        "linalg.generic {indexing_maps = [], iterator_types = []} %A : memref<4x8xf32>",
        "P025",
        "without a body",
    ),
    "transpose": (
        "%0 = linalg.transpose %A (i, j) -> (i, i) : memref<4x8xf32>",
        "P022",
        "no permutation",
    ),
    "convolution": (
        "linalg.conv(%A, %A) : memref<4x8xf32>, memref<4x8xf32>",
        "V002",
        "takes 3",
    ),
    "pooling strides": (
        (
            "linalg.pooling_max(%A, %A, %A) {strides = [1]}"
            " : memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>"
        ),
        "V016",
        "1 strides for 2 windows",
    ),
    "slice": (
        "%0 = linalg.slice %A[%x, %n] : memref<4x8xf32>, f32, index, memref<f32>",
        "V021",
        "an index or !linalg.range",
    ),
    "tiled loop": (
        (
            "linalg.tiled_loop (%i) = (%n, %n) to (%n) step (%n) ins() outs() {\n"
            "linalg.yield\n}"
        ),
        "V016",
        "2, 1 and 1 bounds",
    ),
}

CASES: dict[str, Case] = {**RELAYOUT, **OLD}


def test_the_frame_is_sound():
    check_accepted(_pack("inner_dims_pos = [0, 1] inner_tiles = [8, 2]"))


@pytest.mark.cases("name", CASES)
def test_rule(name: str):
    check_refused(CASES[name])
