"""Wrong structured operations: each rule has its own error at the operation."""

from __future__ import annotations

import pytest
from linalg_frame import ID, Case, check_accepted, check_refused


def _generic(
    maps: str = f"{ID}, {ID}",
    kinds: str = '"parallel", "parallel"',
    arguments: str = "%a: f32, %b: f32",
    body: str = "linalg.yield %a : f32",
    inputs: str = "ins(%A : memref<4x8xf32>)",
) -> str:
    return (
        f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}"
        f" {inputs} outs(%A : memref<4x8xf32>) {{\n^bb0({arguments}):\n{body}\n}}"
    )


def _matmul(maps: str = "", inputs: str = "%A, %B : memref<4x8xf32>, memref<8x4xf32>"):
    return f"linalg.matmul {maps} ins({inputs}) outs(%C : memref<4x4xf32>)"


def _conv(attributes: str) -> str:
    return (
        f"linalg.conv_2d_nhwc_hwcf {{{attributes}}} ins(%I, %K : memref<1x8x8x3xf32>,"
        " memref<3x3x3x5xf32>) outs(%O : memref<1x6x6x5xf32>)"
    )


GENERIC = {
    "maps and operands": (_generic(maps=ID), "V016", "1 indexing maps for 2"),
    "maps and loops": (
        _generic(kinds='"parallel"'),
        "V016",
        "2 dimensions for 1",
    ),
    "iterator type": (_generic(kinds='"parallel", "any"'), "V016", "'any'"),
    "symbols": (
        _generic(maps=f"affine_map<(i, j)[s] -> (i, j)>, {ID}"),
        "V016",
        "has symbols",
    ),
    "rank": (_generic(maps=f"affine_map<(i, j) -> (i)>, {ID}"), "V016", "has rank 2"),
    "shapes": (
        _generic(maps=f"affine_map<(i, j) -> (j, i)>, {ID}"),
        "V016",
        "loop d0 has extent 8, but dimension 0 of operand 1 is 4",
    ),
    "below zero": (
        _generic(maps=f"affine_map<(i, j) -> (i, j - 1)>, {ID}"),
        "V016",
        "below zero",
    ),
    "beyond": (
        _generic(maps=f"affine_map<(i, j) -> (i, j + 1)>, {ID}"),
        "V016",
        "its map reaches 9",
    ),
    "no extent": (
        _generic(maps="affine_map<(i, j) -> (i, 0)>, affine_map<(i, j) -> (i, 0)>"),
        "V016",
        "loop d1 has no extent",
    ),
    "argument count": (_generic(arguments="%a: f32"), "V016", "the body takes (f32)"),
    "argument type": (
        _generic(arguments="%a: f32, %b: i32"),
        "V016",
        "the body takes (f32, i32)",
    ),
    "yield count": (
        _generic(body="linalg.yield %a, %a : f32, f32"),
        "V017",
        "must yield (f32), found (f32, f32)",
    ),
    "yield type": (_generic(body="linalg.yield %n : index"), "V017", "found (index)"),
    "index": (
        _generic(body="%i = linalg.index 2 : index\nlinalg.yield %a : f32"),
        "V028",
        "dimension 2 is outside [0, 2)",
    ),
    "index alone": ("%i = linalg.index 0 : index", "V023", "linalg.generic"),
    "no maps": (_generic(maps="3, 4"), "V015", "something else than affine maps"),
    "no inputs": (_generic(inputs=""), "V016", "2 indexing maps for 1 operands"),
}

NAMED = {
    "input count": (_matmul(inputs="%A : memref<4x8xf32>"), "V016", "takes 2 inputs"),
    "scalar input": (
        _matmul(inputs="%A, %x : memref<4x8xf32>, f32"),
        "V016",
        "operand 1 has rank 0",
    ),
    "no outputs": ("linalg.fill ins(%x : f32)", "P026", "has no outputs"),
    "results": (
        "linalg.copy ins(%T : tensor<4x8xf32>) outs(%T : tensor<4x8xf32>)",
        "V016",
        "its tensor outputs are (tensor<4x8xf32>)",
    ),
    "fill of a memref": (
        "linalg.fill ins(%A : memref<4x8xf32>) outs(%A : memref<4x8xf32>)",
        "V021",
        "a scalar",
    ),
    "matmul maps": (
        _matmul(
            "indexing_maps = [affine_map<(m, n, k) -> (m, n)>,"
            " affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]",
            "%C, %D : memref<4x4xf32>, memref<?x?xf32>",
        ),
        "V016",
        "no form of",
    ),
    "contract without maps": (
        _matmul().replace("matmul", "contract"),
        "V014",
        "indexing_maps",
    ),
    "contract sums one input": (
        (
            "linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>,"
            " affine_map<(m, n, k) -> (m, n)>, affine_map<(m, n, k) -> (m, n)>]"
            " ins(%A, %C : memref<4x8xf32>, memref<4x4xf32>) outs(%C : memref<4x4xf32>)"
        ),
        "V016",
        "loop d2 is in one input only",
    ),
    "elementwise function": (
        (
            "linalg.elementwise <fo> ins(%A, %A, %A : memref<4x8xf32>, memref<4x8xf32>,"
            " memref<4x8xf32>) outs(%A : memref<4x8xf32>)"
        ),
        "V015",
        "unknown function 'fo'",
    ),
    "elementwise inputs": (
        "linalg.elementwise <add> ins(%A : memref<4x8xf32>) outs(%A : memref<4x8xf32>)",
        "V016",
        "takes 2 inputs, found 1",
    ),
    "strides": (_conv("strides = dense<1> : tensor<3xi64>"), "V015", "2 i64 numbers"),
    "dilations": (_conv("dilations = dense<1> : tensor<2xi32>"), "V015", "dilations"),
    "window": (_conv("strides = dense<2> : tensor<2xi64>"), "V016", "reaches 13"),
}

DIMENSIONS = {
    "permutation": (
        (
            "linalg.transpose ins(%A : memref<4x8xf32>) outs(%B : memref<8x4xf32>)"
            " permutation = [1, 1]"
        ),
        "V016",
        "no permutation of 2",
    ),
    "transposed shape": (
        (
            "linalg.transpose ins(%A : memref<4x8xf32>) outs(%A : memref<4x8xf32>)"
            " permutation = [1, 0]"
        ),
        "V016",
        "gives extents [8, 4]",
    ),
    "broadcast rank": (
        (
            "linalg.broadcast ins(%r : memref<4xf32>) outs(%A : memref<4x8xf32>)"
            " dimensions = [0, 1]"
        ),
        "V016",
        "adds 2 dimensions to rank 1",
    ),
    "broadcast shape": (
        (
            "linalg.broadcast ins(%r : memref<4xf32>) outs(%A : memref<4x8xf32>)"
            " dimensions = [0]"
        ),
        "V016",
        "keeps extents [8]",
    ),
    "broadcast range": (
        (
            "linalg.broadcast ins(%r : memref<4xf32>) outs(%A : memref<4x8xf32>)"
            " dimensions = [2]"
        ),
        "V028",
        "dimensions 2",
    ),
    "reduced shape": (
        (
            "linalg.reduce { arith.addf } ins(%A : memref<4x8xf32>)"
            " outs(%r : memref<4xf32>) dimensions = [0]"
        ),
        "V016",
        "leaves extents [8]",
    ),
    "reduced order": (
        (
            "linalg.reduce { arith.addf } ins(%A : memref<4x8xf32>)"
            " outs(%r : memref<4xf32>) dimensions = [1, 1]"
        ),
        "V016",
        "do not ascend",
    ),
    "reduce outputs": (
        (
            "linalg.reduce { arith.addf }"
            " ins(%A, %A : memref<4x8xf32>, memref<4x8xf32>)"
            " outs(%r : memref<4xf32>) dimensions = [1]"
        ),
        "P026",
        "2 inputs but 1 outputs",
    ),
    "map shapes": (
        "linalg.map { math.exp } ins(%A : memref<4x8xf32>) outs(%B : memref<8x4xf32>)",
        "V016",
        "input 0 has type memref<4x8xf32>",
    ),
}

CASES: dict[str, Case] = {**GENERIC, **NAMED, **DIMENSIONS}


def test_the_frame_is_sound():
    check_accepted(_generic())
    check_accepted(_matmul())
    check_accepted(_conv("strides = dense<1> : tensor<2xi64>"))


@pytest.mark.cases("name", CASES)
def test_rule(name: str):
    check_refused(CASES[name])
